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

/// How much silence is borne.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long nothing may come, while calls wait, before the other end is asked for a sign of life, and then until that
    /// comes. The calls have times of their own: a tool that answers nothing while it computes is waited for.
    silence: Duration,
    /// It is looked at as often as this.
    look_every: Duration,
}

impl Patience {
    /// Long enough for a tool that thinks before it answers, or stops for a while to clean up.
    pub(super) const WITH_TOOLS: Self =
        Self { silence: Duration::from_secs(10), look_every: Duration::from_secs(2) };
}

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

/// Drives a connection until its end, which comes when the tool has closed it, or nobody holds it and its last call is over,
/// whether or not the tool takes note of that.
pub(super) async fn drive<S: AsyncRead + AsyncWrite + Unpin>(
    mut driven: client::Connection<Listening<S>, Bytes>,
    connection: Arc<Connection>,
    patience: Patience,
) {
    let mut pings = driven.ping_pong();
    let mut silence = Silence::default();
    let mut looks = interval(patience.look_every);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            ended = &mut driven => {
                tell_end(&connection.server, ended.err().as_ref());
                return;
            }
            _ = looks.tick() => {}
        }
        let now = Monotonic::now();
        match silence.look(connection.silent_since(), connection.is_in_use(), now, patience.silence) {
            Sign::Fine => {}
            Sign::Wanted => {
                connection.doubt(now);
                pings.iter_mut().for_each(ask);
            }
            Sign::Missing if connection.is_in_use() => {}
            Sign::Missing => {
                log::warn!(
                    "a connection in HTTP/2 to {} is given up: nothing comes over it, not even a PONG",
                    connection.server
                );
                return;
            }
        }
    }
}

impl Silence {
    fn look(&mut self, heard_at: Monotonic, in_use: bool, now: Monotonic, longest: Duration) -> Sign {
        let since = |moment: Monotonic| Duration::from_millis(now.since(moment));
        if since(heard_at) < longest {
            self.asked_at = None;
            return Sign::Fine;
        }
        match self.asked_at {
            None if !in_use => Sign::Fine,
            None => {
                self.asked_at = Some(now);
                Sign::Wanted
            }
            Some(asked_at) if heard_at > asked_at => {
                self.asked_at = Some(now);
                Sign::Wanted
            }
            Some(asked_at) if since(asked_at) >= longest => Sign::Missing,
            Some(_) => Sign::Fine,
        }
    }
}

