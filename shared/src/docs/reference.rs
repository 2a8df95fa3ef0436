//! The reference: quick start, tools, calls, limits, headers, errors.

use maud::{Markup, html};

use super::layout::{Page, Section, sample};
use crate::{
    headers::API_KEY,
    key::KeyEnv,
    policy::{Policy, Window},
    problem::Code,
    request::{
        BODY_IDLE_TIMEOUT_MS, MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADER_LINES, MIN_BODY_RATE,
        TOOL_RESPONSE_TIMEOUT_MS,
    },
    response::Response,
    route::MAX_TARGET,
    tier::Tier,
    tool::Tool,
};

/// Returns the page `/docs`; `server` is the address that the samples call, such as
/// `https://api.example.com`.
#[must_use]
pub fn reference(server: &str) -> Response {
    let content = html! {
        h1 { "One key, " (Tool::ALL.len()) " tools" }
        p.lead {
            "Every tool is reached at " code { "/v1/{tool}/{action}" } " with one API key. The gateway checks the key, "
            "keeps its limits, and hands the call to the tool as it is."
        }
        (quick_start(server))
        (tools())
        (calls())
        (limits())
        (responses())
        (errors())
        (bounds())
    };
    let page = Page::new(
        "Unified Tool Gateway: reference",
        "How to call the tools behind one API key, with limits and errors",
        &content,
    );
    Page { section: Some(Section::Docs), ..page }.response()
}

fn quick_start(server: &str) -> Markup {
    let issue = format!(
        "curl -sS {server}/v1/keys/issue \\\n  -H 'Content-Type: application/json' \\\n  -d '{{\"email\": \"ada@example.com\", \"name\": \"Ada\", \"tier\": \"free\", \"admin_secret\": \"…\"}}'"
    );
    let call = format!(
        "curl -sS {server}/v1/qr/generate \\\n  -H \"X-API-Key: $KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -d '{{\"url\": \"https://example.com\", \"size\": 256}}'"
    );
    let usage = format!("curl -sS {server}/v1/keys/me -H \"X-API-Key: $KEY\"");
    html! {
        h2 id="start" { "Quick start" }
        p { "Whoever runs the gateway issues you a key. It is shown once:" }
        (sample(&issue))
        p { "Call a tool with it:" }
        (sample(&call))
        p { "See what the key has used, free of charge:" }
        (sample(&usage))
    }
}

fn tools() -> Markup {
    html! {
        h2 id="tools" { "Tools" }
        div.scroll tabindex="0" role="region" aria-label="Tools" {
            table {
                caption { "Each tool takes GET and POST. It defines its actions itself; qr and image have " code { "generate" } "." }
                thead { tr { th scope="col" { "Tool" } th scope="col" { "Path" } th scope="col" { "Purpose" } } }
                tbody {
                    @for tool in Tool::ALL {
                        tr {
                            th scope="row" { (tool) }
                            td { code { "/v1/" (tool) "/{action}" } }
                            td { (tool.purpose()) }
                        }
                    }
                }
            }
        }
    }
}

fn calls() -> Markup {
    html! {
        h2 id="calls" { "Calls" }
        dl {
            dt { "The key" }
            dd {
                "Goes in the header " code { (API_KEY) } " and nowhere else, over https only. Keys begin with "
                code { (KeyEnv::Live.prefix()) } " and end in a checksum, so that a typo is told from a wrong key."
            }
            dt { "The action" }
            dd { "1 to 64 of letters, digits and " code { ". _ ~ -" } ". Paths are taken literally: nothing is decoded or normalised." }
            dt { "The query and the body" }
            dd { "Go to the tool as they are and stream both ways. A POST carries JSON, unless the tool takes other types as well." }
            dt { "Headers" }
            dd {
                "Reach the tool, without your key, " code { "Cookie" } ", " code { "Authorization" } " and what means something to the connection only. "
                code { "traceparent" } " is passed on."
            }
            dt { "From a browser" }
            dd { "Any origin may call (CORS), send any header, and read every response, errors too. Mind that a key in a page is a key given away." }
        }
    }
}

