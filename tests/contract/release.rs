//! The version of the workspace against the documents that name it.

use std::{fs, process::Command};

use tests::process::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the titles of the changelog's versions, the newest first.
fn titles(changelog: &str) -> Vec<&str> {
    changelog.lines().filter_map(|line| line.strip_prefix("## ")).collect()
}

#[test]
fn newest_version_of_the_changelog_is_the_workspace() {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let titles = titles(&changelog);
    assert_eq!(titles.first(), Some(&"Unreleased"));
    let newest = titles.get(1).copied().unwrap_or_default();
    assert!(newest.starts_with(&format!("[{VERSION}] - 20")), "{newest} is not {VERSION}");
}

/// Names of packages and images in documents, manifests and samples.
#[test]
fn version_of_a_package_in_documents_is_the_workspace() {
    let args = ["grep", "-Ihoe", r"utg-proxy[_:][0-9][0-9.]*[0-9]", "--", "*.md", "conf"];
    let ran = Command::new("git").current_dir(root()).args(args).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let versions: Vec<_> = text.lines().filter_map(|name| name.split(['_', ':']).nth(1)).collect();
    assert!(versions.len() >= 4, "{versions:?}");
    assert!(versions.iter().all(|version| *version == VERSION), "{versions:?} are not {VERSION}");
}
