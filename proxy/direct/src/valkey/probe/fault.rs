//! The faults of servers.

use std::fmt;
use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::valkey::line;

/// Maximum time to connect to a server, and to wait for its replies: as long as a call waits.
pub(super) const TIMEOUT: Duration = Duration::from_secs(3);

/// What a fault costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// The servers do not serve the proxy, or not for all keys.
    Outage,
    /// They serve it now. After a failover they may not, or they may forget what they have confirmed.
    Risk,
}

/// A fault of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub cost: Cost,
    /// The setting that is nearest to it, such as `valkey.user`.
    pub key: &'static str,
    /// Their addresses.
    pub(crate) servers: Vec<String>,
    /// What they do, and what is expected.
    pub(crate) detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.servers.join(", "), self.detail)
    }
}

/// Returns the setting that is at fault when a connection fails, and why.
pub(super) fn unreachable(error: &RedisError) -> (&'static str, String) {
    match error.kind() {
        ErrorKind::AuthenticationFailed => {
            ("valkey.password", format!("refuses the user with this password: {}", line(error)))
        }
        _ => ("valkey.servers", format!("cannot be reached: {}", line(error))),
    }
}

/// Returns true if the access control list denies a command or a key.
pub(super) fn is_denied(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
}

/// Returns the address of a server as text.
pub(super) fn name((host, port): &(String, u16)) -> String {
    format!("{host}:{port}")
}
