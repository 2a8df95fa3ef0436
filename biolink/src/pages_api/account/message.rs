//! Messages to an account's object.

use crate::codes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use shared::{
    json,
    key::{BiolinkPlan, KeyId, SecretId},
    problem::Problem,
    query::{self, parameters},
    secret::sha256,
    time::UnixMillis,
};

use crate::{
    analytics::{AnalyticsRequest, LiveRequest},
    domains::{HostName, Proof},
    page::{DomainId, ImageFile, ImageId, PageId, Slug, document::Locale},
    pages_api::{
        account::{DomainInput, SourceCall},
        edit::PageEdit,
        list::ListQuery,
        suspension::read_reason,
    },
    policy,
    route::{AdminEndpoint, PagesCall, PagesEndpoint, PagesTarget},
    webhooks::Subscriptions,
};

/// A message to an account's object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum AccountMessage {
    /// A call of the REST API or of the operator.
    Call(Call),
    /// A visitor wants to see what the account has at a slug.
    Serve {
        /// The account.
        account: KeyId,
        /// The slug.
        slug: Slug,
    },
    /// A visitor follows a link: which pages are suspended?
    Suspended,
    /// A report needs to know what the pages, their links and their products are called.
    Names,
    /// The webhooks want these events from now on.
    Subscribe {
        /// The account.
        account: KeyId,
        /// What each endpoint wants.
        subscriptions: Subscriptions,
    },
    /// The webhooks need to know what a page and its parts are called. The reply is a
    /// [`Card`](crate::webhooks::Card), or `null`.
    Card {
        /// The page.
        page: PageId,
        /// As [`Call::base`].
        base: String,
    },
    /// A visitor came to a domain, and KV fails: the reply is the [`DomainSnapshot`](crate::domains::DomainSnapshot)
    /// as JSON, or `null`.
    ServeDomain {
        /// The account.
        account: KeyId,
        /// The host.
        host: HostName,
    },
    /// The file of an image is stored now. The reply is `false` if it was deleted meanwhile.
    ImageStored(ImageId),
    /// The export continues after this page. The reply is the next one with its lines, or `null`.
    Export {
        /// The page before.
        after: Option<PageId>,
        /// As [`Call::base`].
        base: String,
    },
}

/// A call of the REST API by a key whose plan allows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The account.
    pub account: KeyId,
    /// The request's id, for problems.
    pub request_id: [u8; 16],
    /// The moment at which the request arrived.
    pub at: UnixMillis,
    /// Random bytes, from which ids are drawn.
    pub seed: [u8; 16],
    /// The address below which pages are shown, without a slash at its end.
    pub base: String,
    /// The language that whoever calls likes best, if the call says so.
    #[serde(default)]
    pub locale: Option<Locale>,
    /// The named secret of whoever calls; `None` for the key itself, a product source and an operator.
    #[serde(default)]
    pub secret: Option<SecretId>,
    /// What is wanted.
    pub operation: Operation,
    /// Whether it is only tried.
    #[serde(default)]
    pub dry_run: bool,
    /// `If-Match`.
    pub if_match: Option<String>,
    /// `Idempotency-Key`.
    pub once: Option<Once>,
    /// How the claim ended that an earlier step of this call wanted.
    pub claim: Option<Claim>,
    /// How the check of a domain ended that an earlier step wanted.
    #[serde(default)]
    pub proof: Option<Proof>,
}

/// What a call wants. Bodies are JSON objects as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `GET /pages`
    List(ListQuery),
    /// `POST /pages`
    Create(String),
    /// `GET /pages/{id}`
    Read(PageId),
    /// A change of a page.
    Edit(PageId, PageEdit),
    /// `DELETE /pages/{id}`
    Delete(PageId),
    /// `GET /pages/{id}/revisions`
    Revisions(PageId),
    /// `GET /pages/{id}/revisions/{n}`
    ReadRevision(PageId, u64),
    /// `GET /account`
    ReadAccount {
        /// The account's plan.
        plan: BiolinkPlan,
        /// Days over which analytics reach back.
        analytics_days: u32,
    },
    /// `GET /analytics` and `GET /analytics/live`: the pages. [`AccountMessage::Names`] says more.
    Analytics(Vec<PageId>),
    /// `POST /pages/{id}/analytics/reset`. The page's store does it.
    ResetAnalytics(PageId),
    /// A call of the webhooks API. The webhooks handle it.
    Webhooks,
    /// A call about the product sources of a page.
    Sources(PageId, SourceCall),
    /// `GET /images`
    ListImages,
    /// `POST /images`
    AddImage(ImageFile),
    /// `GET /images/{id}`
    ReadImage(ImageId),
    /// `DELETE /images/{id}`
    DeleteImage(ImageId),
    /// `GET /domains`
    ListDomains,
    /// `POST /domains`
    AddDomain(DomainInput),
    /// `GET /domains/{id}`
    ReadDomain(DomainId),
    /// `PATCH /domains/{id}`: the page that it shows.
    PatchDomain(DomainId, Option<PageId>),
    /// `DELETE /domains/{id}`
    DeleteDomain(DomainId),
    /// `POST /domains/{id}/verify`
    VerifyDomain(DomainId),
    /// `GET /account/export`: the account itself. [`AccountMessage::Export`] continues.
    Export,
    /// `DELETE /account/data`, with the text that confirms it.
    Erase(Option<String>),
    /// The operator reads a page, or the account.
    Inspect(Option<PageId>),
    /// The operator suspends a page, or the account; and why.
    Suspend(Option<PageId>, Option<String>),
    /// The operator takes a suspension back.
    Resume(Option<PageId>),
}