fn limits() -> Markup {
    html! {
        h2 id="limits" { "Limits" }
        div.scroll tabindex="0" role="region" aria-label="Limits by tier" {
            table {
                caption { "Calls that a key may make, all tools together." }
                thead { tr { th scope="col" { "Tier" } th scope="col" { "In any " (Window::Minute.seconds()) " seconds" } th scope="col" { "On a UTC day" } } }
                tbody {
                    @for tier in Tier::ALL {
                        @let policy = Policy::for_tier(tier);
                        tr {
                            th scope="row" { (tier) }
                            td { (policy.minute) }
                            td { @match policy.day { Some(day) => (day), None => "without limit" } }
                        }
                    }
                }
            }
        }
        p { "A key can have limits of its own. What counts is a call that reached its tool: what the gateway refuses and what fails with 503 does not use up the day." }
        p { "Every response to a key shows its quotas:" }
        (sample("RateLimit-Policy: \"minute\";q=10;w=60, \"day\";q=100;w=86400\nRateLimit: \"minute\";r=7;t=41, \"day\";r=93;t=51234"))
        p {
            code { "q" } " is the limit and " code { "w" } " its window in seconds; " code { "r" } " calls remain, and more are to be had in "
            code { "t" } " seconds. A call over the limit gets 429 with " code { "Retry-After" } ": a call made then will pass."
        }
    }
}

fn responses() -> Markup {
    html! {
        h2 id="responses" { "Responses" }
        div.scroll tabindex="0" role="region" aria-label="Headers of responses" {
            table {
                caption { "Headers that the gateway adds. Everything else is the tool's." }
                thead { tr { th scope="col" { "Header" } th scope="col" { "Meaning" } } }
                tbody {
                    @for (name, meaning) in [
                        ("X-Request-Id", "Names the request, here and in every log."),
                        ("X-Gateway-Problem", "The code of a problem of the gateway's own. An error without it is the tool's."),
                        ("RateLimit, RateLimit-Policy", "The quotas of the key."),
                        ("Server-Timing", "Milliseconds of the gateway's own work and of the tool's."),
                        ("Retry-After", "On 429 and 503: when to come back."),
                        ("Proxy-Status", "On 503: what went wrong on the way to the tool (RFC 9209)."),
                        ("X-Gateway-Degraded", "The limit was kept by a local budget, since its meter was out of reach."),
                    ] {
                        tr { th scope="row" { (name) } td { (meaning) } }
                    }
                }
            }
        }
    }
}

fn errors() -> Markup {
    html! {
        h2 id="errors" { "Errors" }
        p {
            "The gateway's own errors are problem details (RFC 9457) as " code { "application/problem+json" } " with the header "
            code { "X-Gateway-Problem" } ", which no tool can send. Switch on " code { "code" } ". An error without that header is the tool's own, of any type. A tool that cannot be reached is always a 503; any other status from 500 up is the tool's own."
        }
        div.scroll tabindex="0" role="region" aria-label="Problem codes" {
            table {
                caption { "Every code, with a page that explains it." }
                thead { tr { th scope="col" { "Status" } th scope="col" { "Code" } th scope="col" { "Meaning" } } }
                tbody {
                    @for code in Code::ALL {
                        tr {
                            td.status { (code.status()) }
                            td { a href=(format!("/problems/{}", code.as_str())) { code { (code.as_str()) } } }
                            td { (code.title()) }
                        }
                    }
                }
            }
        }
    }
}

fn bounds() -> Markup {
    html! {
        h2 id="bounds" { "Bounds" }
        ul {
            li { "Path and query: " (MAX_TARGET) " bytes." }
            li { "Headers: " (MAX_HEADER_LINES) " lines and " (MAX_HEADER_BYTES) " bytes." }
            li { "Body: " (MAX_BODY_BYTES) " bytes, unless the tool says otherwise." }
            li { "A tool has " (TOOL_RESPONSE_TIMEOUT_MS / 1_000) " seconds to respond. After that the call ends with 503 " code { "tool-timeout" } "." }
            li {
                "A client that sends or reads nothing for " (BODY_IDLE_TIMEOUT_MS / 1_000) " seconds is cut off, and one that stays below "
                (MIN_BODY_RATE) " bytes a second on average."
            }
        }
    }
}
