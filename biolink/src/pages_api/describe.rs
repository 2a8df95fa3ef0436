//! Pages as the API shows them.

use std::iter;

use serde::Serialize;
use serde_json::{Map, Value, json};
use shared::json;
use shared::sorting::sort_by;
use shared::time::UnixMillis;

use super::page::{Content, PageMeta};
use crate::page::document::{DEFAULT, FALLBACK, PageCode};
use crate::page::{ImageUrl, PageDocument, WebUrl};

/// Returns a page without its content, as lists show it.
pub(super) fn summary(meta: &PageMeta, is_suspended: bool, base: &str) -> Map<String, Value> {
    let moment = UnixMillis::to_rfc3339;
    let former =
        |former: &super::page::FormerSlug| json!({ "slug": former.slug, "until": moment(former.until) });
    let address = format!("{base}/{}", meta.slug);
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    add("id", json!(meta.id));
    add("object", "page".into());
    add("external_id", json!(meta.external_id));
    add("status", meta.status.as_str().into());
    add("suspended", is_suspended.into());
    add("slug", json!(meta.slug));
    add("former_slugs", meta.former_slugs.iter().map(former).collect());
    add("title", meta.title.as_str().into());
    add("tags", json!(meta.tags));
    add("revision", meta.revision.into());
    add("published_revision", json!(meta.published_revision));
    add("has_unpublished_changes", meta.has_unpublished_changes().into());
    add("urls", json!({ "public": address, "qr": format!("{address}/qr.svg") }));
    add("created_at", moment(meta.created_at).into());
    add("updated_at", moment(meta.updated_at).into());
    add("published_at", json!(meta.published_at.map(moment)));
    members
}

/// Returns a page with its content.
pub(super) fn page(meta: &PageMeta, is_suspended: bool, content: &Content, base: &str) -> Value {
    let mut members = summary(meta, is_suspended, base);
    members.extend(shown(content, base));
    members.insert("metadata".to_owned(), json!(content.metadata));
    members.insert("warnings".to_owned(), warnings(&content.document));
    let code = meta.code.as_ref().unwrap_or(&meta.slug);
    let codes = content.document.codes.iter().map(|PageCode { via, .. }| {
        let image = format!("{base}/{}/qr.svg?via={via}", meta.slug);
        let urls = json!({ "short": format!("{base}/s/{code}/{via}"), "qr": format!("{base}/q/{code}/{via}"), "image": image });
        (via.to_string(), urls)
    });
    if let Some(urls) = members.get_mut("urls").and_then(Value::as_object_mut) {
        urls.insert("codes".to_owned(), Value::Object(codes.collect()));
    }
    Value::Object(members)
}

/// Returns where each link leads that has more than one destination, or campaign parameters: what
/// visitors get of it in each case.
pub(super) fn previews(meta: &PageMeta, content: &Content) -> Value {
    let document = &content.document;
    let mut previews = Vec::new();
    for link in &document.links {
        let has_utm = document.utm_of(link.utm.as_ref()).is_some();
        if link.targets.is_empty() && link.fallback.is_none() && !has_utm {
            continue;
        }
        let mut add = |variant: &str, url: &str| {
            let url = document.outgoing(link, url, &meta.slug, "", iter::empty());
            let (from, until) = match variant {
                FALLBACK => (link.visible_until, None),
                _ => (link.visible_from, link.visible_until),
            };
            let moment = |at: Option<UnixMillis>| at.map(UnixMillis::to_rfc3339);
            previews.push(json!({ "link": link.id, "title": link.title, "variant": variant, "url": url,
                "from": moment(from), "until": moment(until) }));
        };
        for target in &link.targets {
            if let Some(url) = &target.url {
                add(&target.label(), url.as_str());
            }
        }
        if let Some(url) = link.destination() {
            add(DEFAULT, url);
        }
        if let Some(fallback) = &link.fallback {
            add(FALLBACK, fallback.url.as_str());
        }
    }
    Value::Array(previews)
}

/// Returns what the owner of a page should know of it.
fn warnings(document: &PageDocument) -> Value {
    let mut hosts: Vec<_> =
        document.images().filter_map(|image| image.url.foreign()).map(WebUrl::host).collect();
    sort_by(&mut hosts, Ord::cmp);
    hosts.dedup();
    if hosts.is_empty() {
        return json!([]);
    }
    let detail = "browsers of visitors load images from these hosts, which see the addresses of visitors; upload the images with POST /images instead";
    json!([{ "code": "foreign-images", "detail": detail, "hosts": hosts }])
}

/// Returns one revision of a page.
pub(super) fn revision(meta: &PageMeta, number: u64, content: &Content, base: &str) -> Value {
    json!({ "object": "revision", "revision": number, "page": meta.id, "document": shown(content, base),
        "metadata": content.metadata })
}

/// Returns what a client may write of a page, in the form in which it is written: what a `PATCH` is
/// merged into.
pub(super) fn writable(meta: &PageMeta, content: &Content) -> Map<String, Value> {
    let mut members = document(content);
    members.insert("slug".to_owned(), json!(meta.slug));
    members.insert("external_id".to_owned(), json!(meta.external_id));
    members.insert("tags".to_owned(), json!(meta.tags));
    members.insert("metadata".to_owned(), json!(content.metadata));
    members
}

/// Returns the content with whole addresses of the account's own images.
fn shown(content: &Content, base: &str) -> Map<String, Value> {
    let mut members = document(content);
    members.values_mut().for_each(|value| complete_addresses(value, base));
    members
}

fn complete_addresses(value: &mut Value, base: &str) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(url)) = members.get_mut("url")
                // Only paths of our own images. Another relative text is not an address.
                && ImageUrl::own(url).is_some()
            {
                url.insert_str(0, base);
            }
            members.values_mut().for_each(|value| complete_addresses(value, base));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| complete_addresses(item, base)),
        _ => {}
    }
}

fn document(content: &Content) -> Map<String, Value> {
    to_members(&content.document)
}

/// Returns a struct as a JSON object. It goes through text, since a second serializer for every
/// type of a page would be a tenth of the worker.
pub(super) fn to_members<T: Serialize>(value: &T) -> Map<String, Value> {
    let text = json::to_string(value).unwrap_or_default();
    // A struct always serializes as an object.
    serde_json::from_str(&text).unwrap_or_default()
}
