//! The guides of the gateway: keys, tools, limits, errors.

use std::num::NonZeroU32;

use biolink::codes;
use maud::{Markup, html};
use shared::key::KeyEnv;
use shared::policy::Policy;
use shared::quota::{QuotaStatus, WindowStatus};
use shared::request::{BODY_IDLE_TIMEOUT_MS, MIN_BODY_RATE, TOOL_RESPONSE_TIMEOUT_MS};
use shared::tier::Tier;

use super::super::host::Host;
use super::super::layout::sample;
use super::{Source, get, tables, written};

pub(super) fn start(source: &Source<'_>) -> Markup {
    html! {
        ol {
            li {
                "The operator of this gateway issues you a key. It begins with " code { (KeyEnv::Live.prefix()) }
                " and is shown once. Keep it where your program finds it: "
                code { "export KEY=utg_live_…" }
            }
            li { "Call a tool at " code { "/v1/{tool}/{action}" } ", with the key in the header " code { "X-API-Key" } ":" }
        }
        (source.example("qr_post"))
        p { "See what the key has used. This is free of charge:" }
        (source.example("read_own_key"))
        ul {
            li { "Query, body and headers reach the tool as they are, without your key, " code { "Cookie" } " and " code { "Authorization" } ". A valid " code { "traceparent" } " is continued, so the tool is part of your trace." }
            @if source.host == Host::Edge {
                li { "Agents use the MCP server at " code { "/mcp" } " with the same key, and read " a href="/llms.txt" { code { "/llms.txt" } } "." }
            }
            li { "Paths are taken literally: nothing is decoded or normalized." }
            li {
                "Operators issue keys with " a href="/docs/manage-keys#issue_key" { code { "POST /v1/keys/issue" } }
                @if source.host == Host::Edge { " or in the " a href="/console" { "console" } }
                "."
            }
        }
    }
}

pub(super) fn tools(host: Host) -> Markup {
    html! {
        p { "Each tool takes GET and POST and defines its actions itself. qr and image have " code { "generate" } "." }
        p {
            "The actions of each tool, with schemas and examples, are described "
            @match host {
                Host::Edge => { a href="/docs/tools" { "on a separate page" } " and, for programs, at " }
                Host::Direct => "at "
            }
            a href="/tools" { code { "/tools" } } " and, as OpenAPI, at " a href="/tools/openapi.json" { code { "/tools/openapi.json" } } "."
        }
        (tables::tools())
    }
}

pub(super) fn limits(source: &Source<'_>) -> Markup {
    html! {
        p { "A key has these limits, for all tools together, unless it was issued with custom ones." }
        (tables::tiers())
        p { "A call counts for 60.3 to 61 seconds, rarely longer. If you limit calls on your side, use a window of 61 seconds: with 60.0 a call is refused now and then." }
        p { "A call counts if it reached its tool. A call that the gateway refuses, or that ends in 503 because the tool is not available, does not count against the daily quota." }
        p { "Every response to a key shows its quotas. " code { "q" } " is the limit and " code { "w" } " its window in seconds. " code { "r" } " calls remain, and more become available in " code { "t" } " seconds:" }
        (sample(&quota_headers()))
        p { "A call over the limit gets 429 with " code { "Retry-After" } ". A call made then passes. Read the usage with " a href="/docs/keys#read_own_key" { "one call" } ":" }
        (source.example("read_own_key"))
        p { "A key may also have limits in units, which calls cost by price. A call that could exceed one is 429 before it costs anything, and units that it does not use are refunded. " code { "RateLimit" } " then has items such as " code { "\"units-day\";r=7480;t=51234" } ", and the usage has " code { "units" } "." }
        h3 id="responses" { "Response headers" }
        (tables::headers(source.gateway))
        h3 id="bounds" { "Request limits" }
        (tables::bounds())
    }
}

/// Returns the headers of a response to a Free key that has made seven calls today, three in this minute.
fn quota_headers() -> String {
    let Policy { minute, day, .. } = Policy::for_tier(Tier::Free);
    let left = |limit: NonZeroU32, used: u32, reset_ms: u64| {
        let limit = limit.get();
        WindowStatus { limit, remaining: limit.saturating_sub(used), reset_ms }
    };
    let day = day.map(|limit| left(limit, 7, 51_234_000));
    let [(_, policy), (_, left)] =
        QuotaStatus { minute: left(minute, 3, 41_000), day, units: None }.headers();
    format!("RateLimit-Policy: {policy}\nRateLimit: {left}")
}

pub(super) fn errors(source: &Source<'_>) -> Markup {
    html! {
        p {
            "The gateway's own errors are problem details (RFC 9457) as " code { "application/problem+json" }
            " with the header " code { "X-Gateway-Problem" } ", which no tool can send. An error without that header is the tool's own."
        }
        ul {
            li { "Switch on " code { "code" } ". The texts may change. " code { "retry" } " says whether to send the request again: " code { "never" } ", " code { "later" } " or " code { "after_read" } "." }
            li { "Some can be " a href="/docs/retries" { "retried" } "." }
            li { "If you ask for help, give the " code { "request_id" } "." }
            @if source.host == Host::Edge {
                li { "See it afterwards by its " code { "request_id" } " in the " a href="/docs/service#list_calls" { "log of your last calls" } ", which has your tools' own errors too." }
            }
        }
        (sample(&super::super::problem_page::example(codes::TOOL_UNAVAILABLE)))
        (tables::anywhere(source.anywhere))
        (tables::codes())
    }
}

