//! `conf/` and `docs/operating/` match the binary.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use config::Config;
use serde_json::Value;
use shared::{problem::codes, tool::Tool};

use tests::{FakeTool, ToolBehavior, grant::call, process::binary, proxy::ProxyConfig};

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// Returns the text of all pages of the operating guide.
fn guide() -> String {
    const PAGES: [&str; 6] = ["install", "traffic", "tls-and-secrets", "direct-mode", "runbook", "reference"];
    PAGES.map(|page| file(&format!("docs/operating/{page}.md"))).concat()
}

/// Returns the values of a key in `conf/alerts.yml`. They stand on the line of the key, or are folded below it.
fn alert_lines(key: &str) -> Vec<String> {
    const FOLDED: &str = ">-";
    let alerts = file("conf/alerts.yml");
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut values = Vec::new();
    let mut lines = alerts.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(value) = line.trim_start_matches([' ', '-']).strip_prefix(key) else { continue };
        let mut value = value.trim().trim_matches('"').to_owned();
        if value == FOLDED {
            value.clear();
            while let Some(more) = lines.next_if(|more| depth(more) > depth(line)) {
                value = value + more.trim() + " ";
            }
        }
        values.push(value);
    }
    values
}

/// Returns the PromQL expressions of the dashboard.
fn dashboard_expressions() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&file("conf/grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// Returns every metric that an expression names, with its label matchers (`name="value"`).
fn metrics_of(expression: &str) -> Vec<(String, Vec<String>)> {
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(start) = rest.find(of_a_name) {
        rest = &rest[start..];
        let (name, after) = rest.split_at(rest.find(|c| !of_a_name(c)).unwrap_or(rest.len()));
        let selector = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        rest = selector.map_or(after, |(_, after)| after);
        if name.starts_with("utg_") || name.starts_with("process_") {
            let matchers = selector.map_or("", |(matchers, _)| matchers).split(',');
            found.push((name.to_owned(), matchers.filter(|m| !m.is_empty()).map(str::to_owned).collect()));
        }
    }
    found
}

/// Returns true for a matcher of a label that Prometheus adds to every scrape.
fn is_of_the_scrape(matcher: &str) -> bool {
    matcher.starts_with("job=") || matcher.starts_with("instance=")
}

#[tokio::test]
async fn metric_in_alerts_or_dashboard_exists() {
    let proxy = ProxyConfig::new().ready().await;
    let samples = String::from_utf8(proxy.admin_get("/metrics").await.body).unwrap();
    let expressions = [alert_lines("expr:"), dashboard_expressions()].concat();
    let metrics: Vec<_> = expressions.iter().flat_map(|expression| metrics_of(expression)).collect();
    assert!(metrics.len() > 40, "{}", metrics.len());
    for (name, matchers) in metrics {
        let is_sample =
            |line: &&str| line.strip_prefix(&*name).is_some_and(|rest| rest.starts_with(['{', ' ']));
        assert!(samples.lines().any(|line| is_sample(&line)), "{name} is not a metric of the proxy");
        for matcher in matchers.iter().filter(|matcher| !is_of_the_scrape(matcher)) {
            let selects = samples.lines().filter(is_sample).any(|line| line.contains(matcher.as_str()));
            assert!(selects, "{name} has no series with {matcher}");
        }
    }
}

/// Metrics that no panel shows, and why nobody misses them.
const NOT_ON_THE_DASHBOARD: [(&str, &str); 3] = [
    ("process_start_time_seconds", "ProxyRestarting tells of starts"),
    ("process_threads", "their number does not change"),
    ("process_virtual_memory_bytes", "only the resident memory is used"),
];

#[tokio::test]
async fn metric_is_on_the_dashboard_or_an_exception() {
    let proxy = ProxyConfig::new().ready().await;
    let samples = String::from_utf8(proxy.admin_get("/metrics").await.body).unwrap();
    let shown = dashboard_expressions().into_iter().flat_map(|expression| metrics_of(&expression));
    let shown: BTreeSet<_> = shown.map(|(name, _)| name.trim_end_matches("_bucket").to_owned()).collect();
    let own = samples.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let missing: Vec<_> = own.filter(|name| !shown.contains(*name)).collect();
    assert_eq!(missing, NOT_ON_THE_DASHBOARD.map(|(name, _)| name));
}

/// A panel that lies on another one is not seen.
#[test]
fn panels_of_the_dashboard_do_not_overlap() {
    let dashboard: Value = serde_json::from_str(&file("conf/grafana.json")).unwrap();
    let place = |panel: &Value| ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
    let panels = dashboard["panels"].as_array().unwrap();
    let mut taken = BTreeSet::new();
    for panel in panels {
        let [x, y, width, height] = place(panel);
        assert!(x + width <= 24, "{}", panel["title"]);
        for cell in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{} lies on another panel", panel["title"]);
        }
    }
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
}

