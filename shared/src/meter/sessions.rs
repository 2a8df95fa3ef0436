//! The sessions of a key, and which of them have ended.
//!
//! The object of the key's meter stores them in their own row, which no call of a tool reads. Each request of a
//! browser is a message in its session ([`Message::InSession`]), so that one that was signed out ends with the next
//! request, wherever that arrives.
//!
//! Why: docs/decisions/portal.md, "A session is a row of the key's object".

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::session::{Session, SessionId, SessionStep};
use super::{Message, Reply};
use crate::time::UnixMillis;

const DAY_MS: u64 = 86_400_000;
/// Gap between two notes of a session's use, in milliseconds: each is a write.
const NOTE_MS: u64 = 300_000;

/// The sessions of a key, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sessions(Vec<Session>);

impl Sessions {
    /// The most sessions of a key. One more ends the oldest.
    pub const MAX: usize = 20;
    /// Days after its sign-in at which a session ends.
    pub const DAYS: u64 = 30;
    /// Days without a request after which a session ends.
    pub const IDLE_DAYS: u64 = 7;

    /// Handles a message about sessions or in one. Returns the reply, or the message that the meter handles: one in a
    /// session that has not ended.
    pub fn receive(&mut self, message: Message, now: UnixMillis) -> ControlFlow<Reply, Message> {
        match message {
            // Read with the message and not before it: a session that ended meanwhile must not slip
            // through.
            Message::InSession { session, message } if self.note_use(session, now) => {
                self.receive(*message, now)
            }
            Message::InSession { .. } => ControlFlow::Break(Reply::SignedOut),
            Message::Session(step) => {
                self.step(step, now);
                ControlFlow::Break(Reply::Sessions(self.0.clone()))
            }
            other => ControlFlow::Continue(other),
        }
    }

    fn step(&mut self, step: SessionStep, now: UnixMillis) {
        self.drop_ended(now);
        match step {
            SessionStep::Begin { id, browser, replaces } => {
                // A message may arrive twice.
                self.0.retain(|session| session.id != id && Some(session.id) != replaces);
                // The oldest goes: a browser that lost its cookie cannot sign out.
                if self.0.len() >= Self::MAX {
                    self.0.remove(0);
                }
                self.0.push(Session { id, begun_at: now, used_at: now, browser });
            }
            SessionStep::End(id) => self.0.retain(|session| session.id != id),
            SessionStep::EndAll => self.0.clear(),
            SessionStep::List => {}
        }
    }

    /// Returns true if a session has not ended.
    fn note_use(&mut self, id: SessionId, now: UnixMillis) -> bool {
        self.drop_ended(now);
        let Some(session) = self.0.iter_mut().find(|session| session.id == id) else { return false };
        // Each note is a write. Without the gap, every click would cost a row.
        if now.since(session.used_at) >= NOTE_MS {
            session.used_at = now;
        }
        true
    }

