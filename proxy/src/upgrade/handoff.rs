//! The first message of an upgrade: which process hands off which sockets.

use std::net::SocketAddr;

use serde_json::{Value, json};
use shared::time::UnixMillis;

/// The message of the old process that comes with its sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handoff {
    /// The process id.
    pub(super) process: u32,
    /// Whether the process is in direct mode, which defines the meaning of its records.
    pub(super) direct: bool,
    /// The time of issue from which on the process knows every used grant.
    pub(super) grants_known_since: Option<UnixMillis>,
    /// The roles of the sockets, in the order in which they are passed.
    pub(super) sockets: Vec<SocketRole>,
}

/// The role of a socket: the name of its service, and its configured address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SocketRole {
    pub(super) service: String,
    pub(super) configured: SocketAddr,
}

/// The protocol version. Processes of different versions cannot hand off to each other.
const PROTOCOL: u64 = 1;
/// The response of the new process when it is ready to accept connections.
pub(super) const READY: &[u8] = b"ready\n";

impl Handoff {
    /// Encodes the message as a line of JSON.
    pub(super) fn to_line(&self) -> String {
        let sockets = self.sockets.iter().map(|role| json!([role.service, role.configured.to_string()]));
        let sockets: Vec<_> = sockets.collect();
        let handoff = json!({
            "protocol": PROTOCOL,
            "process": self.process,
            "direct": self.direct,
            "grants_known_since": self.grants_known_since,
            "sockets": sockets,
        });
        format!("{handoff}\n")
    }

    /// Decodes a line. Returns `None` if it is malformed or of another protocol version.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let handoff: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
        if handoff.get("protocol")?.as_u64()? != PROTOCOL {
            return None;
        }
        let sockets = handoff.get("sockets")?.as_array()?.iter();
        Some(Self {
            process: handoff.get("process")?.as_u64()?.try_into().ok()?,
            // Members that an older process does not send have defaults, so that an upgrade from it
            // works.
            direct: handoff.get("direct").and_then(Value::as_bool).unwrap_or(false),
            grants_known_since: handoff.get("grants_known_since").and_then(Value::as_u64).map(UnixMillis),
            sockets: sockets.map(SocketRole::parse).collect::<Option<_>>()?,
        })
    }
}

impl SocketRole {
    /// Returns the role of what is passed beside the sockets: a file with the last good state. A process of
    /// a version that does not know it has no service of this name.
    pub(super) fn stored() -> Self {
        Self { service: "last-good".to_owned(), configured: SocketAddr::from(([0, 0, 0, 0], 0)) }
    }

    fn parse(role: &Value) -> Option<Self> {
        let configured = role.get(1)?.as_str()?.parse().ok()?;
        Some(Self { service: role.get(0)?.as_str()?.to_owned(), configured })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handoff_round_trips_and_malformed_line_is_none() {
        let role = |(service, address): (&str, &str)| SocketRole {
            service: service.to_owned(),
            configured: address.parse().unwrap(),
        };
        let sockets = [("proxy", "127.0.0.1:8080"), ("admin", "[::1]:9090")].map(role).into();
        let handoff = Handoff { process: 7, direct: true, grants_known_since: Some(UnixMillis(9)), sockets };
        let line = handoff.to_line();
        assert_eq!(Handoff::parse(line.as_bytes()), Some(handoff));
        for other in [
            "",
            "\n",
            "{}\n",
            line.trim_end(),
            &line.replace("\"protocol\":1", "\"protocol\":2"),
            &line.replace("127.0.0.1:8080", "somewhere"),
        ] {
            assert_eq!(Handoff::parse(other.as_bytes()), None, "{other}");
        }
    }
}
