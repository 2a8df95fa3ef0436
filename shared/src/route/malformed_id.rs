//! The refusal of a path that would be a route if one of its ids were well-formed.

use crate::action::Action;
use crate::problem::{Problem, codes};

/// Returns the refusal of a segment in the place of an id of `owner`, such as `a key`. It is shown, unless
/// it looks like an API key. `example` is an id.
pub fn malformed_id(segment: &str, owner: &str, example: &str) -> Problem {
    let (prefix, digits) = example.split_once('_').unwrap_or((example, ""));
    let expected = format!("{prefix}_ and {} letters and digits", digits.len());
    let detail = match segment.strip_prefix("utg_") {
        Some(_) => format!("an API key is not the id of {owner}, which is {expected}; keep keys out of URLs"),
        None => {
            let shown: String = segment.chars().take(Action::MAX_LEN).collect();
            format!("`{shown}` is not the id of {owner}, which is {expected}")
        }
    };
    Problem::new(codes::ROUTE_UNKNOWN, detail)
}

#[cfg(test)]
mod tests {
    use super::super::Route;
    use crate::problem::codes;

    fn detail(path: &str) -> String {
        let problem = Route::parse("GET", path).unwrap_err();
        assert_eq!(problem.code(), codes::ROUTE_UNKNOWN, "{path}");
        problem.detail().to_owned()
    }

    #[test]
    fn malformed_id_is_named_with_what_is_expected() {
        for (path, named) in [
            ("/v1/keys/abc", "`abc` is not the id of a key, which is key_ and 17 letters and digits"),
            ("/v1/keys/key_1/rotate", "`key_1` is not the id of a key"),
            ("/v1/keys/key_1/revoke", "`key_1` is not the id of a key"),
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
        for path in ["/v1/keys/abc/delete", "/v1/qr", "/v1/a/b/c"] {
            assert!(!detail(path).contains("is not the id"), "{path}");
        }
    }
}