#[test]
fn alert_has_a_summary_and_a_runbook_entry() {
    let runbook = file("docs/operating/runbook.md");
    let entries: BTreeSet<_> = runbook.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let names = alert_lines("alert:");
    let links: Vec<_> =
        names.iter().map(|name| format!("docs/operating/runbook.md#{}", name.to_lowercase())).collect();
    assert_eq!(alert_lines("runbook:"), links);
    assert_eq!(entries, names.iter().map(String::as_str).collect());
    for key in ["expr:", "for:", "labels:", "summary:"] {
        assert_eq!(alert_lines(key).len(), names.len(), "{key}");
    }
    assert!(alert_lines("labels:").iter().all(|labels| labels.contains("page") || labels.contains("ticket")));
}

#[test]
fn guide_explains_every_code_that_operators_can_fix() {
    let guide = file("docs/operating/runbook.md");
    let codes = codes::TABLE.iter().filter(|code| code.status() >= 500 || **code == codes::GRANT_INVALID);
    for code in codes {
        let row = format!("| `{}` | {} |", code.as_str(), code.status());
        assert!(guide.contains(&row), "{row}");
    }
}

#[test]
fn setting_in_the_guide_exists() {
    let keys = Config::keys();
    let guide = guide();
    let words = guide.split('`').skip(1).step_by(2).filter_map(|code| code.split([' ', '=']).next());
    let settings = words.filter(|word| {
        word.split_once('.').is_some_and(|(section, _)| keys.contains(section)) && !word.contains('/')
    });
    let settings: Vec<_> = settings.collect();
    assert!(settings.len() >= 3, "{settings:?}");
    assert!(settings.iter().all(|setting| keys.contains(*setting)), "{settings:?}");
}

#[test]
fn systemd_unit_matches_the_binary_and_the_guide() {
    let (unit, guide) = (file("conf/proxy.service"), file("docs/operating/install.md"));
    let help = Command::new(binary("proxy")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands: Vec<_> =
        unit.lines().filter_map(|line| line.strip_prefix("ExecStart")?.split_once('=')).collect();
    assert_eq!(commands.len(), 2);
    let checks = unit.lines().filter(|line| line.contains(" --check"));
    // A faulty file among those that the configuration names must not keep the unit from starting.
    assert_eq!(checks.filter(|line| !line.starts_with("ExecStartPre=-")).collect::<Vec<_>>(), [""; 0]);
    for (_, command) in commands {
        for word in command.trim_start_matches('-').split(' ') {
            match word.starts_with('-') {
                true => assert!(help.contains(word), "{word} is not an argument"),
                false => assert!(guide.contains(&format!(" {word}")), "{word} is not installed by the guide"),
            }
        }
    }
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    assert!(guide.contains(value("EnvironmentFile=")));
    let patience = Duration::from_secs(value("TimeoutStopSec=").parse().unwrap());
    for sample in ["conf/proxy.toml", "conf/proxy.edge.toml"] {
        let env = |name: &str| {
            ["GRANT_SECRET", "DATA_CENTER"]
                .contains(&name)
                .then(|| "0123456789abcdef0123456789abcdef".to_owned())
        };
        let config = Config::parse(sample, &file(sample), &env).unwrap_or_else(|faults| panic!("{faults}"));
        assert!(config.server.grace < patience, "{sample}: calls are cut off by systemd");
    }
}

/// Runs `systemd-analyze`. Returns `None` if systemd is not installed.
fn systemd(arguments: &[&str], unit: &Path) -> Option<Output> {
    match Command::new("systemd-analyze").args(arguments).arg(unit).output() {
        Ok(output) => Some(output),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
            None
        }
    }
}

#[test]
fn systemd_unit_is_valid_and_hardened() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("utg-proxy.service");
    let text = file("conf/proxy.service").replace("/usr/local/bin/proxy", binary("proxy").to_str().unwrap());
    fs::write(&unit, text).unwrap();
    for arguments in [&["verify"][..], &["security", "--offline=true", "--threshold=15"]] {
        let Some(output) = systemd(arguments, &unit) else { continue };
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let complaint = String::from_utf8_lossy(&output.stderr).contains("utg-proxy.service");
        assert!(!complaint, "{arguments:?}: {output:?}");
    }
}

#[tokio::test]
async fn second_attempt_is_counted_as_one_retry() {
    let tools =
        [FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await];
    let proxy = ProxyConfig::new()
        .tool(Tool::Qr, &[&tools[0], &tools[1]])
        .pool_line(Tool::Qr, "probe.interval = \"60s\"")
        .ready()
        .await;
    tools[0].stop().await;
    for _ in 0..4 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
    }
    let failed =
        format!(r#"utg_upstream_connect_failures_total{{tool="qr",upstream="{}"}}"#, tools[0].address);
    let failed = proxy.metric(&failed).await.unwrap();
    assert!(failed >= 1.0);
    assert_eq!(proxy.metric(r#"utg_upstream_retries_total{after="connect",tool="qr"}"#).await, Some(failed));
    assert_eq!(proxy.metric(r#"utg_calls_total{status="2xx",tier="pro",tool="qr"}"#).await, Some(4.0));
}
