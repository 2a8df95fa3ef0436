//! The connections in HTTP/2 to one server. Each thread has its own, since a connection wakes the thread that has made it:
//! no call waits for another thread, and all calls of a thread share as few connections as carry them.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use pingora_core::{ErrorType, protocols::Stream};
use tokio::sync::oneshot;

use super::{
    connection::{MOST_STREAMS, Open, Seat},
    flight::{Flight, Landed, Made, Making},
    stream::ToolStream,
};
use crate::{
    clock::Monotonic,
    connection_limit::Semaphore,
    thread::{self, THREADS},
};

/// The connections to one server.
#[derive(Debug)]
pub struct Lines {
    /// The name of the server in logs.
    server: Arc<str>,
    threads: [Mutex<Own>; THREADS],
}

/// Those of one thread.
#[derive(Debug)]
pub(super) struct Own {
    /// Those that calls can be made over.
    pub(super) open: Vec<Open>,
    /// Those that are being made.
    pub(super) flights: Vec<Flight>,
    begun: u64,
    /// How many calls the connection that was made last carries at once.
    pub(super) streams: usize,
    /// Where the server has chosen HTTP/1.1 when it was asked last.
    pub(super) in_http1: Option<u64>,
}

/// What a call is carried by.
pub enum Carrier {
    /// A part of a connection in HTTP/2; whether that has served before.
    Shared(ToolStream, bool),
    /// A connection in HTTP/1.1 that was just made.
    Alone(Stream),
}

/// Why there is no connection.
#[derive(Debug)]
pub struct Unmade {
    /// How it failed.
    pub error: ErrorType,
    /// Whether the call is the one for which that counts, of all that have waited for the same.
    pub own: bool,
}

/// As often a call waits for a connection that then has no place left for it, or is closed again.
const FLIGHTS: usize = 8;

/// What a call does to get a connection.
enum Turn {
    /// It has one.
    Go(Seat),
    /// Somebody makes one.
    Wait(oneshot::Receiver<Landed>),
    /// It makes one, for others as well.
    Make(Making, oneshot::Receiver<Landed>),
}

impl Lines {
    /// None so far.
    pub(crate) fn new(server: &str) -> Arc<Self> {
        Arc::new(Self { server: server.into(), threads: std::array::from_fn(|_| Mutex::new(Own::default())) })
    }

    /// A connection to `to` for one call: a part of one that there is, or a new one, which `make` makes and others may be
    /// waiting for. It is made to its end whether or not this is waited for.
    ///
    /// # Errors
    /// Why none could be made. Who has only waited for another's that failed waits for one more.
    pub(crate) async fn carrier<F>(
        self: &Arc<Self>,
        to: u64,
        longest: Duration,
        room: &Arc<Semaphore>,
        make: impl Fn() -> F,
    ) -> Result<Carrier, Unmade>
    where
        F: Future<Output = Result<Made, ErrorType>> + Send + 'static,
    {
        let mut failed = false;
        for _ in 0..FLIGHTS {
            let landing = match self.turn(to, longest, room) {
                Turn::Go(seat) => return Ok(Carrier::shared(seat)),
                Turn::Wait(landing) => landing,
                Turn::Make(making, landing) => {
                    tokio::spawn(making.make(make()));
                    landing
                }
            };
            match landing.await {
                Ok(Landed::Seat(seat)) => return Ok(Carrier::shared(seat)),
                Ok(Landed::Stream(stream)) => return Ok(Carrier::Alone(stream)),
                Ok(Landed::Again) => {}
                Ok(Landed::Failed(error, own)) if own || failed => return Err(Unmade { error, own }),
                Ok(Landed::Failed(..)) => failed = true,
                // Whoever made it has ended without a word.
                Err(_) => return Err(Unmade { error: ErrorType::InternalError, own: true }),
            }
        }
        Err(Unmade { error: ErrorType::ConnectionClosed, own: true })
    }

    fn turn(self: &Arc<Self>, to: u64, longest: Duration, room: &Arc<Semaphore>) -> Turn {
        let share = thread::own() % THREADS;
        let Some(own) = self.share(share) else { return Turn::Wait(oneshot::channel().1) };
        let (mut own, now) = (own.lock(), Monotonic::now());
        own.open.retain_mut(|open| open.is_good(to, now, longest));
        if let Some(seat) = own.open.iter_mut().find_map(Open::seat) {
            return Turn::Go(seat);
        }
        let (tell, landing) = oneshot::channel();
        let joined = own.flights.iter_mut().position(|flight| flight.has_room(to));
        if let Some(flight) = joined.and_then(|place| own.flights.get_mut(place)) {
            flight.join(tell);
            return Turn::Wait(landing);
        }
        let seats = if own.in_http1 == Some(to) { 1 } else { own.streams };
        own.begun += 1;
        let flight = Flight::new(own.begun, to, seats, tell);
        let making = Making::new(self, share, &flight, room);
        own.flights.push(flight);
        Turn::Make(making, landing)
    }

    pub(super) fn server(&self) -> Arc<str> {
        Arc::clone(&self.server)
    }

    pub(super) fn share(&self, share: usize) -> Option<&Mutex<Own>> {
        self.threads.get(share)
    }

