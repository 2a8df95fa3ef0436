//! What is wrong with a path that would be a route if one of its ids were well-formed.

use super::Place;
use crate::{
    action::Action,
    key::KeyId,
    page::{LinkId, PageId, SourceId},
    problem::{Code, Problem},
    webhooks::{DeliveryId, EndpointId, EventId},
};

/// The first segments of paths that have ids.
const ROOTS: [&str; 6] = ["v1", "pages", "webhooks", "events", "admin", "hooks"];

/// Returns the refusal of a path that is a route with an id in place of one of its segments; `None`
/// if there is none. The segment is shown, unless it looks like an API key.
pub(super) fn explain(path: &str) -> Option<Problem> {
    let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
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
        ("a link", LinkId::new([0; 12]).to_string()),
    ];
    kinds.iter().find_map(|(owner, example)| {
        let place = (1..segments.len()).find(|&place| is_route_with(&segments, place, example))?;
        Some(problem(segments.get(place)?, owner, example))
    })
}

fn is_route_with(segments: &[&str], place: usize, id: &str) -> bool {
    let mut path = String::new();
    for (number, &segment) in segments.iter().enumerate() {
        path.push('/');
        path.push_str(if number == place { id } else { segment });
    }
    // Tools, visits and slugs take any text.
    match Place::parse_path(&path) {
        Err(_) | Ok(Place::Tool(..) | Place::Visit(_)) => false,
        Ok(Place::Admin(place)) => !place.is_by_slug(),
        Ok(_) => true,
    }
}

fn problem(segment: &str, owner: &str, example: &str) -> Problem {
    let (prefix, digits) = example.split_once('_').unwrap_or((example, ""));
    let expected = format!("{prefix}_ and {} letters and digits", digits.len());
    let detail = match segment.strip_prefix("utg_") {
        Some(_) => format!("an API key is not the id of {owner}, which is {expected}; keep keys out of URLs"),
        None => {
            let shown: String = segment.chars().take(Action::MAX_LEN).collect();
            format!("`{shown}` is not the id of {owner}, which is {expected}")
        }
    };
    Problem::new(Code::RouteUnknown, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(path: &str) -> String {
        let problem = Place::parse(path).err().unwrap();
        assert_eq!(problem.code(), Code::RouteUnknown, "{path}");
        problem.detail().to_owned()
    }

    #[test]
    fn malformed_id_is_named_with_what_is_expected() {
        let page = PageId::new([7; 12]);
        let webhook = EndpointId::new([7; 12]);
        for (path, named) in [
            ("/v1/keys/abc", "`abc` is not the id of a key, which is key_ and 17 letters and digits"),
            ("/v1/keys/key_1/rotate", "`key_1` is not the id of a key"),
            ("/v1/keys/key_1/revoke", "`key_1` is not the id of a key"),
            ("/pages/7", "`7` is not the id of a page, which is pg_ and 17"),
            ("/pages/7/publish", "`7` is not the id of a page"),
            (&format!("/pages/{page}/product-sources/x"), "`x` is not the id of a product source"),
            ("/webhooks/1", "`1` is not the id of a webhook, which is whe_ and 17"),
            (&format!("/pages/{page}/links/1"), "`1` is not the id of a link"),
            (&format!("/webhooks/{webhook}/deliveries/1"), "`1` is not the id of a delivery"),
            ("/events/latest", "`latest` is not the id of an event, which is evt_ and 22"),
            ("/admin/accounts/ada", "`ada` is not the id of a key"),
            ("/admin/pages/a", "`a` is not the id of a page"),
            ("/hooks/products/1", "`1` is not the id of a product source"),
        ] {
            let detail = detail(path);
            assert!(detail.starts_with(named), "{path}: {detail}");
        }
    }

    #[test]
    fn api_key_in_a_path_is_not_shown() {
        let detail = detail("/v1/keys/utg_live_secret");
        assert!(detail.starts_with("an API key is not the id of a key") && !detail.contains("live"));
    }

    #[test]
    fn path_that_no_id_makes_a_route_keeps_its_refusal() {
        for path in ["/v1/keys/abc/delete", "/v1/qr", "/v2/qr/generate", "/docs/none", "/pages/7/x/y/z/a"] {
            assert!(!detail(path).contains("is not the id"), "{path}");
        }
    }

    #[test]
    fn nothing_lies_below_the_longest_route() {
        let path = format!("/pages/{}/product-sources/{}/runs", PageId::new([7; 12]), SourceId::new([7; 12]));
        assert!(Place::parse(&path).is_ok());
        assert!(!detail(&format!("{path}/more")).contains("is not the id"));
    }
}
