//! Numbers that the code decides, in scripts and documents that are written by hand.

use std::{fs, path::Path};

use shared::{policy::Policy, tier::Tier, tool::Tool};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Asserts that each file has its text.
fn check(texts: &[(&str, String)]) {
    for (file, text) in texts {
        let written = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        assert!(written.contains(text.as_str()), "{file}: expected `{text}`");
    }
}

/// Written for `make load`, whose control port was the first tool's + 17 whatever the number of tools was.
#[test]
fn number_of_tools_is_that_of_the_code() {
    let tools = Tool::ALL.len();
    check(&[
        ("scripts/run/ports.mjs", format!("TOOL_COUNT = {tools};")),
        ("conf/README.md", format!("each of the {tools} tools")),
        ("docs/glossary.md", format!("One of the {tools} services")),
        ("docs/mcp.md", format!("any of the {tools} tools")),
        ("docs/performance.md", format!("each of {tools} tools")),
        ("loadtest/README.md", format!("Start all {tools} tools")),
        ("loadtest/README.md", format!("… `{}` {})", Tool::Yt, 9100 + tools - 1)),
    ]);
}

#[test]
fn limits_of_the_tiers_are_those_of_the_code() {
    let [free, pro, enterprise] = [Tier::Free, Tier::Pro, Tier::Enterprise].map(Policy::for_tier);
    let (free_day, pro_day) = (free.day.unwrap(), pro.day.unwrap().get());
    let pro_day = format!("{},{:03}", pro_day / 1_000, pro_day % 1_000);
    check(&[
        ("scripts/run.mjs", format!("(Free: {} calls a minute)", free.minute)),
        ("loadtest/README.md", format!("has {} calls a minute", free.minute)),
        ("docs/limits.md", format!("| Free | {} | {free_day} |", free.minute)),
        ("docs/limits.md", format!("| Pro | {} | {pro_day} |", pro.minute)),
        ("docs/limits.md", format!("| Enterprise | {}, or as agreed | no limit |", enterprise.minute)),
        (
            "portal/openapi/gateway.yaml",
            format!("\"minute\";q={};w=60, \"day\";q={free_day};w=86400", free.minute),
        ),
    ]);
}
