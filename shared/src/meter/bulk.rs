//! Messages to many meters in one request: `POST /internal/meter` at the edge, for lease caches that
//! live outside of it.
//!
//! A proxy in direct mode holds leases as an isolate does. Its lease caches send their requests for
//! many keys together, and the edge passes each on to the meter of its key. The replies have the order
//! of the asks. A meter that does not respond fails its own ask only.
//!
//! **Records stay at the edge.** A holder outside never says what a key's record is: the edge reads it
//! from KV where a meter lacks it, so a request of such a holder needs no second round. The records
//! in replies are without their holders ([`KeyRecord::public`](crate::key::KeyRecord::public)).
//!
//! Edge and proxy may be of different versions: fields are only ever added, with a default, and an
//! unknown one is ignored.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Message, MeterRequest, Reply};
use crate::json::{self, JsonError};
use crate::key::KeyId;
use crate::problem::{Problem, codes};

/// The requests of lease caches to the meters of their keys.
///
/// ```
/// use shared::{
///     key::{ApiKey, KeyEnv, KeyId},
///     lease_cache::{LeaseCache, Step},
///     meter::{BulkReplies, BulkReply, BulkRequest, HolderAsk, MeterFailure},
///     secret::MacKeys,
///     tier::Tier,
///     time::UnixMillis,
///     tool::Tool,
/// };
///
/// # let now = UnixMillis(1_763_712_000_000);
/// # let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
/// let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, now, [9; 16], &keys);
/// let Step::Ask(request, _) = LeaseCache::new(1).call(&key, Tool::Qr, now) else { unreachable!() };
///
/// let sent = BulkRequest::new(vec![HolderAsk::ask(request)]).unwrap();
/// let received = BulkRequest::from_json(sent.to_json().as_bytes()).unwrap();
/// assert_eq!(received.asks()[0].id(), key.id);
///
/// let replies = BulkReplies::new(vec![BulkReply::Error(MeterFailure::Unavailable)]);
/// assert_eq!(replies.to_json(), r#"{"replies":[{"error":"unavailable"}]}"#);
/// assert_eq!(BulkReplies::from_json(replies.to_json().as_bytes(), 1), Ok(replies));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BulkRequest {
    asks: Vec<HolderAsk>,
}

/// The request of a lease cache outside of the edge to the meter of its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HolderAsk {
    id: KeyId,
    message: HolderMessage,
}

/// The messages that a holder outside may send. They are written as those of [`Message`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HolderMessage {
    Ask(MeterRequest),
    Read(MeterRequest),
}

/// The replies to a [`BulkRequest`], in the order of its asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkReplies {
    replies: Vec<BulkReply>,
}

/// The reply to one ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a reply lives for one call and is never kept in bulk")]
pub enum BulkReply {
    /// What the meter said: [`Reply::Ask`] or [`Reply::Read`], as the ask was.
    Reply(Reply),
    /// The meter said nothing.
    Error(MeterFailure),
}

/// A reason for which an ask has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeterFailure {
    /// The meter failed or did not respond in time, or it lacks the record and so does the edge. It may
    /// have taken the message even so.
    Unavailable,
}

/// An error of a request or of replies that cannot be read. It never quotes the text.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum BulkError {
    /// It is too long.
    #[error("has {length} bytes; expected at most {}", BulkRequest::MAX_BYTES)]
    TooLong {
        /// Bytes of the text.
        length: usize,
    },
    /// The text is not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// The text is not of this form, or has a message that a holder outside may not send.
    #[error("cannot be read: {0}")]
    Malformed(#[from] JsonError),
    /// It has no asks, or too many.
    #[error("has {count} asks; expected 1 to {}", BulkRequest::MAX_ASKS)]
    Count {
        /// Number of asks.
        count: usize,
    },
    /// The message is for another key than the ask.
    #[error("has a message for another key than `{id}`, which the ask names")]
    OtherKey {
        /// The id of the ask.
        id: KeyId,
    },
    /// There is not one reply for each ask.
    #[error("has {count} replies; expected {expected}")]
    Replies {
        /// Number of replies.
        count: usize,
        /// Number of asks.
        expected: usize,
    },
}

