//! The events of visits. No visitor waits for any of it.
//!
//! **If the salt cannot be had**, events count without a visitor.
//!
//! # A visit, from the page to the report
//!
//! Paths are relative to `src/`, or begin with the name of another crate.
//!
//! 1. A visitor opens a page, a link or a code. `biolink/handlers/visit.rs` finds the snapshot, and
//!    `biolink/src/pages_api/visit.rs`, `respond`, returns the response and the `Occurrence`: what it
//!    counts as.
//! 2. `biolink/events.rs`, `record`, makes the event (`biolink/src/events/observe.rs`): why it does not
//!    count, or source, device and country (`biolink/src/visitor.rs`). The response waits for none of what
//!    follows.
//! 3. The visitor's number needs the salt of the day. The isolate knows it, or asks the
//!    object (`biolink/durable/salt.rs`) in the background. A visitor with too many events is ignored
//!    (`biolink/src/events/flood.rs`).
//! 4. The event goes into the isolate's buffer (`biolink/src/events/buffer.rs`). A second later it is sent
//!    with those that came meanwhile, as a numbered batch.
//! 5. `biolink/event_delivery.rs` gives the batch to the Stats objects of its pages
//!    (`biolink/stats_client.rs`, `append`). What they do not take goes to the queue, and after a failure
//!    everything does for a minute (`biolink/src/events/store_breaker.rs`). What the queue does not take is
//!    kept.
//! 6. `biolink/event_queue.rs` consumes the queue. It groups batches by page
//!    (`biolink/src/events/batch.rs`, `deliveries`) and gives each page's to its Stats object. A message
//!    that a store did not take comes again.
//! 7. `biolink/durable/stats.rs` adds what is new to the last row of the day
//!    (`biolink/src/stats/addition.rs`). The batches that a row has are stored with it
//!    (`biolink/src/events/received.rs`), so each counts once. An alarm drops what is older than the plan's
//!    window.
//! 8. `biolink/handlers/analytics.rs` serves `GET /analytics`. The account admits the call and names its
//!    pages. `biolink/src/analytics/request.rs` parses the query, the store of each page reads the columns
//!    that it needs and counts them (`biolink/src/analytics/page_counter.rs`), and
//!    `biolink/src/analytics/report.rs` adds the pages up.

use std::cell::{Cell, RefCell};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use biolink::events::{Event, Flood, Occurrence, Request, observe};
use biolink::policy::{EVENTS_PER_MINUTE, NETWORK_EVENTS_PER_MINUTE};
use biolink::stats::SaltRequest;
use biolink::visitor::{VisitorId, network_of};
use shared::json;
use shared::problem::Problem;
use shared::time::UtcDay;
use wasm_bindgen::JsValue;
use worker::ObjectNamespace;
use worker::js_sys::Reflect;

use crate::bindings::BiolinkBindings;
use crate::biolink::event_delivery::{EventSinks, push};
use crate::context::RequestContext;
use crate::runtime::client_request::CLIENT_ADDRESS;
use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::{log, task};

thread_local! {
    static FLOOD: RefCell<Flood> = const { RefCell::new(Flood::new(EVENTS_PER_MINUTE)) };
    static NETWORKS: RefCell<Flood> = const { RefCell::new(Flood::new(NETWORK_EVENTS_PER_MINUTE)) };
}

/// The visitor of an event until the number is known. It is in memory only.
struct Visitor {
    address: String,
    user_agent: Option<String>,
}

impl Visitor {
    fn read(context: &RequestContext<'_>) -> Self {
        Self {
            address: context.request.header(CLIENT_ADDRESS).unwrap_or_default().to_owned(),
            user_agent: context.request.header("user-agent").map(str::to_owned),
        }
    }

    /// Returns the event with the visitor's number. It does not count if the visitor sends too many.
    fn add_to(&self, event: Event, occurrence: &Occurrence, salt: &[u8; 32]) -> Event {
        let id = VisitorId::of(salt, &occurrence.page, &self.address, self.user_agent.as_deref());
        match FLOOD.with_borrow_mut(|flood| flood.record(id.0, event.kind, event.at)) {
            true => occurrence.ignored(event.at, "flood"),
            false => event.with_visitor(id.0),
        }
    }
}

