//! A new process goes on where this one ends, and no call is lost: it is given the sockets, gets ready while this one
//! still takes the connections, and then takes them. Pingora has such a hand-over too; its socket is open to everyone on
//! the machine, it waits a fixed time for the new process, and it carries nothing but sockets.
//!
//! What is said over the upgrade socket, `new` being the process that was started with `--upgrade`:
//!
//! | who | what | |
//! |---|---|---|
//! | old | one line of JSON, with the sockets | `Offer` |
//! | new | `ready` and a line's end | every upstream was probed; from now on the old one takes no connections |
//! | old | what it remembers | [`Word`]s and `END`; the new one takes connections |
//! | both | what they have made since | [`Word`]s, until the old process has ended |
//!
//! Behind an edge a word is a request that was made ([`Seen`](crate::replay::Seen)). In direct mode it is a call that was
//! counted or has ended ([`CounterEvent`](crate::direct::CounterEvent)); what was counted before is in the file of the state, which
//! the old process writes before it says `END`.

mod fds;
mod listener;
mod new;
mod old;

use std::{net::SocketAddr, pin::pin};

pub(crate) use listener::Door;
pub(crate) use new::Predecessor;
pub(crate) use old::Successors;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
};

use crate::state::State;

/// What one process tells another of one thing that it has done.
pub(crate) type Word = [u8; 16];

/// What an old process says first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Offer {
    process: u32,
    /// Whether it serves clients itself: its words mean something else then.
    direct: bool,
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
/// After it everything that was remembered has been said. No other word is like this: a grant would be of the far
/// future, and no call is counted in this way.
const END: Word = [u8::MAX; size_of::<Word>()];
/// What waits to be told to the other process. When it is full, the other process learns no more.
const UNTOLD: usize = 1 << 16;

impl Offer {
    fn to_line(&self) -> String {
        let sockets = self.sockets.iter().map(|role| json!([role.service, role.configured.to_string()]));
        let sockets: Vec<_> = sockets.collect();
        let (process, direct) = (self.process, self.direct);
        let offer = json!({ "protocol": PROTOCOL, "process": process, "direct": direct, "sockets": sockets });
        format!("{offer}\n")
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let offer: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
        if offer.get("protocol")?.as_u64()? != PROTOCOL {
            return None;
        }
        let sockets = offer.get("sockets")?.as_array()?.iter();
        Some(Self {
            process: offer.get("process")?.as_u64()?.try_into().ok()?,
            direct: offer.get("direct").and_then(Value::as_bool).unwrap_or(false),
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
async fn learn(state: &State, from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    let mut word = Word::default();
    loop {
        from.read_exact(&mut word).await?;
        if word == END {
            return Ok(());
        }
        state.learn(word);
    }
}

/// Tells the other process what is made here, until it has ended, or until `last` is over and all that was made before it
/// was said.
async fn tell(
    mut made: mpsc::Receiver<Word>,
    to: &mut (impl AsyncWrite + Unpin),
    last: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let mut last = pin!(last);
    let mut is_over = false;
    loop {
        tokio::select! {
            word = made.recv() => match word {
                Some(word) => to.write_all(&word).await?,
                None => return Ok(()),
            },
            () = &mut last, if !is_over => {
                is_over = true;
                made.close();
            }
        }
    }
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
        let offer = Offer { process: 7, direct: true, sockets };
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

    #[tokio::test]
    async fn what_was_made_is_said_to_the_last_word_before_it_ends() {
        // Room for one word: the others are on their way when the last was made.
        let (mut here, mut there) = tokio::io::duplex(size_of::<Word>());
        let (make, made) = mpsc::channel(UNTOLD);
        let words: Vec<Word> = (0..100).map(|n| [n; 16]).collect();
        for word in &words {
            make.try_send(*word).unwrap();
        }
        let told = tokio::spawn(async move {
            tell(made, &mut here, std::future::ready(())).await.unwrap();
        });
        let mut said = Vec::new();
        there.read_to_end(&mut said).await.unwrap();
        assert_eq!(said, words.as_flattened());
        told.await.unwrap();
        assert!(make.try_send([0; 16]).is_err(), "nobody is there to say it any more");
    }
}
