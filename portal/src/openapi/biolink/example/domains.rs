//! The examples of domains.

use biolink::domains::DomainHosts;
use biolink::page::{DomainId, PageId};
use biolink::pages_api::DomainInput;
use biolink::route::{PagesEndpoint, PagesTarget};
use serde_json::{Value, json};

use super::{Exchange, Store};

/// Returns the example of an endpoint.
pub(super) fn exchange(store: &mut Store, endpoint: PagesEndpoint, page: PageId) -> Exchange {
    let request = json!({ "host": "links.ada.example", "page_id": page });
    let added = add(store, &request);
    let id = id_of(&added);
    match endpoint {
        PagesEndpoint::CreateDomain => Exchange { request: Some(request), ..added },
        PagesEndpoint::ListDomains => store.call(endpoint, PagesTarget::Account, None),
        PagesEndpoint::PatchDomain => {
            store.call(endpoint, PagesTarget::Domain(id), Some(json!({ "page_id": null })))
        }
        _ => store.call(endpoint, PagesTarget::Domain(id), None),
    }
}

/// Adds the domain of the examples. Returns its id.
pub(super) fn create(store: &mut Store) -> DomainId {
    let (page, _) = store.create();
    id_of(&add(store, &json!({ "host": "links.ada.example", "page_id": page })))
}

fn add(store: &mut Store, request: &Value) -> Exchange {
    let hosts = DomainHosts::new("customers.example.net", ["https://api.example.com"]);
    let input = hosts.and_then(|hosts| DomainInput::read(request.to_string().as_bytes(), &hosts).ok());
    store.call(PagesEndpoint::CreateDomain, PagesTarget::Account, Some(json!(input)))
}

fn id_of(added: &Exchange) -> DomainId {
    let id = added.response.as_ref().and_then(|body| body.get("id")?.as_str());
    id.and_then(DomainId::parse).unwrap_or(DomainId::new([0; 12]))
}
