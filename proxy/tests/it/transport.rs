//! The table of differences between the transports, `tests/vectors/transports.tsv`.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output},
};

use tests::{
    process::root,
    transport::{VARIABLE, differences, differs, modules_above_transports, refusal},
};

/// Runs this test binary with `arguments` on the transport `pingora-proxy`.
fn on_pingora_proxy(arguments: &[&str]) -> Output {
    let own = env::current_exe().unwrap();
    Command::new(own).args(arguments).env(VARIABLE, "pingora-proxy").output().unwrap()
}

/// Appends the text of all Rust files below a folder.
fn read_sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// `scripts/test.sh` leaves these tests out on the other transport. Each must exist and refuse to
/// run there.
#[test]
fn test_left_out_on_pingora_proxy_refuses_to_run_there() {
    let listed = String::from_utf8(on_pingora_proxy(&["--list"]).stdout).unwrap();
    for row in differences() {
        for test in &row.only_on_relay {
            assert!(listed.lines().any(|line| line == format!("{test}: test")), "no test `{test}`");
            let matched = listed.lines().filter(|line| line.contains(test.as_str())).count();
            assert_eq!(matched, 1, "`--skip {test}` leaves out other tests too");
            let output = on_pingora_proxy(&["--exact", test]);
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(!output.status.success() && text.contains(&refusal(&row.name)), "{test}: {text}");
        }
    }
}

/// `--skip` leaves out each test whose name contains the path.
#[test]
fn module_left_out_on_pingora_proxy_has_tests_and_none_elsewhere() {
    let listed = String::from_utf8(on_pingora_proxy(&["--list"]).stdout).unwrap();
    for module in modules_above_transports() {
        let mut left_out = listed.lines().filter(|line| line.contains(&module)).peekable();
        assert!(module.ends_with("::") && left_out.peek().is_some(), "no module `{module}`");
        assert!(
            left_out.all(|line| line.starts_with(&module)),
            "`--skip {module}` leaves out other tests too"
        );
    }
}

#[test]
fn difference_is_asserted_by_a_test() {
    let mut sources = String::new();
    read_sources(&root().join("proxy/tests/it"), &mut sources);
    let sources: String = sources.split_whitespace().collect();
    for row in differences() {
        let is_used = ["differs", "only_on_relay", "known"]
            .iter()
            .any(|helper| sources.contains(&format!("{helper}(\"{}\"", row.name)));
        assert!(is_used, "no test asserts the difference `{}`", row.name);
    }
}

/// The table is the only one, and operators read it.
#[test]
fn documentation_has_every_difference_and_no_other() {
    let page = fs::read_to_string(root().join("docs/transports.md")).unwrap();
    let section = page.split("## Differences").nth(1).expect("the section `Differences`");
    let table = section.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let documented: Vec<_> = rows.skip(1).map(str::to_owned).collect();
    let known = differences().into_iter().map(|row| format!("{} | {}", row.relay, row.pingora_proxy));
    assert_eq!(documented, known.collect::<Vec<_>>());
}

#[test]
#[should_panic(expected = "no row `nothing` in the table of differences")]
fn difference_without_a_row_is_refused() {
    differs("nothing", 1, 2);
}
