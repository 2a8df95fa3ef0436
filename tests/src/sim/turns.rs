//! The meter as a value of a server that only stores and compares: isolates are proxies, which read it, decide,
//! and store it. The server does what the script of `proxy/direct/src/meters/valkey/exchange.rs` says.

use shared::{
    meter::{Ask, Message, MeterRequest, NextValue, Reply, Turn},
    time::UnixMillis,
};

use super::Rng;

/// The stored value.
#[derive(Default)]
pub(super) struct Server {
    value: Vec<u8>,
}

/// What a proxy sends to the server.
pub(super) enum Command {
    Read,
    /// A value to store, and the line to leave.
    Swap(Box<NextValue>, Vec<u8>),
}

/// What the server replies.
pub(super) enum Found {
    /// The value at a time, and whether another proxy was ahead.
    Value { time: UnixMillis, value: Vec<u8>, is_lost: bool },
    /// The value was stored, and these are the replies.
    Done(Vec<Reply>),
}

/// The lane of a proxy, in which one exchange is in flight.
#[derive(Default)]
pub(super) struct Lane {
    /// The exchanges of the world whose requests wait for the next one.
    waiting: Vec<(usize, MeterRequest)>,
    current: Option<Current>,
}

struct Current {
    ask: Ask,
    exchanges: Vec<usize>,
    sent: u64,
    trips: u32,
}

/// What follows from a reply of the server.
pub(super) enum LaneStep {
    Send(Command),
    /// The responses to requests, and the number of trips that they have taken.
    End(Vec<(usize, MeterRequest, Reply)>, u32),
}

impl Server {
    pub(super) fn handle(&mut self, command: Command, time: UnixMillis) -> Found {
        match command {
            Command::Read => Found::Value { time, value: self.value.clone(), is_lost: false },
            Command::Swap(next, _) if self.value.get(..16).unwrap_or_default() == next.stamp => {
                let behind = self.value.split_off(next.length);
                self.value = [next.value, behind].concat();
                Found::Done(next.replies)
            }
            Command::Swap(_, line) => {
                self.value.extend(line);
                Found::Value { time, value: self.value.clone(), is_lost: true }
            }
        }
    }
}

impl Lane {
    /// Adds a request. Returns what to send if nothing is in flight.
    pub(super) fn add(
        &mut self,
        exchange: usize,
        request: MeterRequest,
        now: u64,
        rng: &mut Rng,
    ) -> Option<Command> {
        self.waiting.push((exchange, request));
        self.begin(now, rng)
    }

    /// Begins the next exchange. Returns what to send.
    pub(super) fn begin(&mut self, now: u64, rng: &mut Rng) -> Option<Command> {
        if self.current.is_some() || self.waiting.is_empty() {
            return None;
        }
        let (exchanges, messages) =
            self.waiting.drain(..).map(|(exchange, request)| (exchange, Message::Ask(request))).unzip();
        let ask = Ask::new(rng.next(), messages);
        self.current = Some(Current { ask, exchanges, sent: now, trips: 0 });
        Some(Command::Read)
    }

    /// Handles a reply. `waited` is the time since the call of an exchange began to wait.
    pub(super) fn handle(
        &mut self,
        found: Found,
        now: u64,
        rng: &mut Rng,
        waited: impl Fn(usize) -> u64,
    ) -> LaneStep {
        let mut current = self.current.take().unwrap();
        let trip = now - std::mem::replace(&mut current.sent, now);
        current.trips += 1;
        let replies = match found {
            Found::Done(replies) => replies,
            Found::Value { time, value, is_lost } => {
                if is_lost {
                    current.ask.lose();
                }
                let waited = current.exchanges.iter().map(|exchange| waited(*exchange));
                match current.ask.turn((time, &value), rng.next(), trip, waited).unwrap() {
                    (Turn::Decided(replies), _) => replies,
                    (Turn::Store(next), line) => {
                        self.current = Some(current);
                        return LaneStep::Send(Command::Swap(next, line));
                    }
                }
            }
        };
        let Current { ask, exchanges, trips, .. } = current;
        let requests = ask.into_messages().into_iter().map(|message| match message {
            Message::Ask(request) => request,
            _ => unreachable!("a lane has requests only"),
        });
        let ended = exchanges.into_iter().zip(requests).zip(replies);
        LaneStep::End(ended.map(|((exchange, request), reply)| (exchange, request, reply)).collect(), trips)
    }
}