/// An `Idempotency-Key`, and what was sent under it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Once {
    /// The name under which the reply is kept.
    pub name: String,
    /// A digest of the request.
    pub fingerprint: String,
}

/// A claim that was made for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The slug.
    pub slug: Slug,
    /// How it ended.
    pub outcome: ClaimOutcome,
}

/// How a claim ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// The page may have it.
    Granted,
    /// It is another's. These can be had.
    Taken(Vec<Slug>),
    /// Nothing responded. The slug may have the claim, or get it later.
    Unknown,
}

impl Call {
    /// Returns the number of the call's claim, which no other call has.
    pub fn claim_number(&self) -> u64 {
        // 53 bits, which every JSON reader keeps.
        u64::from_be_bytes(self.seed.first_chunk().copied().unwrap_or_default()) >> 11
    }
}

impl Operation {
    /// Parses a call of the API: what it wants, and whether it is only tried (`?dry_run=true`).
    /// `body` is empty for an endpoint without one.
    ///
    /// # Errors
    /// Returns `body-malformed` if the body is not UTF-8, and `fields-invalid` for a query that the
    /// endpoint does not take.
    pub fn parse(
        call: &PagesCall,
        query: Option<&str>,
        body: Vec<u8>,
        plan: BiolinkPlan,
    ) -> Result<(Self, bool), Problem> {
        let WriteQuery { dry_run, confirmation, keep_products } = match call.endpoint {
            PagesEndpoint::List | PagesEndpoint::Analytics | PagesEndpoint::LiveAnalytics => {
                WriteQuery::default()
            }
            endpoint => read_query(query, endpoint)?,
        };
        let body = String::from_utf8(body)
            .map_err(|_| Problem::new(codes::BODY_MALFORMED, "the body is not UTF-8"))?;
        let operation = match (call.endpoint, call.target) {
            (PagesEndpoint::List, _) => Self::List(ListQuery::read(query)?),
            (PagesEndpoint::Create, _) => Self::Create(body),
            (PagesEndpoint::Account, _) => {
                Self::ReadAccount { plan, analytics_days: policy::analytics_days(plan) }
            }
            (PagesEndpoint::Analytics, _) => {
                Self::Analytics(AnalyticsRequest::parse(query)?.pages().to_vec())
            }
            (PagesEndpoint::LiveAnalytics, _) => Self::Analytics(LiveRequest::parse(query)?.pages().to_vec()),
            (PagesEndpoint::Export, _) => Self::Export,
            (PagesEndpoint::Erase, _) => Self::Erase(confirmation),
            (PagesEndpoint::ListDomains, _) => Self::ListDomains,
            (PagesEndpoint::CreateDomain, _) => Self::AddDomain(prepared(&body)?),
            (PagesEndpoint::PatchDomain, PagesTarget::Domain(id)) => {
                Self::PatchDomain(id, DomainInput::read_patch(&body)?)
            }
            (PagesEndpoint::DeleteDomain, PagesTarget::Domain(id)) => Self::DeleteDomain(id),
            (PagesEndpoint::VerifyDomain, PagesTarget::Domain(id)) => Self::VerifyDomain(id),
            (_, PagesTarget::Domain(id)) => Self::ReadDomain(id),
            (PagesEndpoint::ListImages, _) => Self::ListImages,
            (PagesEndpoint::UploadImage, _) => Self::AddImage(prepared(&body)?),
            (PagesEndpoint::DeleteImage, PagesTarget::Image(id)) => Self::DeleteImage(id),
            (_, PagesTarget::Image(id)) => Self::ReadImage(id),
            (PagesEndpoint::ListSources, PagesTarget::Page(page)) => Self::Sources(page, SourceCall::List),
            (PagesEndpoint::CreateSource, PagesTarget::Page(page)) => {
                Self::Sources(page, SourceCall::Create(prepared(&body)?))
            }
            (PagesEndpoint::PatchSource, PagesTarget::Source(page, id)) => {
                Self::Sources(page, SourceCall::Patch(id, prepared(&body)?))
            }
            (PagesEndpoint::DeleteSource, PagesTarget::Source(page, id)) => {
                Self::Sources(page, SourceCall::Delete { id, keep_products })
            }
            (_, PagesTarget::Source(page, id)) => Self::Sources(page, SourceCall::Read(id)),
            (endpoint, PagesTarget::Page(id)) => Self::of_page(endpoint, id, body),
            (PagesEndpoint::Restore, PagesTarget::Revision(id, number)) => {
                Self::Edit(id, PageEdit::Restore(number))
            }
            (_, PagesTarget::Revision(id, number)) => Self::ReadRevision(id, number),
            (PagesEndpoint::PatchLink, PagesTarget::Link(id, link)) => {
                Self::Edit(id, PageEdit::PatchLink(link, body))
            }
            (_, PagesTarget::Link(id, link)) => Self::Edit(id, PageEdit::DeleteLink(link)),
            (_, PagesTarget::Account) => {
                return Err(Problem::new(codes::INTERNAL, "the call names no page"));
            }
        };
        Ok((operation, dry_run))
    }

