//! The messages of commits.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use tests::process::root;

const HOOK: &str = "scripts/hooks/commit-msg";

/// Runs git. Returns what it prints, nothing where there is no history, as in a tarball.
fn git(arguments: &[&str]) -> String {
    let ran = Command::new("git").args(arguments).current_dir(root()).output().unwrap();
    String::from_utf8(ran.stdout).unwrap()
}

/// Runs the hook. Returns what it complains of.
fn complaint(message: &str) -> Option<String> {
    let mut hook = Command::new(root().join(HOOK));
    let piped = hook.arg("/dev/stdin").stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut hook = piped.spawn().unwrap();
    hook.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
    let ran = hook.wait_with_output().unwrap();
    (!ran.status.success()).then(|| String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn commit_since_the_hook_has_the_form_of_the_guide() {
    let added = git(&["log", "--diff-filter=A", "--format=%H", "--", HOOK]);
    let Some(first) = added.lines().last() else { return };
    let range = format!("{first}..HEAD");
    for commit in git(&["log", "--no-merges", "--format=%H", &range]).lines() {
        let message = git(&["log", "-1", "--format=%B", commit]);
        assert_eq!(complaint(&message), None, "{commit}");
    }
}

#[test]
fn hook_refuses_what_the_guide_does() {
    let body = "\n\nProblem: a.\nChange: b.\nChecked: c.\n";
    let long = "proxy: retry what no server can have begun to execute yet, once";
    for (message, named) in [
        (format!("Fix things{body}"), "is not `area: imperative`"),
        (format!("proxy: Fix things{body}"), "is not `area: imperative`"),
        (format!("{long}{body}"), "has 63 characters"),
        ("proxy: fix a retry\nand more\n\nbody\n".to_owned(), "second line"),
        ("proxy: fix a retry\n\n# a comment\n".to_owned(), "no body"),
        ("proxy: fix a retry\n".to_owned(), "no body"),
    ] {
        let complaint = complaint(&message).unwrap_or_default();
        assert!(complaint.contains(named), "{message}: {complaint}");
    }
    for subject in ["proxy: fix a retry", "portal, tests: read “so many” as a number", "edge-worker: wait"]
    {
        assert_eq!(complaint(&format!("{subject}{body}")), None);
    }
}
