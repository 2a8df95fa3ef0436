//! A meter's value at a server that stores and compares, such as Valkey, and whose askers are far from it.
//!
//! A value is a stamp, the state, and lines. An asker reads it, decides, and stores the next one if the
//! stamp is still the one that it read. If not, it has lost its turn to another asker, and tries again.
//! When it loses its turn, it leaves its messages in the value: the first time if the server is far, the second
//! time at the latest. Whoever has the next turn decides on them as well, and leaves the replies in the value.
//!
//! **Why every message is decided within five trips, or four to a far server**, however many askers there are.
//! Let an asker leave its messages. If it loses its next turn, someone has stored a value meanwhile; if it
//! loses the one after that too, someone has stored a second one, and had read the first. That was stored
//! after the messages had been left, and kept them. So the second one has the replies, and the asker gets them
//! with the news that it has lost its turn.
//!
//! Why: docs/decisions/direct-mode.md, "Proxies that ask for one key together help each other".

use serde::{Deserialize, Serialize};

use super::{Message, Meter, Reply};
use crate::key::KeyRecord;
use crate::time::UnixMillis;

/// Number of bytes of a stamp.
const STAMP: usize = 16;

/// Time for which replies are kept for the asker of their messages, in milliseconds. It looks for them
/// within a trip to the server. One that comes later asks again, which every message allows.
const KEEP_MS: u64 = 2_000;

/// A value as it was read.
#[derive(Debug, Default)]
struct StoredMeter {
    stamp: Vec<u8>,
    meter: Meter,
    lines: Vec<Line>,
    length: usize,
}

/// Added to the time in which a call may be let through, for what lies between the server and the call, in
/// milliseconds.
const SLACK_MS: u64 = 150;

/// The time of a round trip from which a server is far, in milliseconds. To a near one a further trip costs
/// less than to send the messages with each value.
const FAR_MS: u64 = 5;

/// The messages of one asker, in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// A random number that no other ask has.
    ticket: u64,
    messages: Vec<Message>,
    #[serde(skip)]
    has_lost: bool,
    /// Whether the messages were left in the value, and must not change any more.
    #[serde(skip)]
    is_left: bool,
}

/// What follows the state in a value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// Messages that are undecided.
    Waiting(Ask),
    /// The replies to messages on which another asker has decided.
    Decided { ticket: u64, at: UnixMillis, replies: Vec<Reply> },
}

/// The end of an asker's turn.
#[derive(Debug)]
pub enum Turn {
    /// The replies may leave.
    Decided(Vec<Reply>),
    /// The replies may leave once the value is stored.
    Store(Box<NextValue>),
}

/// A value that may follow the one that was read.
#[derive(Debug)]
pub struct NextValue {
    /// The stamp of the value that was read. Empty if there was none.
    pub stamp: Vec<u8>,
    /// The length of that value. What was added to it since must stay behind the next one.
    pub length: usize,
    /// The value.
    pub value: Vec<u8>,
    /// The key's record in it.
    pub record: Option<KeyRecord>,
    /// The replies to the asker's own messages.
    pub replies: Vec<Reply>,
}

/// The reason for which an asker has no turn.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The stored value is not a meter's. A new one would give every call back.
    #[error("the stored state of the meter cannot be read")]
    Unreadable,
    /// The state cannot be written.
    #[error("the state of the meter cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
}

impl Ask {
    /// Returns an ask of messages. `ticket` must be random. Records lose the holder and the names of secrets:
    /// whoever reads the server has no need of them.
    pub fn new(ticket: u64, mut messages: Vec<Message>) -> Self {
        for record in messages.iter_mut().filter_map(Message::record_mut) {
            *record = record.public();
        }
        Self { ticket, messages, has_lost: false, is_left: false }
    }

    /// Records that another asker has stored a value first.
    pub const fn lose(&mut self) {
        self.has_lost = true;
    }