    /// Parses a call of the operator about a page, or about the account.
    ///
    /// # Errors
    /// Returns `body-malformed` or `fields-invalid`.
    pub fn administer(
        endpoint: AdminEndpoint,
        page: Option<PageId>,
        query: Option<&str>,
        body: &[u8],
    ) -> Result<Self, Problem> {
        check_no_query(query)?;
        Ok(match endpoint {
            AdminEndpoint::SuspendPage | AdminEndpoint::SuspendAccount => {
                Self::Suspend(page, read_reason(body)?)
            }
            AdminEndpoint::RestorePage | AdminEndpoint::RestoreAccount => Self::Resume(page),
            AdminEndpoint::ReadPage
            | AdminEndpoint::ReadAccount
            | AdminEndpoint::ReadDeniedHosts
            | AdminEndpoint::ReplaceDeniedHosts
            | AdminEndpoint::ListReports => Self::Inspect(page),
        })
    }

    fn of_page(endpoint: PagesEndpoint, id: PageId, body: String) -> Self {
        match endpoint {
            PagesEndpoint::Replace => Self::Edit(id, PageEdit::Replace(body)),
            PagesEndpoint::Patch => Self::Edit(id, PageEdit::Patch(body)),
            PagesEndpoint::AddLink => Self::Edit(id, PageEdit::AddLink(body)),
            PagesEndpoint::OrderLinks => Self::Edit(id, PageEdit::OrderLinks(body)),
            PagesEndpoint::ResetAnalytics => Self::ResetAnalytics(id),
            PagesEndpoint::Publish => Self::Edit(id, PageEdit::Publish),
            PagesEndpoint::Unpublish => Self::Edit(id, PageEdit::Unpublish),
            PagesEndpoint::Delete => Self::Delete(id),
            PagesEndpoint::Revisions => Self::Revisions(id),
            PagesEndpoint::Read
            | PagesEndpoint::List
            | PagesEndpoint::Create
            | PagesEndpoint::ReadRevision
            | PagesEndpoint::Restore
            | PagesEndpoint::PatchLink
            | PagesEndpoint::DeleteLink
            | PagesEndpoint::ListSources
            | PagesEndpoint::CreateSource
            | PagesEndpoint::ReadSource
            | PagesEndpoint::PatchSource
            | PagesEndpoint::DeleteSource
            | PagesEndpoint::RefreshSource
            | PagesEndpoint::SourceRuns
            | PagesEndpoint::Analytics
            | PagesEndpoint::LiveAnalytics
            | PagesEndpoint::ListDomains
            | PagesEndpoint::CreateDomain
            | PagesEndpoint::ReadDomain
            | PagesEndpoint::PatchDomain
            | PagesEndpoint::DeleteDomain
            | PagesEndpoint::VerifyDomain
            | PagesEndpoint::ListImages
            | PagesEndpoint::UploadImage
            | PagesEndpoint::ReadImage
            | PagesEndpoint::DeleteImage
            | PagesEndpoint::Account
            | PagesEndpoint::Export
            | PagesEndpoint::Erase => Self::Read(id),
        }
    }

