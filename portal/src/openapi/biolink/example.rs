//! Calls of an account in memory, and responses that it gave: what the examples of the description
//! are.

mod analytics;
mod domains;
mod images;
mod products;
mod webhooks;

use std::collections::BTreeMap;

use biolink::domains::Proof;
use biolink::page::{AbuseReport, LinkId, PageId, ReportReason, Slug};
use biolink::pages_api::{
    Account, Call, Claim, ClaimOutcome, Content, DeniedHosts, Loaded, Operation, Reply, ReportSender,
    ReportsMessage, ReportsQuery, Step, Write,
};
use biolink::route::{AdminEndpoint, PagesCall, PagesEndpoint, PagesTarget};
use serde_json::{Value, json};
use shared::key::{BiolinkPlan, KeyId};
use shared::problem::Problem;
use shared::request_id::RequestId;
use shared::response::Response;
use shared::secret::MacKeys;
use shared::time::UnixMillis;

use super::SERVER;

pub(super) use analytics::{GROUPS, INTERVAL, TIMEZONE, csv, event};
pub(super) use images::IMAGE;
pub(super) use webhooks::{delivered, webhook_ids, webhooks};

/// The slug of the page in the examples.
pub(super) const SLUG: &str = "ada";

/// 2026-01-05 09:00 UTC.
const NOW: UnixMillis = UnixMillis(1_767_603_600_000);
const ACCOUNT: [u8; 12] = [7; 12];

/// A request's body, and the response to it.
pub(super) struct Exchange {
    pub(super) request: Option<Value>,
    pub(super) status: u16,
    pub(super) response: Option<Value>,
}

/// The ids in the examples.
pub(super) struct Ids {
    pub(super) page: String,
    pub(super) link: String,
    pub(super) source: String,
    pub(super) account: String,
    pub(super) domain: String,
}

/// Returns the example of an endpoint: the call, in an account that has the page that
/// [`PagesEndpoint::Create`] makes.
pub(super) fn exchange(endpoint: PagesEndpoint) -> Exchange {
    let mut store = Store::default();
    if endpoint == PagesEndpoint::Create {
        return store.call(endpoint, PagesTarget::Account, Some(page()));
    }
    let (page, links) = store.create();
    let request = request(endpoint, &links);
    match endpoint {
        PagesEndpoint::Analytics => analytics::report(&store, page, &links),
        PagesEndpoint::LiveAnalytics => analytics::live(page, &links),
        PagesEndpoint::ListImages
        | PagesEndpoint::UploadImage
        | PagesEndpoint::ReadImage
        | PagesEndpoint::DeleteImage => images::exchange(&mut store, endpoint),
        PagesEndpoint::ListDomains
        | PagesEndpoint::CreateDomain
        | PagesEndpoint::ReadDomain
        | PagesEndpoint::PatchDomain
        | PagesEndpoint::DeleteDomain
        | PagesEndpoint::VerifyDomain => domains::exchange(&mut store, endpoint, page),
        endpoint if endpoint.is_of_sources() => products::exchange(&mut store, endpoint, page),
        _ => store.call(endpoint, target(endpoint, page, &links), request),
    }
}

/// Returns the page of the examples as responses show it.
pub(super) fn page_response() -> Value {
    exchange(PagesEndpoint::Create).response.unwrap_or_default()
}

/// Returns the ids of the page in the examples.
pub(super) fn ids() -> Ids {
    let mut store = Store::default();
    let (page, links) = store.create();
    let source = products::create(&mut store, page).map(|id| id.to_string()).unwrap_or_default();
    let link = links.first().map(ToString::to_string).unwrap_or_default();
    let domain = domains::create(&mut Store::default()).to_string();
    Ids { page: page.to_string(), link, source, account: KeyId::new(ACCOUNT).to_string(), domain }
}

/// Returns the example of a call of the operator, about the same account.
pub(super) fn administered(endpoint: AdminEndpoint) -> Exchange {
    use AdminEndpoint as E;
    let mut store = Store::default();
    let (page, _) = store.create();
    let request = match endpoint {
        E::SuspendPage | E::SuspendAccount => Some(json!({ "reason": "Phishing, reported three times" })),
        E::ReplaceDeniedHosts => Some(json!({ "hosts": ["phishing.example.net", "malware.example.org"] })),
        E::ReadPage
        | E::RestorePage
        | E::ReadAccount
        | E::RestoreAccount
        | E::ReadDeniedHosts
        | E::ListReports => None,
    };
    let body = request.as_ref().map(ToString::to_string).unwrap_or_default();
    let response = match endpoint {
        E::ReadPage | E::SuspendPage | E::RestorePage => {
            store.administer(endpoint, Some(page), body.as_bytes())
        }
        E::ReadAccount | E::SuspendAccount | E::RestoreAccount => {
            store.administer(endpoint, None, body.as_bytes())
        }
        E::ReadDeniedHosts => DeniedHosts::default().response(),
        E::ReplaceDeniedHosts => match DeniedHosts::read(body.as_bytes()) {
            Ok(hosts) => hosts.response(),
            Err(problem) => problem.render(&RequestId([0; 16])),
        },
        E::ListReports => match reports(page) {
            Ok(response) => response,
            Err(problem) => problem.render(&RequestId([0; 16])),
        },
    };
    Exchange { request, status: response.status, response: serde_json::from_str(&response.body).ok() }
}