impl BulkRequest {
    /// The path of the endpoint at the edge.
    pub const PATH: &'static str = "/internal/meter";
    /// Maximum number of asks in one request.
    pub const MAX_ASKS: usize = 100;
    /// Maximum length of a request and of its replies in bytes. Enough for [`BulkRequest::MAX_ASKS`]
    /// requests with long reports.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Returns the request with these asks.
    ///
    /// # Errors
    /// Returns [`BulkError::Count`] if there are none or too many.
    pub fn new(asks: Vec<HolderAsk>) -> Result<Self, BulkError> {
        match asks.len() {
            1..=Self::MAX_ASKS => Ok(Self { asks }),
            count => Err(BulkError::Count { count }),
        }
    }

    /// Returns the asks: 1 to [`BulkRequest::MAX_ASKS`].
    pub fn asks(&self) -> &[HolderAsk] {
        &self.asks
    }

    /// Parses a request.
    ///
    /// # Errors
    /// Returns an error if it is not one.
    pub fn from_json(text: &[u8]) -> Result<Self, BulkError> {
        #[derive(Deserialize)]
        // Fields are read apart and checked by `new`, so that no request with another key's message
        // exists.
        struct Written {
            asks: Vec<WrittenAsk>,
        }
        #[derive(Deserialize)]
        struct WrittenAsk {
            id: KeyId,
            message: HolderMessage,
        }
        let written: Written = read(text)?;
        let asks = written.asks.into_iter().map(|WrittenAsk { id, message }| HolderAsk::new(id, message));
        Self::new(asks.collect::<Result<_, _>>()?)
    }

    /// Returns the request as it is sent.
    pub fn to_json(&self) -> String {
        write(self)
    }
}

impl HolderAsk {
    /// Returns the ask of a cache for calls, or of its reports.
    pub fn ask(request: MeterRequest) -> Self {
        Self { id: request.key.id, message: HolderMessage::Ask(without_record(request)) }
    }

    /// Returns the ask of a cache for the whole state of its key's meter.
    pub fn read(request: MeterRequest) -> Self {
        Self { id: request.key.id, message: HolderMessage::Read(without_record(request)) }
    }

    fn new(id: KeyId, message: HolderMessage) -> Result<Self, BulkError> {
        let ask = match message {
            HolderMessage::Ask(request) => Self::ask(request),
            HolderMessage::Read(request) => Self::read(request),
        };
        // The id chooses the meter. With another key's message, it would count for a key that did
        // not call.
        if ask.id == id { Ok(ask) } else { Err(BulkError::OtherKey { id }) }
    }

    /// Returns the key whose meter it is for.
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// Returns the cache's request.
    pub const fn request(&self) -> &MeterRequest {
        match &self.message {
            HolderMessage::Ask(request) | HolderMessage::Read(request) => request,
        }
    }

    /// Returns the message to the meter before KV was read for the record. A meter without the record
    /// refuses it as invalid.
    pub fn unread(&self) -> Message {
        self.with(|request| MeterRequest { unread: true, ..request })
    }

    /// Returns the message with what KV holds, to which the meter responds whatever that is.
    pub fn with_record(&self, record: Option<crate::key::KeyRecord>) -> Message {
        self.with(|request| MeterRequest { record, ..request })
    }

    fn with(&self, change: impl FnOnce(MeterRequest) -> MeterRequest) -> Message {
        match &self.message {
            HolderMessage::Ask(request) => Message::Ask(change(request.clone())),
            HolderMessage::Read(request) => Message::Read(change(request.clone())),
        }
    }
}

/// Returns the request without the record, and as one for which KV was read: the edge sees to that.
fn without_record(request: MeterRequest) -> MeterRequest {
    MeterRequest { record: None, unread: false, ..request }
}

impl BulkReplies {
    /// Returns the replies in the order of the asks.
    pub const fn new(replies: Vec<BulkReply>) -> Self {
        Self { replies }
    }

