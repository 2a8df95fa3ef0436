//! The media types of bodies, checked before a call is counted.
//!
//! Why: docs/decisions/edge.md, "A body of another type is refused before its call is counted".

use std::cell::RefCell;

use shared::problem::Problem;
use shared::route::{CallMethod, ToolCall};
use shared::status::{AcceptedTypes, AcceptedTypesCache};

use crate::context::RequestContext;
use crate::gateway::origin;
use crate::runtime::clock;

thread_local! {
    static CACHE: RefCell<AcceptedTypesCache> = const { RefCell::new(AcceptedTypesCache::new()) };
}

/// Checks the type of a call's body, which a GET has none of. Every tool takes JSON. Origins are asked about any other type, and if none
/// tells, the one that gets the call decides.
///
/// # Errors
/// `media-type-unsupported` if the tool does not take it, `header-malformed` for the body of a GET.
pub(crate) async fn check(context: &RequestContext<'_>, call: &ToolCall<'_>) -> Result<(), Problem> {
    if call.method == CallMethod::Get {
        return context.head.check_get();
    }
    if context.head.check_media_type(&[]).is_ok() {
        return Ok(());
    }
    let now = clock::now();
    if CACHE.with_borrow(|cache| cache.get(now).is_none()) {
        let told = origin::accepted_types(context).await;
        // Also that nobody told. Each such call would otherwise ask every origin.
        CACHE.with_borrow_mut(|cache| cache.store(told, clock::now()));
    }
    CACHE.with_borrow(|cache| match cache.get(clock::now()).flatten() {
        Some(told) => context.head.check_media_type(AcceptedTypes::of(told, call.tool)),
        None => Ok(()),
    })
}