    /// Closes those that nobody will use any more.
    pub(crate) fn sweep(&self, to: u64, now: Monotonic, longest: Duration) {
        for own in &self.threads {
            own.lock().open.retain_mut(|open| open.is_good(to, now, longest));
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.threads.iter().map(|own| own.lock().open.len()).sum()
    }
}

impl Carrier {
    fn shared(seat: Seat) -> Self {
        let reused = seat.reused;
        Self::Shared(ToolStream::new(seat), reused)
    }
}

impl Default for Own {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            flights: Vec::new(),
            begun: 0,
            streams: MOST_STREAMS as usize,
            in_http1: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::uri::Scheme;
    use tokio::{
        io::{DuplexStream, duplex},
        sync::watch,
        task::JoinHandle,
    };

    use super::{super::greet, *};

    /// Where calls wait for a connection that is made when the test says so.
    struct Station {
        lines: Arc<Lines>,
        room: Arc<Semaphore>,
        made: Arc<AtomicUsize>,
        go: watch::Sender<bool>,
    }

    impl Station {
        fn new() -> Self {
            let (room, made) = (Semaphore::new(10), Arc::default());
            Self { lines: Lines::new("tool.test:9100"), room, made, go: watch::Sender::new(false) }
        }

        /// A call that waits for what `make` makes, once it may.
        fn call<F>(&self, make: fn() -> F) -> JoinHandle<Result<Carrier, Unmade>>
        where
            F: Future<Output = Result<Made, ErrorType>> + Send + 'static,
        {
            let (lines, room) = (Arc::clone(&self.lines), Arc::clone(&self.room));
            let (made, go) = (Arc::clone(&self.made), self.go.subscribe());
            tokio::spawn(async move {
                let make = || {
                    let (made, mut go) = (Arc::clone(&made), go.clone());
                    async move {
                        made.fetch_add(1, Ordering::SeqCst);
                        go.wait_for(|go| *go).await.unwrap();
                        make().await
                    }
                };
                lines.carrier(1, Duration::from_secs(60), &room, make).await
            })
        }

        fn made(&self) -> usize {
            self.made.load(Ordering::SeqCst)
        }
    }

    async fn http2() -> Result<Made, ErrorType> {
        let (near, far) = duplex(1 << 16);
        tokio::spawn(serve(far));
        Ok(greet(Box::new(near), Scheme::HTTP).await.unwrap())
    }

    async fn serve(stream: DuplexStream) {
        let mut tool = h2::server::handshake(stream).await.unwrap();
        while tool.accept().await.is_some() {}
    }

    async fn http1() -> Result<Made, ErrorType> {
        Ok(Made::Http1(Box::new(duplex(64).0)))
    }

    async fn refused() -> Result<Made, ErrorType> {
        Err(ErrorType::ConnectRefused)
    }

    async fn broken() -> Result<Made, ErrorType> {
        panic!("as a test wants it")
    }

    #[tokio::test]
    async fn one_connection_is_made_for_all_and_who_wanted_it_first_may_leave() {
        let station = Station::new();
        let first = station.call(http2);
        while station.made() == 0 {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (0..20).map(|_| station.call(http2)).collect();
        tokio::task::yield_now().await;
        first.abort();
        assert!(first.await.is_err());
        station.go.send_replace(true);
        let mut carriers = Vec::new();
        for other in others {
            carriers.push(other.await.unwrap().unwrap());
        }
        assert!(carriers.iter().all(|carrier| matches!(carrier, Carrier::Shared(..))));
        assert_eq!((station.made(), station.lines.count()), (1, 1));
        drop(carriers);
        // Another way is another connection, and the one of before is not kept for it.
        station.lines.sweep(2, Monotonic::now(), Duration::from_secs(60));
        assert_eq!(station.lines.count(), 0);
    }

    #[tokio::test]
    async fn a_failure_is_told_to_all_who_wait_and_so_is_the_end_of_who_makes_it() {
        async fn told<F>(make: fn() -> F) -> (usize, Vec<(ErrorType, bool)>)
        where
            F: Future<Output = Result<Made, ErrorType>> + Send + 'static,
        {
            let station = Station::new();
            let calls: Vec<_> = (0..3).map(|_| station.call(make)).collect();
            tokio::task::yield_now().await;
            station.go.send_replace(true);
            let mut told = Vec::new();
            for call in calls {
                told.extend(call.await.unwrap().err().map(|Unmade { error, own }| (error, own)));
            }
            (station.made(), told)
        }
        // The first one's failure, then that of the first of those who have waited for it, and nobody else's.
        let refusals = [true, true, false].map(|own| (ErrorType::ConnectRefused, own));
        assert_eq!(told(refused).await, (2, refusals.into()));
        assert_eq!(told(broken).await, (1, [true; 3].map(|own| (ErrorType::InternalError, own)).into()));
    }

    #[tokio::test]
    async fn where_http1_is_chosen_everybody_gets_a_connection() {
        let station = Station::new();
        let calls: Vec<_> = (0..3).map(|_| station.call(http1)).collect();
        tokio::task::yield_now().await;
        station.go.send_replace(true);
        for call in calls {
            assert!(matches!(call.await.unwrap().unwrap(), Carrier::Alone(_)));
        }
        assert_eq!((station.made(), station.lines.count()), (3, 0));
    }
}