pub(super) fn retries() -> Markup {
    html! {
        ul {
            li { "Retry 429 and 503 after " code { "Retry-After" } " seconds. A tool that cannot be reached is always a 503." }
            li { "Without that header, wait a second, and double the wait after each further attempt. Give up after a few." }
            li { "Cap the wait: when the daily or monthly quota is exhausted, " code { "Retry-After" } " is hours. Beyond 61 seconds the samples return the problem, whose code is in " code { "X-Gateway-Problem" } "." }
            li { "The member " code { "retry" } " of the problem says it for each code: " code { "later" } " with 429, 500 and 503, " code { "never" } " for what is refused again, and " code { "after_read" } " if you have to read the page anew." }
            li { "A GET can always be sent again. A POST may be executed twice, unless " a href="/docs/idempotency" { "it has an idempotency key" } ". " code { "tool-timeout" } " and " code { "tool-unavailable" } " say whether the tool may have executed it." }
        }
        p { "Libraries that retry follow " code { "Retry-After" } " too, many without a limit. Set theirs:" }
        (tables::retrying_libraries())
        (written([
            include_str!("code/retry.sh"),
            include_str!("code/retry.mjs"),
            include_str!("code/retry.py"),
            include_str!("code/retry.rs"),
            include_str!("code/retry.go"),
        ]))
    }
}

pub(super) fn idempotency(source: &Source<'_>) -> Markup {
    html! {
        p {
            "Give a " code { "POST" } " that issues a key or creates a secret"
            @if source.host == Host::Edge {
                ", that creates or publishes a page, or that creates links, a product source, a domain or a webhook,"
            }
            " the header " code { "Idempotency-Key" } ". If its response was lost, send it again with the same value: it is executed once, and you get the response again."
        }
        @let (path, header, body) = match source.host {
            Host::Edge => ("/pages", "X-API-Key: $KEY", r#"{"title":"Ada"}"#),
            Host::Direct => ("/v1/keys/issue", "Authorization: Bearer $ADMIN_SECRET", r#"{"email":"ada@example.com","name":"Ada","tier":"free"}"#),
        };
        (sample(&format!("curl -sS -X POST https://server.invalid{path} \\\n  -H \"{header}\" -H 'Content-Type: application/json' \\\n  -H 'Idempotency-Key: 7c9e6679-7425-40de-944b-e07fc1f90ae7' -d '{body}'")))
        ul {
            li { "Use a new UUID for each request, and the same one for each retry of it." }
            li { "A value is valid for 24 hours." }
            @if source.host == Host::Edge {
                li { "A response of pages or webhooks that is repeated has " code { "Idempotency-Replayed: true" } "." }
            }
            li { "Other fields with the same value are 422 " a href="/problems/idempotency-key-reused" { code { "idempotency-key-reused" } } ". While the first attempt is in flight, the second is 409 " a href="/problems/idempotency-conflict" { code { "idempotency-conflict" } } "." }
            li { "Tool calls are not stored: the header reaches the tool, which decides what to do with it." }
        }
    }
}

pub(super) fn rotation(source: &Source<'_>) -> Markup {
    html! {
        p { "Give each program " a href="/docs/keys#create_secret" { "its own secret" } ": it can do only what the program needs, and can be revoked separately." }
        p { "Replace a key's secret without downtime. The key keeps its id, its limits and its usage." }
        (source.example("rotate_own_key"))
        ol {
            li { "Store the " code { "key" } " of the response. It is shown once." }
            li { "Use it everywhere until " code { "rotation.former_key_valid_until" } ". Until then both are valid." }
            li { "See with " a href="/docs/keys#read_own_key" { code { "GET /v1/keys/me" } } " when the grace period ends." }
        }
        p { "If a key has leaked, rotate it with " code { "\"grace_seconds\": 0" } ", or " a href="/docs/keys#revoke_own_key" { "revoke it" } ". Either takes effect everywhere within 10 seconds." }
    }
}

pub(super) fn streaming() -> Markup {
    html! {
        p { "Bodies stream both ways and are never parsed. Read the response as it arrives:" }
        (written([
            include_str!("code/stream.sh"),
            include_str!("code/stream.mjs"),
            include_str!("code/stream.py"),
            include_str!("code/stream.rs"),
            include_str!("code/stream.go"),
        ]))
        ul {
            li { "A tool has " (TOOL_RESPONSE_TIMEOUT_MS / 1_000) " seconds to begin its response. After that the call ends with 503 " a href="/problems/tool-timeout" { code { "tool-timeout" } } "." }
            li { "A client that sends or reads nothing for " (BODY_IDLE_TIMEOUT_MS / 1_000) " seconds is cut off, and so is one that stays below " (MIN_BODY_RATE) " bytes a second on average." }
            li { "A response with a " code { "Content-Length" } " that is cut off has fewer bytes than that." }
            li { "An event stream that is cut off ends with an event " code { "error" } ", whose data is the problem " a href="/problems/response-aborted" { code { "response-aborted" } } ". Every line before it is complete, and an event that lacks its end is named " code { "incomplete" } ". The call does not count against the day." }
            li { "Any other response without a length may look complete although it was cut off. Rely on its format, such as the closing brace of JSON." }
            li { "WebSockets are refused with 501 " a href="/problems/upgrade-unsupported" { code { "upgrade-unsupported" } } "." }
        }
    }
}

pub(super) fn browsers() -> Markup {
    html! {
        p { "Any origin may call, send any header, and read every response, errors too. A preflight needs no key." }
        (sample("// In node the key is in the environment, in a page the reader is asked for it.\nconst key = globalThis.process?.env.KEY ?? prompt(\"Your API key\");\nconst response = await fetch(\"https://server.invalid/v1/keys/me\", {\n  headers: { \"X-API-Key\": key },\n});\nconsole.log(response.headers.get(\"RateLimit\"));"))
        p { "Anyone can read a key in a public page. Call from your server instead, or issue a separate key with low limits." }
        p { "Check from a program what a browser may do:" }
        (get("/v1/status"))
    }
}