    /// Parses the response to a request of `asks` asks.
    ///
    /// # Errors
    /// Returns an error if it has not one reply for each ask.
    pub fn from_json(text: &[u8], asks: usize) -> Result<Self, BulkError> {
        let read: Self = read(text)?;
        match read.replies.len() {
            // Replies belong to asks by their order alone. One too few, and each key after it gets
            // another's verdict.
            count if count == asks => Ok(read),
            count => Err(BulkError::Replies { count, expected: asks }),
        }
    }

    /// Returns the replies as they are sent.
    pub fn to_json(&self) -> String {
        write(self)
    }

    /// Returns the replies in the order of the asks.
    pub fn into_replies(self) -> Vec<BulkReply> {
        self.replies
    }
}

impl From<Reply> for BulkReply {
    /// Returns the reply as it leaves the edge: without the holders of records.
    fn from(reply: Reply) -> Self {
        Self::Reply(match reply {
            Reply::Ask(mut response) => {
                // The holder's name and address are of no use outside, and must not lie in the
                // memory of each proxy.
                response.record = response.record.map(|record| record.public());
                Reply::Ask(response)
            }
            Reply::Read(mut snapshot) => {
                snapshot.record = snapshot.record.map(|record| record.public());
                snapshot.response.record = snapshot.response.record.map(|record| record.public());
                Reply::Read(snapshot)
            }
            other @ (Reply::Change(_)
            | Reply::Stored
            | Reply::Attempt(_)
            | Reply::Issue(_)
            | Reply::Show(_)
            | Reply::Sessions(_)
            | Reply::SignedOut) => other,
        })
    }
}

impl From<BulkError> for Problem {
    fn from(error: BulkError) -> Self {
        Self::new(codes::BODY_MALFORMED, format!("the body {error}"))
    }
}

fn read<T: for<'de> Deserialize<'de>>(text: &[u8]) -> Result<T, BulkError> {
    if text.len() > BulkRequest::MAX_BYTES {
        return Err(BulkError::TooLong { length: text.len() });
    }
    let text = std::str::from_utf8(text).map_err(|_| BulkError::NotUtf8)?;
    Ok(json::from_str(text)?)
}

