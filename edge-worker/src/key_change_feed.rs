//! The feed of key changes, as those see it who tell it of a change, and those who read it. One object keeps it.
//!
//! No call of a tool ever waits for it: the meters tell it from their alarms, and only a key that begins with limits
//! or an end of its own waits for it, while it is issued.

use shared::{
    key::KeyRecord,
    keys_api::{ChangesMessage, ChangesRequest},
    problem::{Code, Problem},
};
use worker::ObjectNamespace;

use crate::{context::RequestContext, durable_rpc, incoming::Incoming, log, promise};

/// The name of the only object.
const NAME: &str = "all";
/// How long the object may take, in milliseconds.
const WITHIN_MS: u64 = 2_000;

/// Tells the feed of a record. To tell it twice, or late, does no harm.
///
/// # Errors
/// As the runtime says, or when there is no answer in time. The record may have been taken even so.
pub(crate) async fn note(feed: &ObjectNamespace, record: &KeyRecord) -> worker::Result<()> {
    ask(feed, &ChangesMessage::note(record)).await.map(drop)
}

/// Tells the feed of a key that is about to be issued.
///
/// # Errors
/// `key-store-unavailable`: the key must not be issued then, as some origins would not see what is special about it.
pub(crate) async fn note_issued(context: &RequestContext<'_>, record: &KeyRecord) -> Result<(), Problem> {
    let noted = note(&context.bindings.key_changes, record).await;
    noted.map_err(|fault| unavailable("noting an issued key", fault, context.incoming))
}

/// A page, as JSON.
///
/// # Errors
/// `key-store-unavailable`.
pub(crate) async fn read(context: &RequestContext<'_>, asked: ChangesRequest) -> Result<String, Problem> {
    let page = ask(&context.bindings.key_changes, &ChangesMessage::Read(asked)).await;
    page.map_err(|fault| unavailable("reading key changes", fault, context.incoming))
}

async fn ask(feed: &ObjectNamespace, message: &ChangesMessage) -> worker::Result<String> {
    let message = serde_json::to_string(message)?;
    match promise::within(WITHIN_MS, durable_rpc::ask(feed, NAME, &message)).await {
        Some(answer) => answer,
        None => Err(format!("no answer within {WITHIN_MS} ms").into()),
    }
}

fn unavailable(what: &str, fault: worker::Error, incoming: &Incoming) -> Problem {
    log::cause(what, Some(incoming), fault);
    Problem::new(Code::KeyStoreUnavailable, "the feed of key changes does not answer; nothing was changed")
        .retry_after(1)
}
