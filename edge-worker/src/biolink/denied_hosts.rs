//! The operator's deny list of hosts, as this isolate knows it. The list is in KV. A copy is used for
//! at most [`MEMORY_MS`] beside the time for which KV itself may respond from a copy, so that a
//! change applies everywhere within 60 seconds.
//!
//! **If KV fails**, the copy stays in use, however old. An isolate without a copy denies nothing:
//! links of every page would stop otherwise, because of a list that is nearly always right about
//! none of them. KV is asked again after [`RETRY_MS`].

use std::cell::RefCell;
use std::rc::Rc;

use biolink::pages_api::{DeniedHosts, account_unavailable};
use shared::problem::Problem;
use shared::time::UnixMillis;

use crate::biolink::page_store;
use crate::context::RequestContext;
use crate::runtime::kv::{KvError, KvStore, within};
use crate::runtime::{clock, log};

/// Time for which the copy is used, in milliseconds.
const MEMORY_MS: u64 = 30_000;
/// Time until KV is asked again after it failed, in milliseconds.
const RETRY_MS: u64 = 5_000;
/// Time for which a location's KV may respond from its copy, in seconds. KV takes no less.
const CACHE_S: u32 = 30;
/// Timeout of a write, in milliseconds.
const WRITE_TIMEOUT_MS: u64 = 5_000;

thread_local! {
    static COPY: RefCell<Option<Copy>> = const { RefCell::new(None) };
}

#[derive(Clone)]
struct Copy {
    hosts: Rc<DeniedHosts>,
    until: UnixMillis,
}

/// Returns the list.
pub(crate) async fn load(store: &KvStore) -> Rc<DeniedHosts> {
    let known = COPY.with_borrow(Clone::clone);
    if let Some(copy) = known.as_ref().filter(|copy| clock::now() < copy.until) {
        return Rc::clone(&copy.hosts);
    }
    match page_store::read(store, DeniedHosts::KEY, CACHE_S).await {
        Ok(text) => keep(Rc::new(DeniedHosts::from_text(&text.unwrap_or_default())), MEMORY_MS),
        Err(error) => {
            log::error(log::Event("deny list read failed"), None, &[("error", &error)]);
            // For the short time: the copy of a healthy KV would hide its recovery for half a
            // minute.
            keep(known.map(|copy| copy.hosts).unwrap_or_default(), RETRY_MS)
        }
    }
}

/// Returns the list as KV has it, for the operator.
///
/// # Errors
/// `pages-unavailable`.
pub(crate) async fn read(context: &RequestContext<'_>) -> Result<DeniedHosts, Problem> {
    let read = page_store::read(&context.biolink()?.pages, DeniedHosts::KEY, CACHE_S).await;
    let text = read.map_err(|error| failed(log::Event("deny list read failed"), &error, context))?;
    Ok(DeniedHosts::from_text(&text.unwrap_or_default()))
}

/// Stores a new list. It applies in this isolate immediately.
///
/// # Errors
/// `pages-unavailable`. KV may have the list even so.
pub(crate) async fn replace(
    context: &RequestContext<'_>,
    hosts: DeniedHosts,
) -> Result<Rc<DeniedHosts>, Problem> {
    let pages = &context.biolink()?.pages;
    let text = hosts.to_text();
    let put = within(WRITE_TIMEOUT_MS, pages.put(DeniedHosts::KEY, &text, None)).await;
    put.map_err(|error| failed(log::Event("deny list write failed"), &error, context))?;
    Ok(keep(Rc::new(hosts), MEMORY_MS))
}

fn keep(hosts: Rc<DeniedHosts>, ms: u64) -> Rc<DeniedHosts> {
    let copy = Copy { hosts: Rc::clone(&hosts), until: clock::now().plus(ms) };
    COPY.with_borrow_mut(|place| *place = Some(copy));
    hosts
}

fn failed(event: log::Event, error: &KvError, context: &RequestContext<'_>) -> Problem {
    log::error(event, Some(context.request.id), &[("error", error)]);
    account_unavailable()
}