/// Returns the list of reports with one of the page.
fn reports(page: PageId) -> Result<Response, Problem> {
    let report =
        AbuseReport { reason: ReportReason::Phishing, details: "It asks for my bank's PIN.".to_owned() };
    let query = ReportsQuery::read(None)?;
    let (Ok(slug), Ok(keys)) = (Slug::parse(SLUG), MacKeys::parse("an example of a signing secret 01"))
    else {
        return query.response("[]");
    };
    let account = KeyId::new(ACCOUNT);
    let sender = ReportSender { address: None, more: 0 };
    let ReportsMessage::Add { report, .. } =
        ReportsMessage::add((account, page), &slug, &report, sender, &keys, NOW)
    else {
        return query.response("[]");
    };
    let mut report: Value = serde_json::from_str(&report).unwrap_or_default();
    if let Some(members) = report.as_object_mut() {
        members.insert("id".to_owned(), 1.into());
        members.insert("more".to_owned(), 0.into());
    }
    query.response(&json!([report]).to_string())
}

/// Returns what a call is made for.
fn target(endpoint: PagesEndpoint, page: PageId, links: &[LinkId]) -> PagesTarget {
    let path = endpoint.path();
    match links.first() {
        Some(link) if path.contains("{link_id}") => PagesTarget::Link(page, *link),
        _ if path.contains("{revision}") => PagesTarget::Revision(page, 1),
        _ if path.contains("{page_id}") => PagesTarget::Page(page),
        _ => PagesTarget::Account,
    }
}

/// Returns the body of an endpoint's example.
fn request(endpoint: PagesEndpoint, links: &[LinkId]) -> Option<Value> {
    use PagesEndpoint as E;
    match endpoint {
        E::Create => Some(page()),
        E::Replace => Some(json!({
            "title": "Ada Lovelace",
            "bio": "Notes on engines, numbers and music.",
            "status": "published",
            "links": [
                { "id": links.first(), "title": "Newsletter", "url": "https://example.com/newsletter" },
                { "type": "heading", "title": "Meet" },
                { "title": "Talks", "url": "https://example.com/talks", "visible_from": "2026-06-01T09:00:00+02:00" },
            ],
        })),
        E::Patch => Some(json!({ "bio": "Now in London.", "theme": { "preset": "ocean" }, "gate": null })),
        E::AddLink => Some(json!({ "type": "email", "title": "Write to me", "url": "ada@example.com" })),
        E::PatchLink => Some(json!({ "title": "Newsletter, every Monday", "highlight": true })),
        E::OrderLinks => Some(json!({ "order": links.iter().rev().collect::<Vec<_>>() })),
        E::List
        | E::Read
        | E::Delete
        | E::Publish
        | E::Unpublish
        | E::Revisions
        | E::ReadRevision
        | E::Restore
        | E::DeleteLink
        | E::ListSources
        | E::CreateSource
        | E::ReadSource
        | E::PatchSource
        | E::DeleteSource
        | E::RefreshSource
        | E::SourceRuns
        | E::Analytics
        | E::LiveAnalytics
        | E::ResetAnalytics
        | E::ListDomains
        | E::CreateDomain
        | E::ReadDomain
        | E::PatchDomain
        | E::DeleteDomain
        | E::VerifyDomain
        | E::ListImages
        | E::UploadImage
        | E::ReadImage
        | E::DeleteImage
        | E::Account
        | E::Export
        | E::Erase => None,
    }
}

