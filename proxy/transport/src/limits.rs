//! Limits of client connections and calls.

use std::time::Duration;

use strum::{IntoStaticStr, VariantArray};

/// The limits of a client connection.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    /// Maximum time from the first byte of a request's head to its last.
    pub header_timeout: Duration,
    /// Maximum time in which a connection transfers no byte.
    pub idle_timeout: Duration,
    /// Minimum rate of uploads in bytes a second, or 0 without a minimum.
    pub min_upload_rate: u64,
    /// Minimum rate of downloads in bytes a second, or 0 without a minimum.
    pub min_download_rate: u64,
    /// Maximum number of requests on one connection.
    pub requests_per_connection: u32,
    /// Maximum number of requests in flight on one HTTP/2 connection.
    pub streams_per_connection: u32,
    /// Whether clients may speak HTTP/2 without TLS.
    pub h2c: bool,
    /// Maximum number of bytes of a request's body, unless `request_filter` sets another for the
    /// request.
    pub max_body: u64,
}

/// A limit that a client, a tool or the load can exceed. Its label is the setting that defines it,
/// if there is one. The transport reports those that it enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Limit {
    /// Maximum number or size of a request's headers.
    Headers,
    /// Maximum length of a request's target.
    Target,
    /// Maximum length of a request body.
    MaxBody,
    /// Timeout for the head of a request.
    HeaderTimeout,
    /// Idle timeout of a client connection.
    IdleTimeout,
    /// Minimum rate of an upload in bytes per second.
    MinUploadRate,
    /// Minimum rate of a download in bytes per second.
    MinDownloadRate,
    /// Timeout for a connection to an upstream.
    ConnectTimeout,
    /// Timeout for the response of a tool.
    AnswerTimeout,
    /// Timeout for the response of one upstream among several.
    TryTimeout,
    /// Timeout for the next bytes of a response.
    PauseTimeout,
    /// Maximum number of client connections.
    Connections,
    /// Maximum number of file descriptors of the process.
    OpenFiles,
    /// Maximum number of connections per address.
    ConnectionsPerAddress,
    /// Maximum number of calls in flight per tool.
    CallsInFlight,
    /// Maximum number of calls in flight per key.
    CallsInFlightPerKey,
    /// Maximum rate of calls per tool.
    CallsPerSecond,
    /// Maximum rate of calls per tool and key.
    CallsPerSecondPerKey,
    /// Capacity of the replay cache.
    ReplayCapacity,
    /// Maximum rate of refused requests per address.
    RefusalsPerSecond,
    /// The retry budget.
    RetryPercent,
    /// Timeout for a client to read a refusal.
    RefusalTimeout,
    /// Maximum bytes held for an unauthenticated HTTP/2 connection.
    Http2HeldBytes,
}
