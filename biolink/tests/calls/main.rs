//! Calls from method and path to what they want, and to the response.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod live;
mod webhooks;

use std::mem::discriminant;

use biolink::page::{DomainId, ImageId, LinkId, PageId, ProductId, SourceId};
use biolink::pages_api::Operation;
use biolink::route::{AdminEndpoint, PagesEndpoint, Place, Route, VisitEndpoint, WebhooksEndpoint};
use biolink::webhooks::{DeliveryId, EndpointId, EventId};
use shared::key::{BiolinkPlan, KeyId};
use shared::method::Method;
use shared::route::Path;

/// Returns the path of a template.
fn path(template: &str) -> String {
    let ids = [
        ("{page_id}", PageId::new([1; 12]).to_string()),
        ("{link_id}", LinkId::new([2; 12]).to_string()),
        ("{product_id}", ProductId::new([3; 12]).to_string()),
        ("{source_id}", SourceId::new([4; 12]).to_string()),
        ("{image_id}", ImageId::new([9; 12]).to_string()),
        ("{domain_id}", DomainId::new([10; 12]).to_string()),
        ("{webhook_id}", EndpointId::new([5; 12]).to_string()),
        ("{delivery_id}", DeliveryId::new([6; 16]).to_string()),
        ("{event_id}", EventId::new([7; 16]).to_string()),
        ("{id}", KeyId::new([8; 12]).to_string()),
        ("{type}", "page_view".to_owned()),
        ("{number}", "3".to_owned()),
        ("{revision}", "3".to_owned()),
        ("{slug}", "Ada".to_owned()),
        ("{code}", "ada".to_owned()),
        ("{via}", "flyer".to_owned()),
        ("{token}", "A".repeat(43)),
    ];
    ids.into_iter().fold(template.to_owned(), |path, (name, id)| path.replace(name, &id))
}

/// Parses a call, and hands its route to `check`. No other method takes the same route.
fn route(method: Method, template: &str, check: impl FnOnce(Route<'_>)) {
    let path = path(template);
    let place =
        Place::parse(Path::parse(&path).unwrap()).unwrap_or_else(|problem| panic!("{path}: {problem:?}"));
    assert!(place.methods().contains(method), "{path}");
    check(place.route(method).unwrap_or_else(|| panic!("{path}")));
}

#[test]
fn each_path_of_the_pages_api_leads_to_an_operation() {
    let mut operations: Vec<Operation> = Vec::new();
    for endpoint in PagesEndpoint::ALL {
        route(endpoint.method(), endpoint.path(), |route| {
            let Route::Pages(call) = route else { panic!("{route:?}") };
            assert_eq!(call.endpoint, endpoint);
            let body: &[u8] = match endpoint {
                PagesEndpoint::PatchDomain => b"{\"page_id\": null}",
                _ => b"{\"kind\": \"shopify\", \"url\": \"https://shop.example\"}",
            };
            let Ok((operation, dry_run)) =
                Operation::parse(&call, None, body.to_vec(), BiolinkPlan::Business)
            else {
                // The shell seals the secret of a source before, and knows the hosts that no account can
                // have. An image is no JSON.
                let prepared = [
                    PagesEndpoint::CreateSource,
                    PagesEndpoint::PatchSource,
                    PagesEndpoint::CreateDomain,
                    PagesEndpoint::UploadImage,
                ];
                assert!(prepared.contains(&endpoint), "{endpoint:?}");
                return;
            };
            assert!(!dry_run);
            if !operations.contains(&operation) {
                operations.push(operation);
            }
            let unknown = Operation::parse(&call, Some("unknown=1"), Vec::new(), BiolinkPlan::Business);
            assert_eq!(unknown.unwrap_err().code().as_str(), "fields-invalid", "{endpoint:?}");
        });
    }
    // Two reports want the same of an account, a source is read for three endpoints, and four are not read.
    assert_eq!(operations.len(), PagesEndpoint::ALL.len() - 7);
}

#[test]
fn each_path_of_the_operator_leads_to_its_endpoint() {
    for endpoint in AdminEndpoint::ALL {
        route(endpoint.method(), endpoint.path(), |route| {
            let Route::Admin(call) = route else { panic!("{route:?}") };
            assert_eq!(call.endpoint, endpoint);
        });
        let operation = Operation::administer(endpoint, None, None, b"").unwrap();
        let expected = match endpoint {
            AdminEndpoint::SuspendPage | AdminEndpoint::SuspendAccount => Operation::Suspend(None, None),
            AdminEndpoint::RestorePage | AdminEndpoint::RestoreAccount => Operation::Resume(None),
            _ => Operation::Inspect(None),
        };
        assert_eq!(discriminant(&operation), discriminant(&expected), "{endpoint:?}");
    }
}

#[test]
fn each_path_of_the_webhooks_api_leads_to_its_endpoint() {
    for endpoint in WebhooksEndpoint::ALL {
        route(endpoint.method(), endpoint.path(), |route| {
            let Route::Webhooks(call) = route else { panic!("{route:?}") };
            assert_eq!(call.endpoint, endpoint);
        });
    }
}

#[test]
fn each_path_of_visitors_leads_to_its_part() {
    for endpoint in VisitEndpoint::ALL {
        // A token is read by its own tests.
        if endpoint == VisitEndpoint::Seen {
            continue;
        }
        route(endpoint.method(), endpoint.path(), |route| {
            let Route::Visit(visit) = route else { panic!("{route:?}") };
            assert_eq!((visit.endpoint(), visit.slug().unwrap().as_str()), (endpoint, "ada"));
        });
    }
    for unknown in [
        "/ada/l/lnk_1",
        "/ada/qr.gif",
        "/ada/report/1",
        "/q/-",
        "/q/ada/qr",
        "/s/ada",
        "/s/ada/a~b",
        "/ada/seen/1",
    ] {
        assert!(Place::parse(Path::parse(unknown).unwrap()).is_err(), "{unknown}");
    }
    let form = Place::parse(Path::parse("/ada/report").unwrap()).unwrap();
    assert_eq!(form.route(Method::Put), None);
    let push = path("/hooks/products/{source_id}");
    let push = Place::parse(Path::parse(&push).unwrap()).unwrap();
    assert_eq!(push.route(Method::Post), Some(Route::PushProducts(SourceId::new([4; 12]))));
    assert_eq!(push.route(Method::Get), None);
}