    fn drop_ended(&mut self, now: UnixMillis) {
        self.0.retain(|session| {
            now.since(session.begun_at) < Self::DAYS * DAY_MS
                && now.since(session.used_at) < Self::IDLE_DAYS * DAY_MS
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn id(number: u8) -> SessionId {
        SessionId::new([number; 16])
    }

    fn begin(number: u8, replaces: Option<SessionId>) -> Message {
        Message::Session(SessionStep::Begin {
            id: id(number),
            browser: "Firefox on Linux".to_owned(),
            replaces,
        })
    }

    /// Returns the sessions after a step.
    fn listed(sessions: &mut Sessions, message: Message, now: UnixMillis) -> Vec<Session> {
        match sessions.receive(message, now) {
            ControlFlow::Break(Reply::Sessions(sessions)) => sessions,
            other => panic!("{other:?}"),
        }
    }

    /// Returns whether a message in a session reaches the meter.
    fn is_live(sessions: &mut Sessions, number: u8, now: UnixMillis) -> bool {
        let inner = Message::Stored { version: 7 };
        let message = Message::InSession { session: id(number), message: Box::new(inner.clone()) };
        match sessions.receive(message, now) {
            ControlFlow::Continue(message) => message == inner,
            ControlFlow::Break(reply) => reply != Reply::SignedOut,
        }
    }

    #[test]
    fn session_ends_at_its_sign_out_or_that_of_all() {
        let mut sessions = Sessions::default();
        for number in [1, 2, 3] {
            listed(&mut sessions, begin(number, None), NOW);
        }
        listed(&mut sessions, Message::Session(SessionStep::End(id(1))), NOW);
        assert_eq!([1, 2, 3].map(|number| is_live(&mut sessions, number, NOW)), [false, true, true]);
        assert_eq!(listed(&mut sessions, Message::Session(SessionStep::EndAll), NOW), []);
        assert_eq!([1, 2, 3].map(|number| is_live(&mut sessions, number, NOW)), [false; 3]);
    }

    #[test]
    fn used_session_ends_thirty_days_after_its_sign_in() {
        let mut sessions = Sessions::default();
        listed(&mut sessions, begin(1, None), NOW);
        for day in 1..Sessions::DAYS {
            assert!(is_live(&mut sessions, 1, NOW.plus(day * DAY_MS)), "{day}");
        }
        assert!(is_live(&mut sessions, 1, NOW.plus(Sessions::DAYS * DAY_MS - 1)));
        assert!(!is_live(&mut sessions, 1, NOW.plus(Sessions::DAYS * DAY_MS)));
        assert_eq!(sessions, Sessions::default(), "it is not kept");
    }

    #[test]
    fn unused_session_ends_after_seven_days() {
        let mut sessions = Sessions::default();
        listed(&mut sessions, begin(1, None), NOW);
        let used = NOW.plus(3 * DAY_MS);
        assert!(is_live(&mut sessions, 1, used));
        assert!(is_live(&mut sessions.clone(), 1, used.plus(Sessions::IDLE_DAYS * DAY_MS - 1)));
        assert!(!is_live(&mut sessions, 1, used.plus(Sessions::IDLE_DAYS * DAY_MS)));
    }

    #[test]
    fn use_is_noted_every_five_minutes() {
        let mut sessions = Sessions::default();
        listed(&mut sessions, begin(1, None), NOW);
        let before = sessions.clone();
        assert!(is_live(&mut sessions, 1, NOW.plus(NOTE_MS - 1)));
        assert_eq!(sessions, before, "nothing to write");
        assert!(is_live(&mut sessions, 1, NOW.plus(NOTE_MS)));
        assert_eq!(sessions.0[0].used_at, NOW.plus(NOTE_MS));
    }

    #[test]
    fn one_session_too_many_ends_the_oldest() {
        let mut sessions = Sessions::default();
        let max = u8::try_from(Sessions::MAX).unwrap();
        for number in 0..=max {
            listed(&mut sessions, begin(number, None), NOW.plus(number.into()));
        }
        assert_eq!(sessions.0.len(), Sessions::MAX);
        assert!(!is_live(&mut sessions, 0, NOW.plus(99)) && is_live(&mut sessions, 1, NOW.plus(99)));
    }

    #[test]
    fn new_sign_in_replaces_the_session_of_its_browser() {
        let mut sessions = Sessions::default();
        listed(&mut sessions, begin(1, None), NOW);
        let twice = [begin(2, Some(id(1))), begin(2, Some(id(1)))];
        let [_, now] = twice.map(|message| listed(&mut sessions, message, NOW));
        assert_eq!(now.iter().map(|session| session.id).collect::<Vec<_>>(), [id(2)]);
    }

    #[test]
    fn written_message_reads_back_in_its_session() {
        let inner = begin(1, Some(id(2)));
        let text = Message::in_session(id(3), &json::to_string(&inner).unwrap());
        let read = Message::InSession { session: id(3), message: Box::new(inner) };
        assert_eq!(json::from_str(&text), Ok(read));
    }

    #[test]
    fn message_without_a_session_goes_on() {
        let message = Message::Stored { version: 7 };
        assert_eq!(Sessions::default().receive(message.clone(), NOW), ControlFlow::Continue(message));
    }
}
