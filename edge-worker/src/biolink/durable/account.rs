//! The object of one account: the source of truth of its pages. It loads what a call needs, steps
//! the account, and stores both before the reply leaves.
//!
//! Its outbox has what must be written elsewhere: slugs, and the published snapshots in KV. An alarm
//! writes it immediately, and retries until that succeeds. Such a failure never fails a call that was
//! decided.

mod tasks;

use std::future::ready;
use std::rc::Rc;

use biolink::page::{IdSource, ImageId, PageId, Slug};
use biolink::pages_api::{
    Account as State, AccountMessage, Call, Claim, ClaimOutcome, Content, Decision, DeniedHosts, Loaded,
    SlugMessage, SlugReply, Step, StoredReply, Write, suggestions,
};
use biolink::webhooks::Subscriptions;
use shared::json;
use shared::key::KeyId;
use shared::request_id::RequestId;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, SqlStorageValue, State as ObjectState,
    durable_object, wasm_bindgen,
};

use crate::bindings;
use crate::biolink::pages_client::slug_call;
use crate::biolink::{denied_hosts, domains};
use crate::runtime::durable_rpc::RpcError;
use crate::runtime::message::parse;
use crate::runtime::sql::{integer, number, rows, text};
use crate::runtime::stored::{Rows, Store, Stored, row};
use crate::runtime::task::boxed;
use crate::runtime::{alarm, clock, log};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS state (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS revision
        (page TEXT NOT NULL, number INTEGER NOT NULL, j TEXT NOT NULL, PRIMARY KEY (page, number)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS reply (name TEXT PRIMARY KEY, at INTEGER NOT NULL, j TEXT NOT NULL) WITHOUT ROWID";
const REVISION: &str = "SELECT j FROM revision WHERE page = ? AND number = ?";
const PUT_REVISION: &str = "INSERT OR REPLACE INTO revision (page, number, j) VALUES (?, ?, ?)";
const NUMBERS: &str = "SELECT number FROM revision WHERE page = ?";
const DROP_REVISION: &str = "DELETE FROM revision WHERE page = ? AND number = ?";
const REPLY: &str = "SELECT j FROM reply WHERE name = ?";
const PUT_REPLY: &str = "INSERT OR REPLACE INTO reply (name, at, j) VALUES (?, ?, ?)";
const DROP_REPLIES: &str = "DELETE FROM reply WHERE at < ?";
const ERASE: &str = "DELETE FROM revision; DELETE FROM reply";

/// The key of the state. The column makes a number of it.
const KEY: &str = "1";
/// Suggestions for a slug that is taken.
const MAX_SUGGESTIONS: usize = 3;

/// The object of one account. The runtime holds each reply back until the writes before it are
/// durable.
#[durable_object(alarm)]
pub struct Account {
    object: ObjectState,
    env: Env,
    sql: SqlStorage,
    state: Stored<State>,
}

// An unreadable state is an error, because a new one would lose every page.
impl Store for State {
    const TABLE: &'static str = "state";

    fn create(sql: &SqlStorage) -> Result<()> {
        sql.exec(CREATE, None).map(drop)
    }

    fn load(rows: &Rows<'_>) -> Result<Self> {
        rows.value(KEY)
    }

    fn texts(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![row(KEY, self)?])
    }
}

impl DurableObject for Account {
    fn new(object: ObjectState, env: Env) -> Self {
        let sql = object.storage().sql();
        Self { state: Stored::new(object.storage().sql()), object, env, sql }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let text = request.text().await?;
        let message = parse(&text)?;
        // Replies have one type: the future of a call would make what handles any message as large.
        let handled = match message {
            AccountMessage::Call(call) => boxed(self.call(call)),
            AccountMessage::ImageStored(image) => boxed(self.image_stored(image)),
            AccountMessage::Subscribe { account, subscriptions } => {
                boxed(self.subscribe(account, subscriptions))
            }
            AccountMessage::Serve { account, slug } => boxed(ready(self.serve(account, &slug))),
            AccountMessage::Suspended => {
                let suspended = self.state.read(|state| Ok(state.suspended_pages().as_str().to_owned()));
                boxed(ready(suspended))
            }
            AccountMessage::ServeDomain { account, host } => {
                let domain =
                    self.state.read(|state| Ok(json::to_string(&state.domain_snapshot(account, &host))?));
                boxed(ready(domain))
            }
            AccountMessage::Names => boxed(ready(self.names())),
            AccountMessage::Card { page, base } => boxed(ready(self.card(&page, &base))),
            AccountMessage::Export { after, base } => boxed(ready(self.export(after, &base))),
        };
        match handled.await {
            Ok(reply) => Response::ok(reply),
            Err(error) => {
                log::error(log::Event("account step failed"), None, &[("error", &error)]);
                Err(error)
            }
        }
    }

    /// Never returns an error: the platform gives up on an alarm that fails, and the tasks would
    /// stay.
    async fn alarm(&self) -> Result<Response> {
        // The alarm has fired and is gone. With the old moment in memory, `arm` would take it for
        // set.
        if let Err(error) = self.deliver().await {
            log::error(log::Event("account outbox failed"), None, &[("error", &error)]);
        }
        // Even if the delivery failed: its tasks are in the state, and nothing else would wake the
        // object.
        if let Err(error) = self.arm().await {
            log::error(log::Event("account alarm failed"), None, &[("error", &error)]);
        }
        Response::empty()
    }
}

impl Account {
    /// Handles a call. Returns the decision as JSON.
    async fn call(&self, mut call: Call) -> Result<String> {
        // Before the step, which may not wait. Only content has links to check.
        let denied = match call.operation.has_content() {
            true => denied_hosts::load(&bindings::pages(&self.env)?).await,
            false => Rc::default(),
        };
        loop {
            let step = self.step(&call, &denied)?;
            // Before the reply: after it, the object may be evicted with tasks that no alarm would
            // do.
            self.arm().await?;
            let decision = |decision| Ok(json::to_string(&decision)?);
            let (slug, message) = match step {
                Step::Reply(reply, _) => return decision(Decision::Reply(reply)),
                Step::Admit(admission) => return decision(Decision::Admit(admission)),
                Step::Check(check) => {
                    // The step runs again with the proof: during the wait, other calls may have
                    // changed the account.
                    call.proof = Some(domains::check(&self.env, call.account, &check).await);
                    continue;
                }
                Step::Claim { slug, message } => (slug, message),
            };
            let outcome = self.claim(&call, &slug, message).await.unwrap_or_else(|error| {
                let id = RequestId(call.request_id);
                log::error(log::Event("slug claim failed"), Some(id), &[("error", &error)]);
                // Not `Taken`: the slug may have been granted and only the reply lost. The account
                // cancels the claim.
                ClaimOutcome::Unknown
            });
            call.claim = Some(Claim { slug, outcome });
        }
    }

    /// Handles one step of a call without waiting, so that no other call sees the state in between.
    fn step(&self, call: &Call, denied: &DeniedHosts) -> Result<Step> {
        self.state.change(|state| {
            let needs = state.needs(call);
            let content = |at: Option<(PageId, u64)>| match at {
                Some((page, number)) => self.content(page, number),
                None => Ok(None),
            };
            // All reads before the step, which thus decides on one state.
            let loaded = Loaded {
                content: content(needs.content)?,
                other: content(needs.other)?,
                live: content(needs.live)?,
                reply: needs.reply.map(|name| self.reply(&name)).transpose()?.flatten(),
            };
            let step = state.step(call, loaded, denied, clock::now());
            if let Step::Reply(_, writes) = &step {
                writes.iter().try_for_each(|write| self.write(write))?;
            }
            Ok(step)
        })
    }

    /// Returns the published snapshot of a slug as JSON, or `null`.
    fn serve(&self, account: KeyId, slug: &Slug) -> Result<String> {
        self.state.read(|state| {
            if !state.knows(slug) {
                return Ok("null".to_owned());
            }
            let snapshot = state.snapshot(account, slug, |page, number| self.content(page, number))?;
            Ok(json::to_string(&snapshot)?)
        })
    }

    /// Returns what the pages, their links and their products are called, as JSON.
    fn names(&self) -> Result<String> {
        self.state.read(|state| {
            let labels = state.labels(|page, number| self.content(page, number))?;
            Ok(json::to_string(&labels)?)
        })
    }

    /// Takes in that the file of an image is stored. Returns `false` if it was deleted meanwhile.
    async fn image_stored(&self, image: ImageId) -> Result<String> {
        let stored = self.state.change(|state| Ok(state.image_stored(&image, clock::now())))?;
        self.arm().await?;
        Ok(stored.to_string())
    }

    /// Takes in what the webhooks want. The stores of pages are notified immediately.
    async fn subscribe(&self, account: KeyId, subscriptions: Subscriptions) -> Result<String> {
        self.state.change(|state| {
            state.subscribe(account, subscriptions, clock::now());
            Ok(())
        })?;
        self.arm().await?;
        Ok("true".to_owned())
    }

    /// Returns what a page and its parts are called, as JSON, or `null`.
    fn card(&self, page: &PageId, base: &str) -> Result<String> {
        self.state.read(|state| {
            let card = state.card(page, base, |page, number| self.content(page, number))?;
            Ok(json::to_string(&card)?)
        })
    }

    /// Returns a part of the export as JSON, or `null`.
    fn export(&self, after: Option<PageId>, base: &str) -> Result<String> {
        self.state.read(|state| {
            let part = state.export(after, base, |page, number| self.content(page, number))?;
            Ok(json::to_string(&part)?)
        })
    }

    async fn claim(&self, call: &Call, slug: &Slug, message: SlugMessage) -> Result<ClaimOutcome, RpcError> {
        let slugs = bindings::slugs(&self.env)?;
        match slug_call(&slugs, slug, message).await? {
            SlugReply::Granted => return Ok(ClaimOutcome::Granted),
            SlugReply::Taken => {}
            SlugReply::Noted | SlugReply::Owner(_) => return Err(RpcError::UnexpectedReply),
        }
        let mut free = Vec::new();
        for other in suggestions(slug, &mut IdSource::new(call.seed)) {
            let peek = SlugMessage::Peek { account: call.account };
            // A suggestion that cannot be checked is none.
            if matches!(slug_call(&slugs, &other, peek).await, Ok(SlugReply::Granted)) {
                free.push(other);
            }
            if free.len() == MAX_SUGGESTIONS {
                break;
            }
        }
        Ok(ClaimOutcome::Taken(free))
    }

    /// Sets the alarm for the next task.
    async fn arm(&self) -> Result<()> {
        // Each set alarm is a write. A later task waits for the alarm of the earlier one, which
        // arms again.
        // On an error the place stays empty, so that the next message reads what was stored. The
        // change may have stopped halfway.
        match self.state.read(|state| Ok(state.next_due()))? {
            Some(next) => alarm::ensure(&self.object, next).await,
            None => Ok(()),
        }
    }

    fn content(&self, page: PageId, number: u64) -> Result<Option<Content>> {
        let key = vec![page.to_string().into(), integer(number)?];
        let found = rows(&self.sql, REVISION, key, text)?;
        found.first().map(|stored| parse(stored)).transpose()
    }

    fn reply(&self, name: &str) -> Result<Option<StoredReply>> {
        let found = rows(&self.sql, REPLY, vec![name.into()], text)?;
        found.first().map(|stored| parse(stored)).transpose()
    }

    fn write(&self, write: &Write) -> Result<()> {
        match write {
            Write::PutRevision(page, number, content) => {
                let content = json::to_string(content)?;
                let row = vec![page.to_string().into(), integer(*number)?, content.into()];
                self.sql.exec(PUT_REVISION, row).map(drop)
            }
            Write::Erase => self.sql.exec(ERASE, None).map(drop),
            Write::KeepRevisions(page, kept) => {
                let page = || SqlStorageValue::from(page.to_string());
                let stored = rows(&self.sql, NUMBERS, vec![page()], |row| row.first().and_then(number))?;
                let mut dropped = stored.into_iter().filter(|number| !kept.contains(number));
                dropped.try_for_each(|number| {
                    self.sql.exec(DROP_REVISION, vec![page(), integer(number)?]).map(drop)
                })
            }
            Write::PutReply { name, stored, drop_before } => {
                self.sql.exec(DROP_REPLIES, vec![integer(drop_before.0)?])?;
                let row =
                    vec![name.as_str().into(), integer(stored.at().0)?, json::to_string(stored)?.into()];
                self.sql.exec(PUT_REPLY, row).map(drop)
            }
        }
    }
}
