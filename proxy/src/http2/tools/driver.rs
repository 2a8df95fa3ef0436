//! What keeps a connection going: it reads and writes for all its calls, and finds out whether anybody is at the other end.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use h2::{Ping, PingPong, client};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{MissedTickBehavior, interval},
};

use super::{connection::Connection, greeting::Listening};
use crate::clock::Monotonic;

/// How long nothing may come, while calls wait, before the other end is asked for a sign of life, and then until that comes.
/// Long enough for a tool that thinks before it answers, or stops for a while to clean up.
const SILENCE: Duration = Duration::from_secs(10);
/// The silence is looked at as often as this.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What a look at the silence comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// There is no reason to worry.
    Fine,
    /// The other end is to be asked for one.
    Wanted,
    /// The one that was asked for has not come.
    Missing,
}

/// The silence on a connection.
#[derive(Debug, Default)]
struct Silence {
    asked_at: Option<Monotonic>,
}

/// Drives a connection until its end, which comes when the tool has closed it, or nobody holds it and its last call is over.
pub(super) async fn drive<S: AsyncRead + AsyncWrite + Unpin>(
    mut driven: client::Connection<Listening<S>, Bytes>,
    connection: Arc<Connection>,
) {
    let mut pings = driven.ping_pong();
    let mut silence = Silence::default();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            ended = &mut driven => {
                if let Err(error) = ended {
                    log::debug!("a connection in HTTP/2 to a tool has ended: {error}");
                }
                return;
            }
            _ = looks.tick() => {}
        }
        let now = Monotonic::now();
        match silence.look(connection.silent_since(), connection.is_in_use(), now) {
            Sign::Fine => {}
            Sign::Wanted => {
                connection.doubt(now);
                pings.iter_mut().for_each(ask);
            }
            Sign::Missing => {
                log::warn!(
                    "a connection in HTTP/2 to a tool is given up: nothing came over it, not even a PONG"
                );
                return;
            }
        }
    }
}

impl Silence {
    fn look(&mut self, heard_at: Monotonic, in_use: bool, now: Monotonic) -> Sign {
        let since = |moment: Monotonic| Duration::from_millis(now.since(moment));
        if !in_use || since(heard_at) < SILENCE {
            self.asked_at = None;
            return Sign::Fine;
        }
        match self.asked_at {
            None => {
                self.asked_at = Some(now);
                Sign::Wanted
            }
            Some(asked_at) if heard_at > asked_at => {
                self.asked_at = Some(now);
                Sign::Wanted
            }
            Some(asked_at) if since(asked_at) >= SILENCE => Sign::Missing,
            Some(_) => Sign::Fine,
        }
    }
}

fn ask(pings: &mut PingPong) {
    // A PONG that has come is to be taken before the next PING.
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let _taken = pings.poll_pong(&mut context);
    // It cannot be sent when the connection is about to end, which the next look at it tells.
    let _sent = pings.send_ping(Ping::opaque());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Monotonic {
        Monotonic::from_millis(seconds * 1_000)
    }

    #[test]
    fn silence_is_borne_for_a_while_and_then_asked_about_and_then_enough() {
        let mut silence = Silence::default();
        // Nobody waits.
        assert_eq!(silence.look(at(0), false, at(100)), Sign::Fine);
        assert_eq!(silence.look(at(95), true, at(100)), Sign::Fine);
        assert_eq!(silence.look(at(95), true, at(105)), Sign::Wanted);
        assert_eq!(silence.look(at(95), true, at(107)), Sign::Fine);
        // The sign of life came.
        assert_eq!(silence.look(at(105), true, at(109)), Sign::Fine);
        assert_eq!(silence.look(at(105), true, at(115)), Sign::Wanted);
        assert_eq!(silence.look(at(105), true, at(124)), Sign::Fine);
        assert_eq!(silence.look(at(105), true, at(125)), Sign::Missing);
    }

    #[test]
    fn what_ended_meanwhile_is_not_held_against_the_next_calls() {
        let mut silence = Silence::default();
        assert_eq!(silence.look(at(0), true, at(10)), Sign::Wanted);
        assert_eq!(silence.look(at(0), false, at(12)), Sign::Fine);
        assert_eq!(silence.look(at(0), true, at(30)), Sign::Wanted);
    }
}
