//! The description against the router, the table of problems, and the reader of pages.

mod analytics;
mod events;
mod generators;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

use biolink::codes;
use biolink::page::{DomainId, IdSource, ImageId, LinkId, PageId, Reader, SourceId};
use biolink::route::{AdminEndpoint, PagesEndpoint, WebhooksEndpoint};
use biolink::webhooks::{DeliveryId, EndpointId, EventId, WebhookKind};
use serde_json::{Map, json};
use shared::key::KeyId;
use shared::problem::Code;
use shared::request_id::RequestId;
use shared::route::ServiceRoute;

use super::*;
use crate::asset::Asset;
use crate::docs_page::DocsPage;
use crate::endpoint::Endpoint;
use crate::openapi;
use crate::route::Route;

/// Returns every operation: its path, its method in lower case, and what is said of it.
fn operations() -> Vec<(String, String, Value)> {
    let document = document(SERVER);
    let paths = document["paths"].as_object().unwrap().clone();
    let each = |(path, item): (String, Value)| {
        let methods = item.as_object().unwrap().clone();
        methods.into_iter().map(move |(method, operation)| (path.clone(), method, operation))
    };
    paths.into_iter().flat_map(each).collect()
}

/// Calls `see` with every object of a value.
fn objects(value: &Value, see: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            see(members);
            members.values().for_each(|member| objects(member, see));
        }
        Value::Array(items) => items.iter().for_each(|item| objects(item, see)),
        _ => {}
    }
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(target) => {
            document.pointer(target.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("{target}"))
        }
        None => value,
    }
}

#[test]
fn document_and_router_have_the_same_operations() {
    for (path, method, _) in operations() {
        let concrete = path.replace("{page_id}", &PageId::new([1; 12]).to_string());
        let concrete = concrete.replace("{id}", &KeyId::new([1; 12]).to_string());
        let concrete =
            concrete.replace("{link_id}", &LinkId::new([1; 12]).to_string()).replace("{revision}", "7");
        let concrete = concrete.replace("{webhook_id}", &EndpointId::new([1; 12]).to_string());
        let concrete = concrete.replace("{delivery_id}", &DeliveryId::numbered(1, [1; 8]).to_string());
        let concrete = concrete.replace("{event_id}", &EventId::numbered(1, [1; 8]).to_string());
        let concrete = concrete.replace("{type}", WebhookKind::Click.as_str());
        let concrete = concrete.replace("{source_id}", &SourceId::new([1; 12]).to_string());
        let concrete = concrete.replace("{image_id}", &ImageId::new([1; 12]).to_string());
        let concrete = concrete.replace("{domain_id}", &DomainId::new([1; 12]).to_string());
        let route = Route::parse(&method.to_uppercase(), &concrete).unwrap();
        let endpoint = Endpoint::of(&route);
        assert_eq!((endpoint.path(), endpoint.method().as_str().to_lowercase()), (path, method));
    }
    // One of the two documents has it, unless a browser or a proxy calls it, or tools are its source.
    let gateway = openapi::document(SERVER);
    let own = document(SERVER);
    for endpoint in Endpoint::all() {
        let method = endpoint.method().as_str().to_lowercase();
        let documents = [&gateway, &own].into_iter();
        let count =
            documents.filter(|document| document["paths"][endpoint.path()].get(&method).is_some()).count();
        let is_further_page =
            matches!(endpoint, Endpoint::Asset(Asset::Docs(page)) if page != DocsPage::Start);
        let is_hidden = is_further_page
            || matches!(
                endpoint,
                Endpoint::Asset(
                    Asset::Landing | Asset::LlmsTxt | Asset::ApiCatalog | Asset::Script(_) | Asset::SearchIndex
                        | Asset::DocsMarkdown(_) | Asset::ChangelogFeed
                ) | Endpoint::Portal(_)
                    // Its own document says where it is (RFC 8414), and RFCs what it takes.
                    | Endpoint::OAuth(_)
                    | Endpoint::Site(_)
                    | Endpoint::Console
                    | Endpoint::ConsolePart
                    | Endpoint::Session(_)
                    | Endpoint::Image
                    | Endpoint::Visit(_)
                    | Endpoint::Service(ServiceRoute::KeyChanges | ServiceRoute::Meters)
                    // The specification fixes what the gateway's document has.
                    | Endpoint::Tools(_)
            );
        assert_eq!(count, usize::from(!is_hidden), "{method} {}", endpoint.path());
    }
}

#[test]
fn every_reference_leads_to_a_component_and_every_component_is_used() {
    let document = document(SERVER);
    let mut found = BTreeSet::new();
    objects(&document, &mut |members| {
        found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
    });
    for kind in ["schemas", "headers", "responses", "parameters", "examples"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(found.contains(&format!("#/components/{kind}/{name}")), "{kind} {name}");
        }
    }
    for reference in found {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
    }
}

