//! The REST API of bio-link pages: what an account does with a call, and how a slug is claimed.
//!
//! Each [`Account`] is a state machine that one object at the edge keeps and steps. Each
//! [`SlugState`] is another, because slugs are unique over all accounts. The shells load and store
//! what these name, and carry messages between them.

mod account;
mod admission;
mod calls;
mod denied_hosts;
mod describe;
mod edit;
mod list;
mod page;
mod precondition;
mod preview;
mod problems;
mod reply;
mod report_guard;
mod reports;
mod slug;
mod snapshot;
mod source_products;
mod suspension;
mod visit;

pub use account::{
    Account, AccountMessage, Call, Claim, ClaimOutcome, DomainInput, ImageFate, Loaded, Needs, Once,
    Operation, SourceCall, Step, StoredReply, Task, Write, check_no_query, host_owner,
};
pub use admission::{Admission, Decision};
pub use denied_hosts::DeniedHosts;
pub use edit::PageEdit;
pub use list::ListQuery;
pub use page::{Content, PageMeta, PageStatus};
pub use preview::preview;
pub(crate) use problems::idempotency_key_reused;
pub use problems::{
    account_unavailable, image_not_found, images_unavailable, page_gone, page_not_found, page_not_known,
    page_unknown, plan_required, push_limited, push_unknown, push_unsigned, refresh_too_early,
};
pub use reply::Reply;
pub use report_guard::{ReportGuard, ReportStep};
pub use reports::{
    FIRST_REPORTS, MAX_REPORT_BODY, MAX_REPORTS, REPORT_KEEP_MS, REPORT_WINDOW_MS, REPORTS_PER_NETWORK,
    REPORTS_PER_PAGE, REPORTS_PER_SENDER, ReportSender, ReportsMessage, ReportsQuery, report_part,
    reports_exceeded,
};
pub use slug::{Owner, SlugMessage, SlugReply, SlugState, suggestions};
pub use snapshot::{Served, Snapshot, SnapshotState};
pub use suspension::MAX_REASON;
pub use suspension::SuspendedPages;
pub use visit::{Opened, logo_of, respond};

/// The largest body of a call, in bytes.
pub const MAX_BODY: usize = 131_072;
