//! A connection that is being made, and those who wait for it. One is made for many calls, by a task of its own: who wanted
//! it first may leave.

use std::sync::Arc;

use http::uri::Scheme;
use pingora_core::{ErrorType, protocols::Stream};
use tokio::sync::oneshot::Sender;

use super::{
    connection::{Connection, Open, Seat},
    driver::{self, Patience},
    greeting::Greeted,
    lines::{Lines, Own},
};
use crate::connection_limit::Semaphore;

/// A connection that was made.
pub enum Made {
    /// The server has chosen HTTP/1.1.
    Http1(Stream),
    /// The server speaks HTTP/2.
    Http2(Box<Shareable>),
}

/// A connection in HTTP/2 that is nobody's yet.
pub struct Shareable {
    pub(super) greeted: Greeted<Stream>,
    pub(super) scheme: Scheme,
}

/// What comes of waiting for a connection.
#[derive(Debug)]
pub(super) enum Landed {
    /// A place on it.
    Seat(Seat),
    /// All of it, in HTTP/1.1.
    Stream(Stream),
    /// It was made, and has no place left: another one is needed.
    Again,
    /// It could not be made; whether this is to be told to others as the call's own failure, as it is to one of them.
    Failed(ErrorType, bool),
}

/// A connection that is being made.
#[derive(Debug)]
pub(super) struct Flight {
    number: u64,
    to: u64,
    /// How many calls it will carry at once, as far as one can know.
    seats: usize,
    waiting: Vec<Sender<Landed>>,
}

/// What makes it. Dropped before it is made, it tells those who wait that nothing comes.
pub(super) struct Making {
    lines: Arc<Lines>,
    share: usize,
    number: u64,
    to: u64,
    room: Arc<Semaphore>,
}

impl Flight {
    pub(super) fn new(number: u64, to: u64, seats: usize, first: Sender<Landed>) -> Self {
        Self { number, to, seats, waiting: vec![first] }
    }

    /// Whether one more may wait for it to go there.
    pub(super) fn has_room(&mut self, to: u64) -> bool {
        self.waiting.retain(|waiting| !waiting.is_closed());
        self.to == to && self.waiting.len() < self.seats
    }

    pub(super) fn join(&mut self, waiting: Sender<Landed>) {
        self.waiting.push(waiting);
    }

    fn fail(self, error: &ErrorType) {
        let mut own = true;
        for waiting in self.waiting {
            // Who has left needs to know nothing.
            own &= waiting.send(Landed::Failed(error.clone(), own)).is_err();
        }
    }

    /// Gives the connection to the first who is still there.
    fn land_alone(self, stream: Stream) {
        let mut landed = Landed::Stream(stream);
        for waiting in self.waiting {
            landed = match waiting.send(landed) {
                Ok(()) => Landed::Again,
                Err(unwanted) => unwanted,
            };
        }
    }

    /// Gives everybody a place, as far as there are any.
    fn land_shared(self, open: &mut Open) {
        for waiting in self.waiting {
            // A place that nobody is there to take is free again.
            let _taken = waiting.send(open.seat().map_or(Landed::Again, Landed::Seat));
        }
    }
}

impl Making {
    pub(super) fn new(lines: &Arc<Lines>, share: usize, flight: &Flight, room: &Arc<Semaphore>) -> Self {
        let (number, to) = (flight.number, flight.to);
        Self { lines: Arc::clone(lines), share, number, to, room: Arc::clone(room) }
    }

    /// Makes it, and tells everybody.
    pub(super) async fn make(self, made: impl Future<Output = Result<Made, ErrorType>>) {
        match made.await {
            Ok(Made::Http2(made)) => self.land_shared(made),
            Ok(Made::Http1(stream)) => self.with_flight(|flight, own, to| {
                own.in_http1 = Some(to);
                flight.land_alone(stream);
            }),
            Err(error) => self.with_flight(|flight, _, _| flight.fail(&error)),
        }
    }

    fn land_shared(&self, made: Box<Shareable>) {
        let Shareable { greeted: Greeted { send, connection: driven, heard }, scheme } = *made;
        let connection =
            Connection::new(self.to, self.lines.server(), scheme, heard, self.room.try_acquire());
        let may_wait = connection.may_wait();
        tokio::spawn(driver::drive(driven, Arc::clone(&connection), Patience::WITH_TOOLS));
        let mut open = Open::new(connection, send);
        self.with_flight(|flight, own, _| {
            own.in_http1 = None;
            own.streams = open.most_streams();
            flight.land_shared(&mut open);
            if may_wait {
                own.open.push(open);
            }
        });
    }

    /// Ends the flight, if it was not.
    fn with_flight(&self, end: impl FnOnce(Flight, &mut Own, u64)) {
        let Some(mut own) = self.lines.share(self.share).map(parking_lot::Mutex::lock) else { return };
        let place = own.flights.iter().position(|flight| flight.number == self.number);
        if let Some(place) = place {
            let flight = own.flights.swap_remove(place);
            end(flight, &mut own, self.to);
        }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        self.with_flight(|flight, _, _| drop(flight));
    }
}
