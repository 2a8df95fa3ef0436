//! The alert rules of `conf/alerts.yml`, played with series of proxies in trouble.

use std::{fs, process::Command};

use tests::process::root;

/// Each file of `alert_rules/` has the series of one kind of trouble, and the alerts that fire.
#[test]
fn alerts_fire_for_the_series_of_their_trouble() {
    let folder = root().join("proxy/tests/it/alert_rules");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 5, "{files:?}");
    let played = Command::new("promtool").args(["test", "rules"]).args(files).output();
    let played = played.expect("promtool, which `scripts/system-packages.sh servers` installs");
    let said = String::from_utf8_lossy(&played.stdout) + String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{said}");
}
