//! Limits of client connections and calls.

use std::time::Duration;

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

/// A limit that the transport enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The time for the head of a request.
    HeaderTimeout,
    /// The time in which a connection transfers no byte.
    IdleTimeout,
    /// The minimum rate of an upload.
    MinUploadRate,
    /// The minimum rate of a download.
    MinDownloadRate,
    /// The time for a response to begin.
    ResponseTimeout,
    /// The time for a response to begin at one of several upstreams.
    AttemptTimeout,
    /// The share of calls that are retried.
    RetryBudget,
    /// The time between two pieces of a response.
    PauseTimeout,
    /// The time in which a client must receive a refusal.
    RefusalTimeout,
    /// The bytes buffered for an HTTP/2 connection that has sent no accepted request.
    Http2HeldBytes,
}
