//! The alert rules, played with series of proxies whose servers fail.

use std::process::Command;

use tests::process::root;

/// Of a full server reads succeed, so that a gauge of the last message says nothing for long.
#[test]
fn alerts_fire_for_series_that_flap() {
    let rules = root().join("proxy/tests/it/valkey/alert_rules.yml");
    let played = Command::new("promtool").args(["test", "rules"]).arg(rules).output();
    let played = played.expect("promtool, which `scripts/system-packages.sh servers` installs");
    let said = String::from_utf8_lossy(&played.stdout) + String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{said}");
}
