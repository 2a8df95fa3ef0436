//! What is wrong with a path that would be a route if one of its ids were well-formed.

use shared::{
    key::KeyId,
    problem::Problem,
    route::{Path, malformed_id},
};

use super::{admin::AdminTarget, place::Place};
use crate::{
    page::{DomainId, ImageId, LinkId, PageId, SourceId},
    webhooks::{DeliveryId, EndpointId, EventId},
};

/// The first segments of paths that have ids.
const ROOTS: [&str; 8] = ["pages", "webhooks", "events", "admin", "hooks", "images", "i", "domains"];

/// Returns the refusal of a path that is a route with an id in place of one of its segments; `None`
/// if there is none. The segment is shown, unless it looks like an API key.
pub(super) fn explain(path: &str) -> Option<Problem> {
    let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    // First: any other path is a page, and nine ids in each segment would be tried for nothing.
    if !ROOTS.contains(segments.first()?) {
        return None;
    }
    let kinds = [
        ("a key", KeyId::new([0; 12]).to_string()),
        ("a page", PageId::new([0; 12]).to_string()),
        ("a webhook", EndpointId::new([0; 12]).to_string()),
        ("a delivery", DeliveryId::new([0; 16]).to_string()),
        ("an event", EventId::new([0; 16]).to_string()),
        ("a product source", SourceId::new([0; 12]).to_string()),
        ("an image", ImageId::new([0; 12]).to_string()),
        ("a domain", DomainId::new([0; 12]).to_string()),
        ("a link", LinkId::new([0; 12]).to_string()),
    ];
    kinds.iter().find_map(|(owner, example)| {
        let place = (1..segments.len()).find(|&place| is_route_with(&segments, place, example))?;
        Some(malformed_id(segments.get(place)?, owner, example))
    })
}

fn is_route_with(segments: &[&str], place: usize, id: &str) -> bool {
    let mut path = String::new();
    for (number, &segment) in segments.iter().enumerate() {
        path.push('/');
        path.push_str(if number == place { id } else { segment });
    }
    // Visits and slugs take any text.
    match Path::parse(&path).ok().and_then(Place::find) {
        None | Some(Place::Visit(_)) => false,
        Some(Place::Admin(path)) => !matches!(path.target, AdminTarget::Slug(_)),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    fn detail(path: &str) -> String {
        let problem = Path::parse(path).and_then(Place::parse).err().unwrap();
        assert_eq!(problem.code(), codes::ROUTE_UNKNOWN, "{path}");
        problem.detail().to_owned()
    }

    #[test]
    fn malformed_id_is_named_with_what_is_expected() {
        let page = PageId::new([7; 12]);
        let webhook = EndpointId::new([7; 12]);
        for (path, named) in [
            ("/pages/7", "`7` is not the id of a page, which is pg_ and 17"),
            ("/pages/7/publish", "`7` is not the id of a page"),
            (&format!("/pages/{page}/product-sources/x"), "`x` is not the id of a product source"),
            ("/webhooks/1", "`1` is not the id of a webhook, which is whe_ and 17"),
            (&format!("/pages/{page}/links/1"), "`1` is not the id of a link"),
            (&format!("/webhooks/{webhook}/deliveries/1"), "`1` is not the id of a delivery"),
            ("/events/latest", "`latest` is not the id of an event, which is evt_ and 22"),
            ("/admin/accounts/ada", "`ada` is not the id of a key"),
            ("/admin/pages/a", "`a` is not the id of a page"),
            ("/images/1", "`1` is not the id of an image, which is img_ and 17"),
            ("/hooks/products/1", "`1` is not the id of a product source"),
        ] {
            let detail = detail(path);
            assert!(detail.starts_with(named), "{path}: {detail}");
        }
    }

    #[test]
    fn path_that_no_id_makes_a_route_keeps_its_refusal() {
        for path in ["/v2/qr/generate", "/pages/7/x/y", "/pages/7/x/y/z/a"] {
            assert!(!detail(path).contains("is not the id"), "{path}");
        }
    }

    #[test]
    fn nothing_lies_below_the_longest_route() {
        let path = format!("/pages/{}/product-sources/{}/runs", PageId::new([7; 12]), SourceId::new([7; 12]));
        assert!(Path::parse(&path).and_then(Place::parse).is_ok());
        assert!(!detail(&format!("{path}/more")).contains("is not the id"));
    }
}