    /// Returns the messages as they were handled: calls may have more time to be let through.
    pub fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    /// Decides on the messages, and on all that others have left, by a value that was read at `now` of the
    /// server's clock; it is empty if there is none. Returns what to store, and the line to add at the end
    /// of the value if another asker has stored one first. `stamp` must be random, `trip_ms` is the time of
    /// a round trip to the server, and `waited_ms` has the time since each message's call began to wait.
    ///
    /// # Errors
    /// If the value is not a meter's, or cannot be written.
    pub fn turn(
        &mut self,
        (now, value): (UnixMillis, &[u8]),
        stamp: u64,
        trip_ms: u64,
        waited_ms: impl Iterator<Item = u64>,
    ) -> Result<(Turn, Vec<u8>), TurnError> {
        let mut stored = StoredMeter::parse(value).ok_or(TurnError::Unreadable)?;
        // Another asker has decided on these messages. Handled once more, its calls would be
        // counted again.
        if let Some(replies) = stored.take_decided(self) {
            return Ok((Turn::Decided(replies), Vec::new()));
        }
        // Left messages travel with every value until they are decided. An asker alone at a near
        // server need not leave any.
        let may_lose = self.has_lost || !stored.lines.is_empty() || trip_ms >= FAR_MS;
        let leaves = may_lose && !stored.has_left(self);
        if !self.is_left {
            // Once left, they are decided two trips later at the latest.
            let trips_ms = trip_ms.saturating_mul(if leaves { 3 } else { 1 });
            self.extend(trips_ms.saturating_add(SLACK_MS), waited_ms);
        }
        let mut line = Vec::new();
        if leaves {
            self.is_left = true;
            Line::Waiting(self.clone()).write(&mut line)?;
        }
        Ok((stored.turn(self, stamp, now)?, line))
    }

    /// Gives the calls the time that their replies take: the meter counts them that much later. A call
    /// that had to wait for its turn would be refused otherwise, although the server has replied.
    fn extend(&mut self, rest_ms: u64, waited_ms: impl Iterator<Item = u64>) {
        for (message, waited_ms) in self.messages.iter_mut().zip(waited_ms) {
            if let Message::Ask(request) = message
                && request.want
            {
                let until_ms = waited_ms.saturating_add(rest_ms);
                // Never shorter than the caller asked for: it may let the call through until then.
                request.admit_within_ms = request.admit_within_ms.max(until_ms);
            }
        }
    }
}

impl StoredMeter {
    /// Parses a value. Returns `None` if it is not a meter's.
    fn parse(value: &[u8]) -> Option<Self> {
        if value.is_empty() {
            return Some(Self::default());
        }
        let (stamp, text) = value.split_at_checked(STAMP)?;
        let mut texts = text.split(|byte| *byte == b'\n');
        let mut meter: Meter = serde_json::from_slice(texts.next()?).ok()?;
        // Kept by an earlier version. Replies that are left in a value must not have them.
        meter.forget_names();
        // A line that another version left is dropped: its asker leaves it again.
        let lines = texts.filter_map(|text| serde_json::from_slice(text).ok()).collect();
        Some(Self { stamp: stamp.to_vec(), meter, lines, length: value.len() })
    }

    /// Returns true if the messages of an ask were left here, and are undecided.
    fn has_left(&self, ask: &Ask) -> bool {
        self.lines.iter().any(|line| matches!(line, Line::Waiting(left) if left.ticket == ask.ticket))
    }

    /// Decides on the messages of an ask, and on all that others have left.
    fn turn(mut self, ask: &Ask, stamp: u64, now: UnixMillis) -> serde_json::Result<Turn> {
        let (mut lines, mut own, mut is_changed) = (Vec::new(), None, false);
        for line in std::mem::take(&mut self.lines) {
            match line {
                // An asker that died never takes its replies. The value must not grow by them.
                Line::Decided { at, .. } if now.since(at) >= KEEP_MS => {}
                Line::Decided { .. } => lines.push(line),
                Line::Waiting(other) => {
                    let (replies, _) = self.step(&other.messages, now);
                    // Also if the state stays as it was: the line has to leave the value.
                    is_changed = true;
                    match other.ticket == ask.ticket {
                        true => own = Some(replies),
                        false => lines.push(Line::Decided { ticket: other.ticket, at: now, replies }),
                    }
                }
            }
        }
        let replies = own.unwrap_or_else(|| {
            let (replies, changed) = self.step(&ask.messages, now);
            is_changed |= changed;
            replies
        });
        // A value that is stored for nothing would make every other asker lose its turn.
        if !is_changed {
            return Ok(Turn::Decided(replies));
        }
        let mut value = format!("{stamp:0width$x}", width = STAMP).into_bytes();
        serde_json::to_writer(&mut value, &self.meter)?;
        for line in &lines {
            line.write(&mut value)?;
        }
        let Self { stamp, length, meter, .. } = self;
        let record = meter.record().cloned();
        Ok(Turn::Store(Box::new(NextValue { stamp, length, value, record, replies })))
    }