/// Counts what a visitor did.
///
/// # Errors
/// `not-configured`.
pub(crate) fn record(
    context: &RequestContext<'_>,
    occurrence: Occurrence,
    query: Option<&str>,
    country: Option<&str>,
) -> Result<(), Problem> {
    let biolink = context.biolink()?;
    let own_host = context.address.host();
    let request = Request {
        method: &context.request.method,
        header: |name: &str| context.request.header(name),
        query,
        own_host: Some(own_host),
        country,
        at: context.request.now,
    };
    let (event, is_numbered) = observe(&occurrence, &request);
    // Before the visitor is known: a new user agent for each request would make a new visitor of
    // each.
    if event.is_counted() && is_from_flooding_network(context, &occurrence, &event) {
        add(context, biolink, &occurrence, &occurrence.ignored(event.at, "flood"));
        return Ok(());
    }
    if !is_numbered {
        add(context, biolink, &occurrence, &event);
        return Ok(());
    }
    let visitor = Visitor::read(context);
    let day = event.at.day();
    if let Some(salt) = known_salt(day) {
        add(context, biolink, &occurrence, &visitor.add_to(event, &occurrence, &salt));
        return Ok(());
    }
    let (salts, id) = (biolink.salt.clone(), context.request.id);
    let sinks = EventSinks::of(biolink);
    // The visitor does not wait for the salt. Otherwise the runtime would drop it with
    // the response.
    task::in_background(context.execution, async move {
        let event = match fetch_salt(&salts, day).await {
            Ok(salt) => visitor.add_to(event, &occurrence, &salt),
            Err(error) => {
                log::error(log::Event("visitor salt unavailable"), Some(id), &[("error", &error)]);
                event
            }
        };
        if let Some(flush) = push(&occurrence, &event) {
            sinks.deliver(flush).await;
        }
    });
    Ok(())
}

/// Records the event for the client's network, whatever its user agent is. Returns true if the network has
/// sent too many. Without the platform's header, as in development, there is no limit.
fn is_from_flooding_network(context: &RequestContext<'_>, occurrence: &Occurrence, event: &Event) -> bool {
    let address = context.request.header(CLIENT_ADDRESS);
    let network = address.and_then(|address| network_of(&occurrence.page, address));
    network
        .is_some_and(|network| NETWORKS.with_borrow_mut(|flood| flood.record(network, event.kind, event.at)))
}

fn add(context: &RequestContext<'_>, biolink: &BiolinkBindings, occurrence: &Occurrence, event: &Event) {
    if let Some(flush) = push(occurrence, event) {
        let sinks = EventSinks::of(biolink);
        task::in_background(context.execution, async move { sinks.deliver(flush).await });
    }
}

/// Returns the country that the platform has found. A header may be the client's own.
pub(crate) fn country(context: &RequestContext<'_>) -> Option<String> {
    let get = |object: &JsValue, name: &str| Reflect::get(object, &name.into()).ok();
    let found = get(&context.request.raw, "cf").filter(JsValue::is_object);
    found.and_then(|cf| get(&cf, "country")).and_then(|country| country.as_string())
}

/// The name of the only object of the salt.
const SALT_NAME: &str = "all";
/// Timeout of a request for the salt, in milliseconds. No visitor waits for it.
const SALT_TIMEOUT_MS: u64 = 2_000;

thread_local! {
    static KNOWN_SALT: Cell<Option<(UtcDay, [u8; 32])>> = const { Cell::new(None) };
}

/// Returns the salt of a day if this isolate knows it.
fn known_salt(day: UtcDay) -> Option<[u8; 32]> {
    KNOWN_SALT.get().filter(|(of, _)| *of == day).map(|(_, salt)| salt)
}

/// Asks for the salt of a day.
///
/// # Errors
/// If the object fails or does not respond in time.
async fn fetch_salt(salts: &ObjectNamespace, day: UtcDay) -> Result<[u8; 32], RpcError> {
    let message = json::to_string(&SaltRequest { day })?;
    let reply = durable_rpc::timeout(SALT_TIMEOUT_MS, durable_rpc::call(salts, SALT_NAME, &message)).await?;
    let bytes = STANDARD.decode(reply).ok().and_then(|bytes| bytes.try_into().ok());
    let salt = bytes.ok_or(RpcError::UnexpectedReply)?;
    KNOWN_SALT.set(Some((day, salt)));
    Ok(salt)
}