/// Returns a page that has a bit of everything.
fn page() -> Value {
    json!({
        "title": "Ada Lovelace",
        "slug": SLUG,
        "bio": "Notes on engines and numbers.\nLondon",
        "avatar": { "url": "https://images.example.com/ada.jpg", "alt": "Portrait of Ada Lovelace" },
        "locale": "en-GB",
        "theme": { "preset": "paper", "mode": "auto", "light": { "accent": "#8a3f0f" }, "shape": "pill", "buttons": "shadow" },
        "socials": [{ "platform": "github", "url": "https://github.com/ada" }],
        "links": [
            { "title": "Newsletter", "url": "https://example.com/newsletter", "description": "Every first Monday" },
            {
                "title": "Talks",
                "url": "https://example.com/talks",
                "visible_until": "2030-12-31T23:00:00Z",
                "fallback": { "url": "https://example.com/recordings" },
                "targets": [{ "countries": ["DE", "AT"], "url": "https://example.com/vortraege" }],
            },
        ],
        "utm": { "source": "{slug}", "medium": "bio" },
        "codes": [{ "via": "flyer", "title": "Flyers in May" }],
        "products": {
            "title": "Shop",
            "items": [{
                "title": "Poster",
                "url": "https://shop.example.com/poster",
                "image": { "url": "https://images.example.com/poster.jpg" },
                "price": { "amount": "18.00", "currency": "EUR" },
                "sale_price": { "amount": "15.00", "currency": "EUR" },
            }],
        },
        "seo": { "description": "Everything by Ada Lovelace", "type": "person" },
        "status": "published",
        "external_id": "client-17",
        "tags": ["science"],
        "metadata": { "manager": "Charles" },
    })
}

/// An account with the contents of its pages: what the edge does, without a network.
#[derive(Default)]
struct Store {
    account: Account,
    contents: BTreeMap<(PageId, u64), Content>,
    calls: u8,
}

impl Store {
    /// Creates the page of the examples. Returns its id and those of its links.
    fn create(&mut self) -> (PageId, Vec<LinkId>) {
        let created = self.call(PagesEndpoint::Create, PagesTarget::Account, Some(page()));
        let created = created.response.unwrap_or_default();
        let id = |value: &Value| value.pointer("/id").and_then(Value::as_str).map(str::to_owned);
        let page = id(&created).and_then(|text| PageId::parse(&text)).unwrap_or(PageId::new([0; 12]));
        let links = created.pointer("/links").and_then(Value::as_array).into_iter().flatten();
        (page, links.filter_map(|link| LinkId::parse(&id(link)?)).collect())
    }

    fn call(&mut self, endpoint: PagesEndpoint, target: PagesTarget, request: Option<Value>) -> Exchange {
        let body = request.as_ref().map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let called = PagesCall { endpoint, target };
        let confirmation = format!("confirm={}", KeyId::new(ACCOUNT));
        let query = (endpoint == PagesEndpoint::Erase).then_some(confirmation.as_str());
        let reply = match Operation::parse(&called, query, body, BiolinkPlan::Business) {
            Ok((operation, dry_run)) => self.reply(operation, dry_run),
            Err(problem) => Reply::new(Err(problem), &RequestId([0; 16])),
        };
        let response = reply.into_response();
        let body = serde_json::from_str(&response.body).ok();
        Exchange { request, status: response.status, response: body }
    }

    fn administer(&mut self, endpoint: AdminEndpoint, page: Option<PageId>, body: &[u8]) -> Response {
        match Operation::administer(endpoint, page, None, body) {
            Ok(operation) => self.reply(operation, false).into_response(),
            Err(problem) => problem.render(&RequestId([0; 16])),
        }
    }

    fn reply(&mut self, operation: Operation, dry_run: bool) -> Reply {
        self.calls = self.calls.saturating_add(1);
        let now = NOW.plus(u64::from(self.calls) * 60_000);
        let mut call = Call {
            account: KeyId::new(ACCOUNT),
            request_id: [0x5a; 16],
            at: now,
            seed: [self.calls; 16],
            base: SERVER.to_owned(),
            locale: None,
            operation,
            dry_run,
            secret: None,
            if_match: None,
            once: None,
            claim: None,
            proof: None,
        };
        loop {
            match self.account.step(&call, self.load(&call), &DeniedHosts::default(), now) {
                Step::Reply(reply, writes) => {
                    writes.into_iter().for_each(|write| self.write(write));
                    return reply;
                }
                Step::Admit(admission) => {
                    let response = admission.complete(Ok(Response::no_content()));
                    return Reply::new(response, &RequestId(call.request_id));
                }
                Step::Check(_) => call.proof = Some(Proof::Proved),
                Step::Claim { slug, .. } => {
                    call.claim = Some(Claim { slug, outcome: ClaimOutcome::Granted });
                }
            }
        }
    }

    fn load(&self, call: &Call) -> Loaded {
        let needs = self.account.needs(call);
        let content = |at: Option<(PageId, u64)>| self.contents.get(&at?).cloned();
        Loaded {
            content: content(needs.content),
            other: content(needs.other),
            live: content(needs.live),
            reply: None,
        }
    }

    fn write(&mut self, write: Write) {
        match write {
            Write::PutRevision(page, number, content) => {
                self.contents.insert((page, number), content);
            }
            Write::KeepRevisions(page, kept) => {
                self.contents.retain(|(other, number), _| *other != page || kept.contains(number));
            }
            Write::PutReply { .. } | Write::Erase => {}
        }
    }
}
