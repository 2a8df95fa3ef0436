//! The options of a driver.

use std::time::Duration;

use crate::http::TlsOptions;
use crate::target::Target;

/// The options of a driver.
#[derive(Clone, Debug)]
pub(crate) struct DriverOptions {
    /// The server to call.
    pub(crate) target: Target,
    pub(crate) tls: TlsOptions,
    /// The number of open connections. A call waits if all of them are busy, and its latency
    /// includes the wait.
    pub(crate) connections: u16,
    /// The concurrent calls on each connection: 1 for HTTP/1.1.
    pub(crate) streams: u16,
    /// The timeout of a call, from sending the request to the last byte of the response.
    pub(crate) timeout: Duration,
    pub(crate) http2: bool,
}
