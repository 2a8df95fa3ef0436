//! A new process goes on where this one ends, and no call is lost: it is given the sockets, gets ready while this one
//! still takes the connections, and then takes them. Pingora has such a hand-over too; its socket is open to everyone on
//! the machine, it waits a fixed time for the new process, and it carries nothing but sockets.
//!
//! What is said over the upgrade socket, `new` being the process that was started with `--upgrade`:
//!
//! | who | what | |
//! |---|---|---|
//! | old | one line of JSON, with the sockets | [`Offer`] |
//! | new | `ready` and a line's end | every upstream was probed; from now on the old one takes no connections |
//! | old | what it remembers | [`Seen`], each 16 bytes, and [`END`]; the new one takes connections |
//! | both | what they have made since | [`Seen`], until the old process has ended |

mod door;
mod give;
mod pass;
mod take;

use std::net::SocketAddr;

pub use door::Door;
pub use give::Successors;
use serde_json::{Value, json};
pub use take::Predecessor;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
};

use crate::replay::{ReplayCache, Seen};

/// What an old process says first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Offer {
    process: u32,
    /// What each of the sockets that come with it is for.
    sockets: Vec<Role>,
}

/// What a socket is for: its service's name, and where it was configured to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Role {
    service: String,
    configured: SocketAddr,
}

/// Processes that count differently have nothing to say to each other.
const PROTOCOL: u64 = 1;
const READY: &[u8] = b"ready\n";
/// After it everything that was remembered has been said. No request is like this: its grant would be of the far future.
const END: [u8; Seen::BYTES] = [u8::MAX; Seen::BYTES];
/// What waits to be told to the other process. When it is full, the other process learns no more.
const UNTOLD: usize = 1 << 16;

impl Offer {
    fn to_line(&self) -> String {
        let sockets = self.sockets.iter().map(|role| json!([role.service, role.configured.to_string()]));
        let sockets: Vec<_> = sockets.collect();
        format!("{}\n", json!({ "protocol": PROTOCOL, "process": self.process, "sockets": sockets }))
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let offer: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
        if offer.get("protocol")?.as_u64()? != PROTOCOL {
            return None;
        }
        let sockets = offer.get("sockets")?.as_array()?.iter();
        Some(Self {
            process: offer.get("process")?.as_u64()?.try_into().ok()?,
            sockets: sockets.map(Role::parse).collect::<Option<_>>()?,
        })
    }
}

impl Role {
    fn parse(role: &Value) -> Option<Self> {
        let configured = role.get(1)?.as_str()?.parse().ok()?;
        Some(Self { service: role.get(0)?.as_str()?.to_owned(), configured })
    }
}

/// Learns what the other process has made, until it has ended or has said everything.
async fn learn(replay: &ReplayCache, from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    let mut bytes = [0; Seen::BYTES];
    loop {
        from.read_exact(&mut bytes).await?;
        if bytes == END {
            return Ok(());
        }
        replay.learn(Seen::from_bytes(bytes));
    }
}

/// Tells the other process what is made here, until it has ended.
async fn tell(mut made: mpsc::Receiver<Seen>, to: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
    while let Some(seen) = made.recv().await {
        to.write_all(&seen.to_bytes()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_read_as_it_was_written_and_no_other_is() {
        let role = |(service, address): (&str, &str)| Role {
            service: service.to_owned(),
            configured: address.parse().unwrap(),
        };
        let sockets = [("proxy", "127.0.0.1:8080"), ("admin", "[::1]:9090")].map(role).into();
        let offer = Offer { process: 7, sockets };
        let line = offer.to_line();
        assert_eq!(Offer::parse(line.as_bytes()), Some(offer));
        for other in [
            "",
            "\n",
            "{}\n",
            line.trim_end(),
            &line.replace("\"protocol\":1", "\"protocol\":2"),
            &line.replace("127.0.0.1:8080", "somewhere"),
        ] {
            assert_eq!(Offer::parse(other.as_bytes()), None, "{other}");
        }
    }
}