    fn take_decided(&mut self, ask: &Ask) -> Option<Vec<Reply>> {
        self.lines.iter_mut().find_map(|line| match line {
            Line::Decided { ticket, replies, .. } if *ticket == ask.ticket => Some(std::mem::take(replies)),
            Line::Decided { .. } | Line::Waiting(_) => None,
        })
    }

    /// Handles messages in their order. Returns the replies, and whether the state has changed.
    fn step(&mut self, messages: &[Message], now: UnixMillis) -> (Vec<Reply>, bool) {
        let (mut replies, mut is_changed) = (Vec::with_capacity(messages.len()), false);
        for message in messages {
            let (reply, changed) = self.meter.step(message.clone(), now);
            is_changed |= changed;
            replies.push(reply);
        }
        (replies, is_changed)
    }
}

impl Line {
    fn write(&self, value: &mut Vec<u8>) -> serde_json::Result<()> {
        // JSON has no line break of its own.
        value.push(b'\n');
        serde_json::to_writer(value, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{ApiKey, KeyEnv, KeyId};
    use crate::lease_cache::LeaseCache;
    use crate::meter::{MeterRequest, Verdict};
    use crate::secret::MacKeys;
    use crate::tier::Tier;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    /// Returns the ask of a call of a Free key.
    fn ask(holder: u64, ticket: u64) -> Ask {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let id = KeyId::new([7; 12]);
        let (_, key) = ApiKey::mint(KeyEnv::Live, id, Tier::Free, NOW, [9; 16], &keys);
        let mut cache = LeaseCache::new(holder);
        cache.learn(KeyRecord { version: 1, ..KeyRecord::provisional(&key) });
        Ask::new(ticket, vec![Message::Ask(MeterRequest { want: true, ..cache.read(&key, NOW) })])
    }

    fn store(ask: &mut Ask, value: &[u8]) -> (NextValue, Vec<u8>) {
        match ask.turn((NOW, value), ask.ticket, 1, [0].into_iter()).unwrap() {
            (Turn::Store(next), line) => (*next, line),
            (Turn::Decided(_), _) => panic!("decided by another"),
        }
    }

    #[test]
    fn messages_that_were_left_are_decided_with_the_next_turn() {
        let (mut loser, mut winner) = (ask(1, 1), ask(2, 2));
        let (first, line) = store(&mut ask(3, 3), b"");
        assert!(line.is_empty(), "the first turn leaves nothing at a near server");
        loser.lose();
        let (_, line) = store(&mut loser, &first.value);
        let left = [first.value, line].concat();
        let (next, _) = store(&mut winner, &left);
        assert_eq!(next.length, left.len());
        let (turn, line) = loser.turn((NOW, &next.value), 0, 1, [0].into_iter()).unwrap();
        let Turn::Decided(replies) = turn else { panic!("{turn:?}") };
        let [Reply::Ask(response)] = replies.as_slice() else { panic!("{replies:?}") };
        assert_eq!((response.verdict, line.is_empty()), (Verdict::Allow, true));
        let later = NOW.plus(KEEP_MS);
        let late = loser.turn((later, &next.value), 0, 1, [0].into_iter()).unwrap().0;
        assert!(matches!(late, Turn::Decided(_)), "kept until the next value");
    }

    #[test]
    fn call_has_as_long_as_its_messages_wait_for_their_turn() {
        let mut waiting = ask(1, 1);
        waiting.turn((NOW, b""), 1, 200, [900].into_iter()).unwrap();
        let within = |ask: &Ask| match ask.messages.as_slice() {
            [Message::Ask(request)] => request.admit_within_ms,
            other => panic!("{other:?}"),
        };
        assert_eq!(within(&waiting), 900 + 3 * 200 + SLACK_MS);
        // Whoever decides on them counts the call by what was left.
        waiting.turn((NOW, b""), 1, 200, [2_000].into_iter()).unwrap();
        assert_eq!(within(&waiting), 900 + 3 * 200 + SLACK_MS);
    }

    #[test]
    fn value_of_another_version_or_kind_is_not_replaced() {
        for value in ["short", "0123456789abcdef", "0123456789abcdef{}x"] {
            let turn = ask(1, 1).turn((NOW, value.as_bytes()), 1, 1, [0].into_iter());
            assert!(matches!(turn, Err(TurnError::Unreadable)), "{value}");
        }
        let unknown = b"0123456789abcdef{}\n{\"later\":1}\n\n{";
        assert_eq!(store(&mut ask(1, 1), unknown).0.length, unknown.len());
    }
}
