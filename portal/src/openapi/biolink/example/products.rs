//! The examples of product sources.

use biolink::fetch_url::FetchPolicy;
use biolink::page::{PageId, SourceId};
use biolink::product_feed::{Feed, FormatChoice};
use biolink::product_sync::{
    Applied, Catalog, EditOutcome, Fetched, SourceWrite, SyncState, complete, runs_body,
};
use biolink::route::{PagesEndpoint, PagesTarget};
use biolink::webhooks::{EncryptionKeys, WebhookSecret};
use serde_json::{Value, json};
use shared::key::KeyId;

use super::{ACCOUNT, Exchange, NOW, Store};
use crate::openapi::SERVER;

/// Creates the source of the examples. Returns its id.
pub(super) fn create(store: &mut Store, page: PageId) -> Option<SourceId> {
    let created = call(store, PagesEndpoint::CreateSource, PagesTarget::Page(page), Some(source()));
    SourceId::parse(created.response?.get("id")?.as_str()?)
}

/// Returns the example of an endpoint.
pub(super) fn exchange(store: &mut Store, endpoint: PagesEndpoint, page: PageId) -> Exchange {
    let of_page = PagesTarget::Page(page);
    if endpoint == PagesEndpoint::CreateSource {
        return call(store, endpoint, of_page, Some(source()));
    }
    let Some(id) = create(store, page) else {
        return Exchange { request: None, status: 500, response: None };
    };
    let of_source = PagesTarget::Source(page, id);
    match endpoint {
        PagesEndpoint::ListSources => call(store, endpoint, of_page, None),
        PagesEndpoint::PatchSource => {
            let patch = json!({ "max_items": 6, "filter": { "tags": ["gifts"] }, "sort": "-price" });
            call(store, endpoint, of_source, Some(patch))
        }
        PagesEndpoint::RefreshSource => Exchange { status: 202, ..call(store, endpoint, of_source, None) },
        PagesEndpoint::SourceRuns => {
            let response =
                run(store, &id).and_then(|state| serde_json::from_str(&runs_body(state.runs())).ok());
            Exchange { request: None, status: 200, response }
        }
        _ => call(store, endpoint, of_source, None),
    }
}

fn source() -> Value {
    json!({ "url": "https://shop.example.com/merchant.xml", "max_items": 12, "push": { "enabled": true } })
}

fn call(store: &mut Store, endpoint: PagesEndpoint, target: PagesTarget, request: Option<Value>) -> Exchange {
    let Ok(keys) = EncryptionKeys::parse("an example of a signing secret 01") else {
        return Exchange { request, status: 500, response: None };
    };
    let owner = KeyId::new(ACCOUNT).to_string();
    let secret = WebhookSecret::generate([7; 24]);
    let prepared = request.as_ref().map(|body| {
        let policy = FetchPolicy::new([SERVER], false);
        let seal = |secret: &[u8]| keys.seal_bytes(secret, &owner, &[9; 24]);
        json!(SourceWrite::prepare(&body.to_string(), &policy, &secret, seal))
    });
    let mut exchange = Exchange { request, ..store.call(endpoint, target, prepared) };
    if let Some(body) = &mut exchange.response {
        let reveal = |sealed: &_| String::from_utf8(keys.unseal_bytes(sealed, &owner).ok()?).ok();
        complete(body, SERVER, reveal, |_| None);
    }
    exchange
}

/// Returns the state of the source after its first run.
fn run(store: &Store, id: &SourceId) -> Option<SyncState> {
    let item = |id: &str, title: &str| {
        format!(
            "<item><g:id>{id}</g:id><title>{title}</title><link>https://shop.example.com/{id}</link><g:price>18.00 EUR</g:price></item>"
        )
    };
    let feed = format!(
        "<rss xmlns:g=\"http://base.google.com/ns/1.0\"><channel>{}{}<item><g:id>sku-2</g:id></item></channel></rss>",
        item("sku-1", "Poster"),
        item("sku-3", "Print")
    );
    let feed = Feed::parse(feed.as_bytes(), FormatChoice::Auto, "", None).ok()?;
    let (mut state, mut catalog) = (SyncState::default(), Catalog::default());
    state.configure(KeyId::new(ACCOUNT), store.account.source(id)?.clone(), NOW);
    let attempt = state.begin(NOW)?;
    let fetched = Fetched::Feed { feed, status: 200, etag: None, last_modified: None };
    state.finish(&attempt, Ok(fetched), &mut catalog, NOW.plus(420));
    let products = state.edit(&catalog, NOW.plus(420))?;
    let applied = Applied { shown: 2, added: 2, updated: 0, removed: 0 };
    state.settle(&products, EditOutcome::Applied(applied), NOW.plus(450));
    Some(state)
}