fn write(value: &impl Serialize) -> String {
    // Plain strings and numbers always serialize; an empty text would read as a fault.
    json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{ApiKey, KeyEnv, KeyHolder, KeyRecord, VerifiedKey};
    use crate::lease_cache::{LeaseCache, Step};
    use crate::meter::{Meter, Verdict};
    use crate::secret::MacKeys;
    use crate::tier::Tier;
    use crate::time::UnixMillis;
    use crate::tool::Tool;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn key(id: u8) -> VerifiedKey {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        ApiKey::mint(KeyEnv::Live, KeyId::new([id; 12]), Tier::Pro, NOW, [9; 16], &keys).1
    }

    fn request(id: u8) -> MeterRequest {
        match LeaseCache::new(u64::from(id)).call(&key(id), Tool::Qr, NOW) {
            Step::Ask(request, _) => request,
            Step::Decided(..) => unreachable!(),
        }
    }

    fn record(id: u8) -> KeyRecord {
        let holder = KeyHolder { email: "ada@example.com".to_owned(), name: "Ada".to_owned() };
        KeyRecord { version: 3, holder: Some(holder), ..KeyRecord::provisional(&key(id)) }
    }

    #[test]
    fn request_reads_back_as_itself() {
        let asks = vec![HolderAsk::ask(request(1)), HolderAsk::read(request(2))];
        let sent = BulkRequest::new(asks).unwrap();
        assert_eq!(BulkRequest::from_json(sent.to_json().as_bytes()), Ok(sent));
    }

    #[test]
    fn message_that_only_the_edge_sends_is_refused() {
        let id = key(1).id;
        for message in [Message::Show { record: None }, Message::Stored { version: 9 }] {
            let message = serde_json::to_string(&message).unwrap();
            let text = format!(r#"{{"asks":[{{"id":"{id}","message":{message}}}]}}"#);
            assert!(
                matches!(BulkRequest::from_json(text.as_bytes()), Err(BulkError::Malformed(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn ask_under_the_id_of_another_key_is_refused() {
        let text = BulkRequest::new(vec![HolderAsk::ask(request(1))]).unwrap().to_json();
        let [own, other] = [key(1).id, key(2).id].map(|id| format!(r#"[{{"id":"{id}""#));
        let text = text.replace(&own, &other);
        assert_eq!(BulkRequest::from_json(text.as_bytes()), Err(BulkError::OtherKey { id: key(2).id }));
    }

    #[test]
    fn request_without_asks_or_with_too_many_is_refused() {
        for count in [0, BulkRequest::MAX_ASKS + 1] {
            let asks = vec![HolderAsk::ask(request(1)); count];
            let text = serde_json::json!({ "asks": asks }).to_string();
            assert_eq!(BulkRequest::from_json(text.as_bytes()), Err(BulkError::Count { count }));
        }
        let most = vec![HolderAsk::ask(request(1)); BulkRequest::MAX_ASKS];
        assert_eq!(BulkRequest::new(most.clone()).unwrap().asks(), most);
        let length = BulkRequest::MAX_BYTES + 1;
        assert_eq!(BulkRequest::from_json(&vec![b' '; length]), Err(BulkError::TooLong { length }));
        assert_eq!(BulkRequest::from_json(&[0xff]), Err(BulkError::NotUtf8));
    }

    /// A record that a holder outside has is without its owner, whom a meter that takes it would forget.
    #[test]
    fn record_of_a_holder_outside_never_reaches_the_meter() {
        let claimed = MeterRequest { record: Some(record(1)), unread: true, ..request(1) };
        let ask = HolderAsk::ask(claimed);
        assert_eq!((ask.request().record.as_ref(), ask.request().unread), (None, false));
        let Message::Ask(first) = ask.unread() else { unreachable!() };
        assert_eq!((first.record, first.unread), (None, true));
        let Message::Ask(again) = ask.with_record(Some(record(1))) else { unreachable!() };
        assert_eq!((again.record, again.unread), (Some(record(1)), false));
    }

    #[test]
    fn reply_brings_the_record_without_its_holder() {
        let mut meter = Meter::default();
        for ask in [HolderAsk::ask(request(1)), HolderAsk::read(request(1))] {
            let reply = meter.handle(ask.with_record(Some(record(1))), NOW);
            let BulkReply::Reply(reply) = reply.into() else { unreachable!() };
            let text = serde_json::to_string(&reply).unwrap();
            assert!(!text.contains("ada@example.com"), "{text}");
            let (Reply::Ask(response) | Reply::Read(crate::meter::MeterSnapshot { response, .. })) = reply
            else {
                unreachable!()
            };
            assert_eq!(response.record, Some(record(1).public()));
        }
    }

    #[test]
    fn replies_keep_their_order_and_are_one_for_each_ask() {
        let mut meter = Meter::default();
        let replies = [HolderAsk::ask(request(1)), HolderAsk::read(request(2))]
            .map(|ask| BulkReply::from(meter.handle(ask.with_record(None), NOW)));
        let [first, second] = replies;
        let replies = BulkReplies::new(vec![first, BulkReply::Error(MeterFailure::Unavailable), second]);
        let text = replies.to_json();
        let read = BulkReplies::from_json(text.as_bytes(), 3).unwrap();
        assert_eq!(read, replies);
        let [BulkReply::Reply(Reply::Ask(first)), BulkReply::Error(_), BulkReply::Reply(Reply::Read(_))] =
            &read.into_replies()[..]
        else {
            panic!("{text}");
        };
        assert_eq!(first.verdict, Verdict::Allow);
        let error = BulkReplies::from_json(text.as_bytes(), 2).unwrap_err();
        assert_eq!(error, BulkError::Replies { count: 3, expected: 2 });
    }
}
