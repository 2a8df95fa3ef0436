//! The problem codes of the gateway: keys, limits, routes and tools.

use super::{Code, Retry, Row};

crate::problem_codes! {
    PATH_MALFORMED = Row::new(
        "path-malformed",
        400,
        "The path is not well formed",
        "Paths are plain segments of letters, digits and -._~ with single slashes between them. Percent-encoding, dot segments, backslashes and empty segments are refused rather than normalized, so that a path means the same to everyone.",
        "Write the path as the reference shows it: single slashes, none at the end, nothing percent-encoded.",
    );
    HEADER_MALFORMED = Row::new(
        "header-malformed",
        400,
        "A header is not acceptable",
        "A header is sent twice, contradicts another, or has a name with an underscore. The detail names it.",
        "Look at the header that the `detail` names, and send it once. Proxies between you and the gateway may have added it.",
    );
    BODY_MALFORMED = Row::new(
        "body-malformed",
        400,
        "The body is not a JSON object",
        "The body could not be read as one JSON object with each member once, in UTF-8.",
        "Send one JSON object in UTF-8, with each member once. A JSON library does it.",
    );
    KEY_MISSING = Row::new(
        "key-missing",
        401,
        "An API key is required",
        "Send your key in the header X-API-Key. Keys are not read from the query, from cookies or from Authorization.",
        "Send the key: `X-API-Key: utg_live_…`.",
    );
    KEY_MALFORMED = Row::new(
        "key-malformed",
        401,
        "The API key is mistyped",
        "The text in X-API-Key is not a key: its prefix, length or checksum is wrong. A character was lost or changed on the way; copy the key again.",
        "Copy the key again, without quotes, spaces or line breaks.",
    );
    KEY_INVALID = Row::new(
        "key-invalid",
        401,
        "The API key is not valid",
        "No live key has this secret. It may have been replaced by a rotation, or belong to another deployment.",
        "Use the key of the last rotation, and the address of the gateway that issued it.",
    );
    KEY_EXPIRED = Row::new(
        "key-expired",
        401,
        "The API key has expired",
        "The key was valid until the moment that was set for it. Ask for a new one.",
        "Ask the operator for a new key.",
    );
    KEY_REVOKED = Row::new(
        "key-revoked",
        401,
        "The API key is revoked",
        "The key was revoked and will not work again. Ask for a new one.",
        "Ask the operator for a new key.",
    );
    KEY_DISABLED = Row::new(
        "key-disabled",
        401,
        "The API key is disabled",
        "The key is switched off for now. Whoever issued it can switch it on again.",
        "Ask the operator to enable the key.",
    );
    ADMIN_REQUIRED = Row::new(
        "admin-required",
        401,
        "The admin secret is required",
        "Administrative calls carry the admin secret as Authorization: Bearer.",
        "Send the admin secret: `Authorization: Bearer …`. Clients of tools need none.",
    )
    .challenge(r#"Bearer realm="keys""#);
    GRANT_INVALID = Row::new(
        "grant-invalid",
        401,
        "The request carries no valid grant",
        "The origin proxy serves only requests that the edge has signed within the last 30 seconds, each once. Call the gateway's public address instead.",
        "Call the gateway's public address.",
    )
    .challenge(r#"Grant realm="origin""#);
    ORIGIN_TOKEN_INVALID = Row::new(
        "origin-token-invalid",
        401,
        "The request carries no valid token of an origin",
        "What lies below /internal is for the gateway's own proxies. Each signs its requests with GRANT_SECRET, and a signature is good for 30 seconds: secrets and clocks must agree.",
        "Compare `GRANT_SECRET` and the clocks of both sides.",
    )
    .challenge(r#"Bearer realm="origins""#);
    ADMIN_SECRET_INVALID = Row::new(
        "admin-secret-invalid",
        403,
        "The admin secret is wrong",
        "The admin secret does not match. Attempts are counted per address.",
        "Compare the secret with that of the deployment. After a few wrong ones the address has to wait.",
    );
    HTTPS_REQUIRED = Row::new(
        "https-required",
        403,
        "Keys travel over HTTPS only",
        "The request came over plain HTTP, where everyone on the way can read its key. It was refused, and not redirected, so that the mistake shows. Use https, and replace a key that was sent this way.",
        "Call `https://`, and rotate the key: it was sent in the clear.",
    );
    SCOPE_MISSING = Row::new(
        "scope-missing",
        403,
        "The secret lacks a scope",
        "The secret is valid, and was made for other things than this. The member scope names what it lacks. Nothing was counted.",
        "Use another secret of the key, or add the scope with one that has it and `keys`.",
    )
    .members(&[("scope", r#""tools:qr""#)]);
    SIGN_IN_REQUIRED = Row::new(
        "sign-in-required",
        403,
        "The key itself is required",
        "The console is signed in by a cookie, which may read and change much of the account. It may not rotate or revoke the key, make, change, read or end secrets, or export or erase the account.",
        "In the console, type the key again when it asks. Programs send the key in X-API-Key and never see this.",
    );
    ROUTE_UNKNOWN = Row::new(
        "route-unknown",
        404,
        "There is nothing here",
        "The path is not a route of this service. Tools are called at /v1/{tool}/{action}.",
        "Compare the path with the reference.",
    );
    TOOL_UNKNOWN = Row::new(
        "tool-unknown",
        404,
        "There is no such tool",
        "The first segment after /v1/ is not a tool. The detail names the nearest ones; /openapi.json lists all.",
        "Use one of the tools that `nearest` names.",
    )
    .members(&[("nearest", r#"["qr"]"#)]);
    KEY_UNKNOWN = Row::new(
        "key-unknown",
        404,
        "There is no key with this id",
        "No key with this id was ever issued here.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    SECRET_UNKNOWN = Row::new(
        "secret-unknown",
        404,
        "The key has no such secret",
        "The key has no named secret with this id, or it was revoked.",
        "Read the list of the key's secrets.",
    );
    INCIDENT_UNKNOWN = Row::new(
        "incident-unknown",
        404,
        "There is no such incident",
        "No incident of the status page has this id, or it was deleted.",
        "Read the list of incidents.",
    );
    METHOD_NOT_ALLOWED = Row::new(
        "method-not-allowed",
        405,
        "The route does not take this method",
        "The header Allow lists the methods it takes.",
        "Use a method of the header `Allow`.",
    )
    .header("allow", "GET, POST");
    REQUEST_TIMEOUT = Row::new(
        "request-timeout",
        408,
        "The request did not arrive in time",
        "Headers must be complete within 20 seconds, and a body may not pause for 60.",
        "Send the request without pauses.",
    )
    .retry(Retry::Later);
    KEY_CONFLICT = Row::new(
        "key-conflict",
        409,
        "The key is not in a state that allows this",
        "A revoked key cannot be changed or rotated, a replaced secret can change nothing, a secret that expires can make none that ends later, and a key has at most ten named secrets, each with its own name. The detail says which.",
        "Read the key to see its status, and the list of its secrets.",
    );
    IDEMPOTENCY_CONFLICT = Row::new(
        "idempotency-conflict",
        409,
        "The request cannot be repeated now",
        "Another request with the same Idempotency-Key is in flight, or its response cannot be made again. The detail says which.",
        "Wait for the first request. If the `detail` says that its response cannot be made again, look whether it happened.",
    )
    .retry(Retry::Later);
    BODY_TOO_LARGE = Row::new(
        "body-too-large",
        413,
        "The body is too large",
        "The detail names the limit in bytes.",
        "Send less, or several requests.",
    );
    TARGET_TOO_LONG = Row::new(
        "target-too-long",
        414,
        "The path and query are too long",
        "Path and query together may have 8,192 bytes. Send more in the body of a POST.",
        "Move what is long into the body of a POST.",
    );
    MEDIA_TYPE_UNSUPPORTED = Row::new(
        "media-type-unsupported",
        415,
        "The body's media type is not accepted",
        "Bodies are application/json unless the tool takes other types; Accept lists what it takes. A PATCH may also be application/merge-patch+json. The gateway's own APIs take no body with a Content-Encoding.",
        "Send `Content-Type: application/json`, and the body without `Content-Encoding`.",
    )
    .header("accept", "application/json");
    EXPECTATION_FAILED = Row::new(
        "expectation-failed",
        417,
        "The expectation cannot be met",
        "The only expectation that is understood is 100-continue.",
        "Send no `Expect` but `100-continue`.",
    );
    FIELDS_INVALID = Row::new(
        "fields-invalid",
        422,
        "Some fields are not acceptable",
        "errors lists every fault with a JSON Pointer to the value.",
        "Correct each field that `errors` names. All faults are listed.",
    )
    .members(&[("errors", r##"[{"pointer":"#/links/0/url","detail":"must be an absolute URL with https or http"}]"##)]);
    IDEMPOTENCY_KEY_REUSED = Row::new(
        "idempotency-key-reused",
        422,
        "The Idempotency-Key belongs to another request",
        "The same Idempotency-Key was sent with other fields within the last 24 hours. Send a new one with a new request.",
        "Draw a new `Idempotency-Key` for each new request.",
    );
    QUOTA_EXCEEDED = Row::new(
        "quota-exceeded",
        429,
        "The key's quota is used up",
        "The key has made as many calls as its tier allows within a minute or a day. Retry-After says when the next call will pass; RateLimit-Policy shows the limits. A refused call is not counted.",
        "Spread calls over the minute. If that is not enough, ask the operator for a higher tier.",
    )
    .type_base("https://iana.org/assignments/http-problem-types#")
    .members(&[("violated-policies", r#"["minute"]"#)])
    .header("retry-after", "41");
    ATTEMPTS_EXCEEDED = Row::new(
        "attempts-exceeded",
        429,
        "Too many wrong admin secrets",
        "Wrong admin secrets are counted per address. Retry-After says when the next attempt is taken.",
        "Wait, then send the right secret.",
    );
    TOO_MANY_REQUESTS = Row::new(
        "too-many-requests",
        429,
        "Too many requests from this address",
        "The address, or the key, sends more than the machine takes from one client. This protects the machine; it is not your key's quota.",
        "Send fewer concurrent requests from this address.",
    );
    HEADERS_TOO_LARGE = Row::new(
        "headers-too-large",
        431,
        "The headers are too large",
        "Headers may have 128 lines and 65,536 bytes in all.",
        "Send fewer or shorter headers: large cookies are the usual reason.",
    );
    INTERNAL = Row::new(
        "internal",
        500,
        "Something went wrong here",
        "The fault is on our side and has been logged under request_id.",
        "Tell the operator the `request_id`.",
    );
    UPGRADE_UNSUPPORTED = Row::new(
        "upgrade-unsupported",
        501,
        "WebSockets are not supported",
        "Tools are called with requests and responses. For messages as they come, a tool may respond with an event stream. The call does not count.",
        "Call the tool with a plain request, without `Upgrade: websocket`.",
    );
    TOOL_UNAVAILABLE = Row::new(
        "tool-unavailable",
        503,
        "The tool is not available",
        "No server of the tool can be reached. Retry-After says when it is looked at next. The call does not count against the day.",
        "See the status page, and call again later.",
    );
    TOOL_TIMEOUT = Row::new(
        "tool-timeout",
        503,
        "The tool did not respond in time",
        "The tool took longer than it may. The call does not count against the day.",
        "Ask the tool for less in one call.",
    );
    TOOL_OVERLOADED = Row::new(
        "tool-overloaded",
        503,
        "The tool has too much to do",
        "The tool has its maximum number of calls in flight. The call does not count against the day.",
        "Call again in a moment, and keep fewer calls in flight.",
    );
    TOOL_DISABLED = Row::new(
        "tool-disabled",
        503,
        "The tool is switched off",
        "The operator has switched the tool off, for maintenance for instance. Retry-After says until when, where that is known.",
        "See the status page, and call again later.",
    );
    RESPONSE_ABORTED = Row::new(
        "response-aborted",
        503,
        "The tool cut off its response",
        "The tool's server died or fell silent in the middle of its response, whose status was sent before. An event stream then ends with an event named error, whose data is this problem. What came before it is the tool's own and may be incomplete. The call does not count against the day.",
        "Drop what came, or go on after its last whole event if the tool can, and call again.",
    );
    ORIGIN_INVALID = Row::new(
        "origin-invalid",
        503,
        "The data center cannot be reached",
        "Another server than the gateway's own responded in the data center's place. Its response is not passed on, and the call does not count against the day.",
        "See the status page, and call again later.",
    );
    KEY_STORE_UNAVAILABLE = Row::new(
        "key-store-unavailable",
        503,
        "The key cannot be checked right now",
        "The store of keys did not respond. This says nothing about your key; try again.",
        "Nothing is wrong with the request. Send it again.",
    );
    METER_UNAVAILABLE = Row::new(
        "meter-unavailable",
        503,
        "The quota cannot be checked right now",
        "The meter of your key did not respond, and its tier waits rather than risk a call over the limit. Try again.",
        "Nothing is wrong with the request. Send it again.",
    );
    STATUS_UNAVAILABLE = Row::new(
        "status-unavailable",
        503,
        "The status history cannot be read right now",
        "The store of the status history and the incidents did not respond. Tools and keys do not need it.",
        "Nothing is wrong with the request. Send it again.",
    );
    NOT_CONFIGURED = Row::new(
        "not-configured",
        503,
        "This part of the gateway is not set up",
        "The operator's deployment lacks a binding or a secret that this route needs, or has a bad one. The detail names the part. Calls of tools, limits and GET /v1/keys/me work without it.",
        "Tell the operator: the log of the worker names what is missing.",
    );
}

/// Returns the code with this name, or `None` if the table has none.
pub fn parse(slug: &str) -> Option<Code> {
    TABLE.iter().copied().find(|code| code.as_str() == slug)
}

/// Returns true if an unauthenticated client can trigger this problem at will. Only these count
/// towards `refusals_per_second`.
pub fn is_unauthenticated(code: Code) -> bool {
    [GRANT_INVALID, KEY_MISSING, KEY_MALFORMED, KEY_INVALID].contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_own_name_only() {
        for &code in TABLE {
            assert_eq!(parse(code.as_str()), Some(code), "two codes share {}", code.as_str());
        }
    }

    #[test]
    fn codes_are_listed_by_rising_status() {
        assert!(TABLE.is_sorted_by_key(|code| code.status()));
    }
}