#[test]
fn every_problem_is_documented_in_one_of_the_two_documents() {
    let mut documented: BTreeSet<_> = codes::all()
        .filter(|code| !openapi::tests::NOT_AT_THESE_OPERATIONS.contains(code))
        .map(Code::as_str)
        .collect();
    for (name, response) in document(SERVER)["components"]["responses"].as_object().unwrap() {
        let codes = openapi::tests::codes_of(response);
        assert!(codes.iter().all(|code| code.status() == codes[0].status()), "{name}");
        documented.extend(codes.iter().map(|code| code.as_str()));
    }
    let hidden: Vec<_> = codes::all().filter(|code| !documented.contains(code.as_str())).collect();
    // Between edge and proxy, what only visitors and signed-in browsers see, that of a WebSocket, and that of an event.
    let expected = [
        codes::GRANT_INVALID,
        codes::ORIGIN_TOKEN_INVALID,
        codes::SIGN_IN_REQUIRED,
        codes::PAGE_GONE,
        codes::UPGRADE_UNSUPPORTED,
        codes::RESPONSE_ABORTED,
    ];
    assert_eq!(hidden, expected);
}

#[test]
fn every_body_has_a_schema_and_an_example() {
    let document = document(SERVER);
    let mut bodies = 0;
    objects(&document, &mut |members| {
        let Some(content) = members.get("content").and_then(Value::as_object) else { return };
        // A body may have a member of that name.
        for (media_type, body) in content.iter().filter(|(name, _)| name.contains('/')) {
            bodies += 1;
            assert!(body.get("schema").is_some(), "{media_type} {body}");
            assert!(body.get("example").or_else(|| body.get("examples")).is_some(), "{media_type} {body}");
        }
    });
    assert!(bodies > 30, "{bodies}");
}

#[test]
fn example_is_successful_and_has_only_described_members() {
    let document = document(SERVER);
    let pages = PagesEndpoint::ALL.map(|endpoint| (Endpoint::Pages(endpoint), example::exchange(endpoint)));
    let admin = AdminEndpoint::ALL.map(|own| (Endpoint::Admin(own), example::administered(own)));
    let hooks = WebhooksEndpoint::ALL.map(|own| (Endpoint::Webhooks(own), example::webhooks(own)));
    for (endpoint, exchange) in pages.into_iter().chain(admin).chain(hooks) {
        assert!((200..300).contains(&exchange.status), "{endpoint:?} {:?}", exchange.response);
        let method = endpoint.method().as_str().to_lowercase();
        let responses = &document["paths"][endpoint.path()][method]["responses"];
        let described = &responses[exchange.status.to_string()];
        assert!(described.is_object(), "{endpoint:?} {}", exchange.status);
        // An export has lines of several kinds.
        let is_export = endpoint == Endpoint::Pages(PagesEndpoint::Export);
        if let Some(body) = exchange.response.as_ref().filter(|_| !is_export) {
            assert_described(&document, &described["content"]["application/json"]["schema"], body, "");
        }
    }
}

/// Fails if a value has a member that its schema does not.
fn assert_described(document: &Value, schema: &Value, value: &Value, at: &str) {
    let schema = resolve(document, schema);
    let schema = match schema.pointer("/discriminator/mapping") {
        Some(mapping) => {
            document.pointer(&mapping[value["type"].as_str().unwrap()].as_str().unwrap()[1..]).unwrap()
        }
        None => schema,
    };
    match value {
        // Any members at all.
        _ if schema["additionalProperties"] == true => {}
        Value::Object(members) => {
            for (name, member) in members {
                let place = format!("{at}/{name}");
                let inner = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
                let inner = inner.unwrap_or_else(|| panic!("{place} is not described"));
                assert_described(document, inner, member, &place);
            }
        }
        Value::Array(items) => {
            items
                .iter()
                .for_each(|item| assert_described(document, &schema["items"], item, &format!("{at}/0")));
        }
        _ => {}
    }
}

/// A page with every part, each of which may be replaced.
fn full_page() -> Value {
    let image = json!({ "url": "https://images.example.com/a.png", "alt": "An image" });
    let price = |amount: &str| json!({ "amount": amount, "currency": "EUR" });
    json!({
        "title": "Ada", "slug": "ada", "avatar": image, "cover": image, "theme": { "light": {}, "dark": {}, "image": image },
        "socials": [{ "platform": "github", "url": "https://github.com/ada" }],
        "links": [{
            "title": "One", "url": "https://example.com", "gate": { "kind": "age", "min": 18 }, "image": image,
            "targets": [{ "countries": ["DE"], "devices": ["ios"], "languages": ["de"], "url": "https://example.com" }],
            "visible_until": "2030-01-01T00:00:00Z", "fallback": { "url": "https://example.com" }, "utm": {},
        }],
        "utm": {}, "codes": [{ "via": "flyer" }],
        "products": { "items": [{
            "title": "Poster", "url": "https://example.com", "image": image, "price": price("2"), "sale_price": price("1"),
        }] },
        "seo": { "image": image },
        "gate": { "kind": "age", "min": 18 },
    })
}