    /// Returns the page whose content it reads, and the number of another revision of it.
    pub(super) fn reads(&self) -> (Option<PageId>, Option<u64>) {
        match self {
            Self::Read(id) => (Some(*id), None),
            Self::Edit(id, edit) => (Some(*id), edit.restores()),
            Self::ReadRevision(id, number) => (Some(*id), Some(*number)),
            Self::Sources(id, call) => (call.has_content().then_some(*id), None),
            Self::List(_)
            | Self::Create(_)
            | Self::Delete(_)
            | Self::Revisions(_)
            | Self::ReadAccount { .. }
            | Self::Analytics(_)
            | Self::ResetAnalytics(_)
            | Self::Webhooks
            | Self::ListDomains
            | Self::AddDomain(_)
            | Self::ReadDomain(_)
            | Self::PatchDomain(..)
            | Self::DeleteDomain(_)
            | Self::VerifyDomain(_)
            | Self::ListImages
            | Self::AddImage(_)
            | Self::ReadImage(_)
            | Self::DeleteImage(_)
            | Self::Export
            | Self::Erase(_)
            | Self::Inspect(_)
            | Self::Suspend(..)
            | Self::Resume(_) => (None, None),
        }
    }

    /// Returns true if it brings content, which must not lead to denied hosts.
    pub const fn has_content(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Edit(..) | Self::Sources(_, SourceCall::Sync(..)))
    }

    /// Returns true if the call counts against the hour. Erasure is a right, and the operator's calls
    /// are not the account's.
    pub(super) const fn is_charged(&self) -> bool {
        !matches!(
            self,
            Self::ReadAccount { .. }
                | Self::Sources(_, SourceCall::Sync(..))
                | Self::Erase(_)
                | Self::Inspect(_)
                | Self::Suspend(..)
                | Self::Resume(_)
        )
    }
}

impl Once {
    /// Returns the entry for a request with this `Idempotency-Key`. Neither reveals its text. Each named
    /// secret has its own names, because a response may show what another secret of the key may not see.
    pub fn new(key: &str, by: Option<SecretId>, method: &str, target: &str, body: &[u8]) -> Self {
        // No `Idempotency-Key` has the byte between them.
        let by: [&[u8]; 2] = by.as_ref().map_or([b"", b""], |id| [b"\0", id.as_bytes()]);
        let parts: [&[u8]; 6] =
            [b"utg.pages-request.v1", method.as_bytes(), b"\0", target.as_bytes(), b"\0", body];
        Self {
            name: hex(&sha256(&[b"utg.pages-once.v1", key.as_bytes(), by[0], by[1]])),
            fingerprint: hex(&sha256(&parts)),
        }
    }
}

/// Checks that a path which takes no query has none.
///
/// # Errors
/// Returns `fields-invalid`.
pub fn check_no_query(query: Option<&str>) -> Result<(), Problem> {
    if parameters(query)?.is_empty() { Ok(()) } else { Err(query::invalid("the path takes no query")) }
}

/// The query of an endpoint that changes something.
#[derive(Default)]
struct WriteQuery {
    dry_run: bool,
    confirmation: Option<String>,
    keep_products: bool,
}

/// Reads the query of an endpoint that takes `dry_run`, for an erasure `confirm`, and for a product
/// source `keep_products`.
fn read_query(query: Option<&str>, endpoint: PagesEndpoint) -> Result<WriteQuery, Problem> {
    if !endpoint.is_write() {
        return check_no_query(query).map(|()| WriteQuery::default());
    }
    let mut read = WriteQuery::default();
    for (name, value) in parameters(query)? {
        let switch = || match &*value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(query::invalid("dry_run and keep_products must be true or false")),
        };
        match name {
            "dry_run" => read.dry_run = switch()?,
            "keep_products" if endpoint == PagesEndpoint::DeleteSource => read.keep_products = switch()?,
            "confirm" if endpoint == PagesEndpoint::Erase => read.confirmation = Some(value.into_owned()),
            _ => return Err(query::unknown_parameter(name, "dry_run")),
        }
    }
    Ok(read)
}

/// Reads what the shell made of a body.
fn prepared<T: DeserializeOwned>(body: &str) -> Result<T, Problem> {
    json::from_str(body).map_err(|_| Problem::new(codes::INTERNAL, "the body was not prepared"))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
