//! The guides against the code that decides what they say.

use std::num::NonZeroU32;

use biolink::{codes, policy, route::VisitEndpoint, webhooks::ATTEMPT_TIMEOUT_MS};
use shared::idempotency::KEEP_MS;
use shared::key::KeyEnv;
use shared::meter::TTL_MS;
use shared::policy::{Policy, Window};
use shared::quota::{MARGIN_MS, QuotaStatus, WindowStatus};
use shared::request::{
    BODY_IDLE_TIMEOUT_MS, MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADER_LINES, MIN_BODY_RATE,
    TOOL_RESPONSE_TIMEOUT_MS,
};
use shared::route::MAX_TARGET;
use shared::tier::Tier;

use super::super::problem_page;
use super::super::snippet::Call;
use super::rendering::CODE;
use super::*;

/// The names of figures that the code decides, each with its value as a guide writes it.
fn figures() -> Vec<(String, String)> {
    let seconds = |ms: u64| (ms / 1_000).to_string();
    let minute = u64::from(Window::Minute.seconds());
    let mut figures = vec![
        ("window.seconds", minute.to_string()),
        ("window.shortest", format!("{minute}.{}", MARGIN_MS / 100)),
        ("window.longest", (minute + 1).to_string()),
        ("request.target_bytes", MAX_TARGET.to_string()),
        ("request.header_lines", MAX_HEADER_LINES.to_string()),
        ("request.header_kib", (MAX_HEADER_BYTES / 1_024).to_string()),
        ("request.body_mib", (MAX_BODY_BYTES / 1_024 / 1_024).to_string()),
        ("tool.response_seconds", seconds(TOOL_RESPONSE_TIMEOUT_MS)),
        ("body.idle_seconds", seconds(BODY_IDLE_TIMEOUT_MS)),
        ("body.bytes_per_second", MIN_BODY_RATE.to_string()),
        ("idempotency.hours", (KEEP_MS / 3_600_000).to_string()),
        ("lease.seconds", seconds(TTL_MS)),
        ("account.pages", policy::PAGES.to_string()),
        ("account.calls_per_hour", policy::CALLS_PER_HOUR.to_string()),
        ("webhook.response_seconds", seconds(ATTEMPT_TIMEOUT_MS)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect::<Vec<_>>();
    for tier in Tier::ALL {
        let policy = Policy::for_tier(tier);
        figures.push((format!("{tier}.minute"), policy.minute.to_string()));
        figures.extend(policy.day.map(|day| (format!("{tier}.day"), day.to_string())));
    }
    figures
}

/// Numbers that no code of this repository decides, or none that a guide can name: versions and settings of other
/// programs, and the interval of feeds.
const UNNAMED: [(&str, &str); 5] =
    [("retries", "4"), ("retries", "6"), ("retries", "2"), ("sync", "6"), ("errors", "9457")];

/// Returns the text without blocks of code.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2);
    outside.collect::<Vec<_>>().join("\n")
}

/// Returns the code in the lines of a guide.
fn inline_code(text: &str) -> Vec<String> {
    prose(text).split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the numbers of a guide's prose, each with what follows it.
fn numbers(text: &str) -> Vec<(String, String)> {
    let prose = prose(text);
    let outside: String = prose.split('`').step_by(2).collect::<Vec<_>>().join("_");
    let mut numbers = Vec::new();
    for line in outside.lines() {
        // The number of an item is none of these.
        let line = line
            .split_once(". ")
            .filter(|(number, _)| number.parse::<u8>().is_ok())
            .map_or(line, |(_, rest)| rest);
        let mut rest = line;
        while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
            let before = rest[..at].chars().next_back();
            let tail = &rest[at..];
            let end = tail
                .find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ','))
                .unwrap_or(tail.len());
            let number = tail[..end].trim_end_matches(['.', ',']);
            rest = &tail[number.len()..];
            let is_word = before.is_some_and(char::is_alphanumeric)
                || rest.chars().next().is_some_and(char::is_alphabetic);
            if !is_word {
                numbers.push((number.replace(',', ""), rest.to_owned()));
            }
        }
    }
    numbers
}

