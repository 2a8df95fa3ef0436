//! The suspended pages that this isolate knows. A visitor who follows a link is not led on
//! from a page that the operator has suspended, although KV may show the page for another minute.
//!
//! The account is asked, at most once in [`MEMORY_MS`] for each isolate, so that no flood of visits
//! reaches it. **If it does not respond**, what is known stays, and links of an account of which
//! nothing is known lead on: KV decides alone, within 60 seconds.

use std::cell::RefCell;

use biolink::page::PageId;
use biolink::pages_api::SuspendedPages;
use shared::key::KeyId;
use shared::problem::Problem;
use shared::sorted_map::SortedMap;
use shared::time::UnixMillis;

use crate::biolink::pages_client;
use crate::context::RequestContext;
use crate::runtime::{clock, log};

/// Time for which a reply is used, in milliseconds.
const MEMORY_MS: u64 = 1_000;
/// Most accounts in memory.
const MAX_ACCOUNTS: usize = 1_024;

thread_local! {
    static KNOWN: RefCell<SortedMap<KeyId, (UnixMillis, SuspendedPages)>> = const { RefCell::new(SortedMap::new()) };
}

/// Returns true if the page is suspended.
///
/// # Errors
/// `not-configured`.
pub(crate) async fn contain(
    context: &RequestContext<'_>,
    account: KeyId,
    page: &PageId,
) -> Result<bool, Problem> {
    let known = KNOWN.with_borrow(|known| known.get(&account).cloned());
    if let Some((until, pages)) = &known
        && clock::now() < *until
    {
        return Ok(pages.contains(page));
    }
    let pages = match pages_client::suspended(&context.biolink()?.accounts, account).await {
        Ok(pages) => pages,
        Err(error) => {
            log::error(
                log::Event("suspension lookup failed"),
                Some(context.request.id),
                &[("error", &error)],
            );
            // An account that hangs must not stop the links of its pages, each of which would wait
            // here.
            known.map(|(_, pages)| pages).unwrap_or_default()
        }
    };
    let is_suspended = pages.contains(page);
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MAX_ACCOUNTS && !known.contains_key(&account) {
            // All at once: what is forgotten costs one question, and no order has to be kept for
            // it.
            known.clear();
        }
        // A failure is remembered too. Otherwise each visitor would wait for the timeout.
        known.insert(account, (clock::now().plus(MEMORY_MS), pages));
    });
    Ok(is_suspended)
}

/// Forgets what is known of an account that has just been changed here.
pub(crate) fn forget(account: &KeyId) {
    KNOWN.with_borrow_mut(|known| known.remove(account));
}