/// What a tool says beside its reason is its own to write: it does not belong into a log.
fn tell_end(server: &str, error: Option<&h2::Error>) {
    let reason = error.and_then(h2::Error::reason);
    if error.is_some_and(h2::Error::is_library) {
        log::warn!("a connection in HTTP/2 to {server} was ended: its server broke the protocol, {reason:?}");
    } else {
        log::debug!("a connection in HTTP/2 to {server} has ended: {reason:?}");
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
    use std::future::poll_fn;

    use http::{Request, Response, uri::Scheme};
    use tokio::{io::duplex, time::timeout};

    use super::{
        super::{connection::Open, greeting::greet},
        *,
    };

    fn at(seconds: u64) -> Monotonic {
        Monotonic::from_millis(seconds * 1_000)
    }

    fn look(silence: &mut Silence, heard_at: u64, in_use: bool, now: u64) -> Sign {
        silence.look(at(heard_at), in_use, at(now), Duration::from_secs(10))
    }

    #[test]
    fn silence_is_borne_for_a_while_and_then_asked_about_and_then_enough() {
        let mut silence = Silence::default();
        // Nobody waits.
        assert_eq!(look(&mut silence, 0, false, 100), Sign::Fine);
        assert_eq!(look(&mut silence, 95, true, 100), Sign::Fine);
        assert_eq!(look(&mut silence, 95, true, 105), Sign::Wanted);
        assert_eq!(look(&mut silence, 95, true, 107), Sign::Fine);
        // The sign of life came.
        assert_eq!(look(&mut silence, 105, true, 109), Sign::Fine);
        assert_eq!(look(&mut silence, 105, true, 115), Sign::Wanted);
        assert_eq!(look(&mut silence, 105, true, 124), Sign::Fine);
        assert_eq!(look(&mut silence, 105, true, 125), Sign::Missing);
    }

    #[test]
    fn that_the_calls_have_given_up_is_no_sign_of_life() {
        let mut silence = Silence::default();
        assert_eq!(look(&mut silence, 0, true, 10), Sign::Wanted);
        assert_eq!(look(&mut silence, 0, false, 12), Sign::Fine);
        assert_eq!(look(&mut silence, 0, false, 20), Sign::Missing);
        assert_eq!(look(&mut silence, 19, false, 22), Sign::Fine);
        assert_eq!(look(&mut silence, 19, false, 40), Sign::Fine);
    }

    const HASTY: Patience =
        Patience { silence: Duration::from_millis(60), look_every: Duration::from_millis(10) };

    #[tokio::test]
    async fn a_tool_that_thinks_for_long_is_waited_for_and_one_that_is_gone_is_not() {
        let (near, far) = duplex(1 << 16);
        let tool = tokio::spawn(async move {
            let mut tool = h2::server::handshake(far).await.unwrap();
            let (_, mut respond) = tool.accept().await.unwrap().unwrap();
            // It answers PINGs while it thinks, and the first call in the end.
            let thinking = tokio::time::sleep(Duration::from_millis(400));
            tokio::select! { () = thinking => {}, _ = tool.accept() => panic!("one call at a time") }
            respond.send_response(Response::new(()), true).unwrap();
            let second = tool.accept().await.unwrap().unwrap();
            // It is still there, and does nothing more.
            (tool, second)
        });
        let greeted = greet(near).await.unwrap();
        let connection = Connection::new(1, "tool".into(), Scheme::HTTP, greeted.heard, None);
        let driver = tokio::spawn(drive(greeted.connection, Arc::clone(&connection), HASTY));
        let mut open = Open::new(connection, greeted.send);
        let request = || Request::get("http://a.test/").body(()).unwrap();

        let mut seat = open.seat().unwrap();
        let (answer, _) = seat.send(request(), true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
        drop(seat);
        let mut seat = open.seat().unwrap();
        let (mut answer, _) = seat.send(request(), true).unwrap();
        let _gone = tool.await.unwrap();
        let doubted = async {
            while open.seat().is_some() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(5), doubted).await.expect("no more calls in time");
        // Who is waiting waits as long as it likes to, and the connection ends with it.
        assert!(timeout(HASTY.silence * 5, &mut answer).await.is_err());
        drop((answer, seat));
        timeout(Duration::from_secs(5), driver).await.expect("an end in time").unwrap();
    }

    type Serving = h2::server::Connection<tokio::io::DuplexStream, Bytes>;

    /// A connection to a tool that serves each call this way.
    async fn connected<F>(serve: fn(Request<h2::RecvStream>, h2::server::SendResponse<Bytes>) -> F) -> Open
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (near, far) = duplex(1 << 22);
        tokio::spawn(async move {
            let mut tool: Serving = h2::server::handshake(far).await.unwrap();
            while let Some(Ok((request, respond))) = tool.accept().await {
                tokio::spawn(serve(request, respond));
            }
        });
        let greeted = greet(near).await.unwrap();
        let connection = Connection::new(1, "tool".into(), Scheme::HTTP, greeted.heard, None);
        tokio::spawn(drive(greeted.connection, Arc::clone(&connection), Patience::WITH_TOOLS));
        Open::new(connection, greeted.send)
    }

    #[tokio::test]
    async fn small_pieces_that_nobody_takes_end_no_call() {
        const PIECE: usize = 50;
        const PIECES: usize = 2_600;
        let mut open = connected(|_, mut respond| async move {
            let mut body = respond.send_response(Response::new(()), false).unwrap();
            body.reserve_capacity(PIECE * PIECES);
            while body.capacity() < PIECE * PIECES {
                poll_fn(|context| body.poll_capacity(context)).await.unwrap().unwrap();
            }
            (0..PIECES).for_each(|_| body.send_data(Bytes::from_static(&[7; PIECE]), false).unwrap());
            body.send_data(Bytes::from_static(b"."), true).unwrap();
        })
        .await;
        let mut kept = Vec::new();
        for _ in 0..60 {
            let mut seat = open.seat().expect("room for a call");
            let (answer, _) = seat.send(Request::get("http://a.test/").body(()).unwrap(), true).unwrap();
            kept.push((answer.await.unwrap().into_body(), seat));
        }
        for (mut body, _seat) in kept.into_iter().rev() {
            let mut length = 0;
            while let Some(piece) = body.data().await {
                length += piece.expect("a piece of the answer").len();
            }
            assert_eq!(length, PIECE * PIECES + 1);
        }
    }

    #[tokio::test]
    async fn a_connection_over_which_empty_frames_come_gets_no_more_calls_before_it_breaks() {
        let mut open = connected(|_, mut respond| async move {
            let mut body = respond.send_response(Response::new(()), false).unwrap();
            body.send_data(Bytes::new(), false).unwrap();
            body.send_data(Bytes::from_static(b"abc"), true).unwrap();
        })
        .await;
        let mut calls = 0;
        while let Some(mut seat) = open.seat() {
            let (answer, _) = seat.send(Request::get("http://a.test/").body(()).unwrap(), true).unwrap();
            let mut body = answer.await.expect("an answer").into_body();
            while let Some(piece) = body.data().await {
                piece.expect("a piece of the answer");
            }
            calls += 1;
        }
        assert!((5..50).contains(&calls), "{calls}");
    }
}
