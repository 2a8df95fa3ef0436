//! The refusal of a key that a client of MCP sends as a bearer token.

use shared::problem::{Problem, codes};

/// Returns the refusal of a key in the words of the header `Authorization`.
pub fn key_refused(problem: Problem) -> Problem {
    let code = problem.code();
    if code == codes::KEY_MISSING {
        let detail = "send your API key as `Authorization: Bearer utg_live_…`, or in the header X-API-Key";
        Problem::new(code, detail)
    } else if code == codes::KEY_MALFORMED {
        let detail = "the bearer token in Authorization is not a key: prefix, length or checksum is wrong; copy it again";
        Problem::new(code, detail)
    } else {
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_the_header_that_was_sent() {
        let refused = |code| key_refused(Problem::new(code, "in X-API-Key")).detail().to_owned();
        assert!(refused(codes::KEY_MALFORMED).contains("in Authorization"));
        assert!(!refused(codes::KEY_MALFORMED).contains("X-API-Key"));
        assert!(refused(codes::KEY_MISSING).contains("Authorization: Bearer"));
        assert_eq!(refused(codes::KEY_REVOKED), "in X-API-Key");
    }
}