/// Returns the pointers of the faults of a page.
fn faults(page: &Value) -> Vec<String> {
    let Err(problem) = Reader::new(None, IdSource::new([1; 16])).page(page.as_object().unwrap().clone())
    else {
        return Vec::new();
    };
    let rendered: Value = serde_json::from_str(&problem.render(&RequestId([0; 16])).body).unwrap();
    let pointer = |error: &Value| error["pointer"].as_str().unwrap()[1..].to_owned();
    rendered["errors"].as_array().unwrap_or_else(|| panic!("{rendered}")).iter().map(pointer).collect()
}

/// Returns the schema of each member of an object and below it, by JSON Pointer.
fn members_below(document: &Value, schema: &Value, at: &str, found: &mut BTreeMap<String, Value>) {
    let schema = resolve(document, schema);
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}/{name}");
        found.insert(place.clone(), member.clone());
        members_below(document, member, &place, found);
        if let Some(items) = member.get("items") {
            members_below(document, items, &format!("{place}/0"), found);
        }
    }
}

/// Returns the page with another value at a pointer, or without one.
fn with(pointer: &str, value: Option<Value>) -> Value {
    let mut page = full_page();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = page.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")).as_object_mut().unwrap();
    match value {
        Some(value) => drop(parent.insert(name.to_owned(), value)),
        None => drop(parent.remove(name)),
    }
    page
}

#[test]
fn input_schema_and_reader_agree() {
    let document = document(SERVER);
    let root = &document["components"]["schemas"]["PageInput"];
    let mut members = BTreeMap::new();
    members_below(&document, root, "", &mut members);
    assert_eq!(faults(&full_page()), Vec::<String>::new());
    let mut checked = 0;
    for (pointer, schema) in &members {
        let mut expect = |value: Option<Value>, refused: bool, why: &str| {
            checked += 1;
            let found = faults(&with(pointer, value));
            assert_eq!(found.contains(pointer), refused, "{pointer} {why}: {found:?}");
        };
        // An id must be one that the page has, and an ignored member has no type.
        if pointer.ends_with("/id") || schema.get("type").is_none() {
            expect(Some(json!(null)), false, "null");
            continue;
        }
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = match parent {
            "" => root,
            parent => members.get(parent.trim_end_matches("/0")).unwrap(),
        };
        let parent = parent.get("items").map_or(parent, |items| resolve(&document, items));
        let is_required =
            parent["required"].as_array().into_iter().flatten().any(|required| required == name);
        // `min` is required for one kind of gate, a title for all types of links but one, and it is longer
        // for one.
        let is_of_type = matches!(pointer.as_str(), "/links/0/title" | "/links/0/url");
        let is_conditional = pointer.ends_with("/gate/min") || is_of_type;
        if !is_conditional {
            expect(None, is_required, "left out");
            expect(Some(json!(null)), schema.get("nullable").is_none(), "null");
        }
        expect(Some(json!(1.5)), true, "another type");
        if let Some(max) = schema["maxLength"].as_u64().filter(|_| schema.get("pattern").is_none()) {
            let text = |length: u64| Some(json!("x".repeat(usize::try_from(length).unwrap())));
            let is_address = pointer.ends_with("/url") || is_of_type;
            expect(text(max), is_address, "the longest");
            expect(text(max + 1), true, "too long");
        }
        if schema["minLength"] == 1 {
            expect(Some(json!("")), true, "empty");
        }
        for name in schema["enum"].as_array().into_iter().flatten().filter(|name| !name.is_null()) {
            expect(Some(name.clone()), false, "a name");
        }
        if schema.get("enum").is_some() || schema.get("pattern").is_some() {
            expect(Some(json!("none of them")), true, "no name");
        }
        if let (Some(min), Some(max)) = (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            for (number, refused) in [(min - 1, true), (min, false), (max, false), (max + 1, true)] {
                expect(Some(json!(number)), refused, "a number");
            }
        }
        if let Some(max) = schema["maxItems"].as_u64() {
            let items =
                full_page().pointer(&format!("{pointer}/0")).cloned().unwrap_or_else(|| json!("nofollow"));
            expect(Some(json!(vec![&items; usize::try_from(max).unwrap()])), false, "the most items");
            expect(Some(json!(vec![&items; usize::try_from(max).unwrap() + 1])), true, "too many items");
        }
        if schema["additionalProperties"] == false {
            let inner = format!("{pointer}/zzz");
            assert!(faults(&with(&inner, Some(json!(1)))).contains(&inner), "{inner}");
        }
    }
    assert!(checked > 200, "{checked}");
}