/// A figure comes with its name, so that a change of the code finds every place.
#[test]
fn figure_of_a_guide_has_a_name_and_the_value_of_the_code() {
    let figures = figures();
    let mut named = 0;
    for guide in GUIDES {
        for (number, rest) in numbers(guide.text) {
            let name = rest.strip_prefix("<!-- ").and_then(|rest| rest.split(" -->").next());
            let Some(name) = name else {
                let is_status = codes::all().any(|code| code.status().to_string() == number);
                let is_known = is_status || UNNAMED.contains(&(guide.id, number.as_str()));
                assert!(is_known, "{}: {number} has no name: {rest}", guide.id);
                continue;
            };
            let value = figures.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            assert_eq!(value, Some(&number), "{}: {name}", guide.id);
            named += 1;
        }
        let comments = guide.text.matches("<!-- ").count();
        let others = ["edge", "table: tools", "table: headers", "table: any-request", "table: problems"];
        let known = others.map(|name| guide.text.matches(&format!("<!-- {name} -->")).count());
        let figures = numbers(guide.text).iter().filter(|(_, rest)| rest.starts_with("<!-- ")).count();
        assert_eq!(
            comments,
            known.iter().sum::<usize>() + figures,
            "{}: a comment without a meaning",
            guide.id
        );
    }
    assert!(named >= 20, "{named}");
}

#[test]
fn number_without_a_name_is_found() {
    let text = "1. See 10<!-- a --> and 1,000 in `20`, 2xx, v2, 60.3.\n```\n30\n```\n";
    let found: Vec<_> = numbers(text).into_iter().map(|(number, _)| number).collect();
    assert_eq!(found, ["10", "1000", "60.3"]);
}

/// The repository shows the shell's code, and the pages show it in every language.
#[test]
fn sample_with_a_name_is_what_the_description_makes() {
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let operations: Vec<_> = gateway.operations().into_iter().chain(biolink.operations()).collect();
    let (mut of_operations, mut written) = (0, 0);
    for guide in GUIDES {
        for block in guide.text.split("```").skip(1).step_by(2) {
            let (info, text) = block.split_once('\n').unwrap();
            let Some((language, name)) = info.split_once(' ') else { continue };
            assert_eq!(language, "sh", "{info}");
            if CODE.iter().any(|(code, _)| *code == name) {
                let others = format!(
                    "\n\nAlso in [JavaScript](code/{name}.mjs), [Python](code/{name}.py), [Rust](code/{name}.rs) and [Go](code/{name}.go).\n"
                );
                assert!(guide.text.contains(&others), "{name}");
                written += 1;
                continue;
            }
            let operation = operations.iter().find(|operation| operation.id == name);
            let operation = operation.unwrap_or_else(|| panic!("{}: no operation {name}", guide.id));
            let [(_, curl), ..] = Call::of(operation).snippet().0;
            assert_eq!(text.trim_end(), curl, "{}: {name}", guide.id);
            of_operations += 1;
        }
    }
    assert_eq!((of_operations, written), (16, 6));
}

#[test]
fn route_and_problem_in_a_guide_exist() {
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let operations: Vec<_> = gateway.operations().into_iter().chain(biolink.operations()).collect();
    let mut routes = 0;
    for guide in GUIDES {
        for code in inline_code(guide.text) {
            let Some((method, path)) = code.split_once(' ').filter(|(_, path)| path.starts_with('/')) else {
                continue;
            };
            let is_described = operations.iter().any(|one| one.method == method && one.path == path);
            let is_visit = VisitEndpoint::ALL
                .into_iter()
                .any(|one| one.method().as_str() == method && one.path() == path);
            assert!(is_described || is_visit, "{}: {code}", guide.id);
            routes += 1;
        }
        // Such as: 503 `tool-timeout`.
        for (before, code) in prose(guide.text).split('`').step_by(2).zip(inline_code(guide.text)) {
            let status = before.split_whitespace().next_back().and_then(|word| word.parse::<u16>().ok());
            let Some(status) = status.filter(|status| (400..600).contains(status)) else { continue };
            let found = codes::parse(&code).map(|code| code.status());
            assert_eq!(found, Some(status), "{}: {status} {code}", guide.id);
        }
    }
    assert!(routes >= 20, "{routes}");
}

#[test]
fn sample_of_headers_is_what_the_gateway_sends() {
    let text = |id: &str| GUIDES.into_iter().find(|guide| guide.id == id).unwrap().text;
    let Policy { minute, day, .. } = Policy::for_tier(Tier::Free);
    let left = |limit: NonZeroU32, used: u32, reset_ms: u64| WindowStatus {
        limit: limit.get(),
        remaining: limit.get() - used,
        reset_ms,
    };
    let day = day.map(|limit| left(limit, 7, 51_234_000));
    let [(_, policy), (_, left)] =
        QuotaStatus { minute: left(minute, 3, 41_000), day, units: None }.headers();
    assert!(text("limits").contains(&format!("RateLimit-Policy: {policy}\nRateLimit: {left}\n")));
    assert!(text("errors").contains(&problem_page::example(codes::TOOL_UNAVAILABLE)));
    assert!(text("start").contains(&format!("begins with `{}`", KeyEnv::Live.prefix())));
}
