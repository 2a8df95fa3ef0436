//! What the shell scripts of a first run may use: bash 3.2 and the tools of macOS.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::Value;
use tests::process::root;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts");

/// The scripts that people run on their own machines. What they call is found by its name.
const PORTABLE: [&str; 3] = ["run.sh", "load.sh", "smoke.sh"];

/// Constructs that bash 3.2 or BSD tools do not have, and what to write instead.
const NOT_PORTABLE: [(&str, &str); 20] = [
    ("mapfile ", "a loop over `read`"),
    ("readarray ", "a loop over `read`"),
    ("declare -A", "two arrays, or a case"),
    ("local -A", "two arrays, or a case"),
    ("local -n", "an argument"),
    (",,}", "tr"),
    ("^^}", "tr"),
    ("|&", "2>&1 |"),
    ("&>>", ">> file 2>&1"),
    ("wait -n", "wait with a process id"),
    ("coproc ", "a named pipe"),
    ("EPOCHREALTIME", "SECONDS"),
    ("base64 -w", "base64 | tr -d '\\n'"),
    ("readlink -f", "cd and pwd"),
    ("stat -c", "wc -c, ls"),
    ("sed -i", "a new file"),
    ("sed -r", "sed -E"),
    ("grep -P", "grep -E"),
    ("nproc", "getconf _NPROCESSORS_ONLN"),
    ("taskset", "nothing: it is Linux's alone"),
];

/// Programs that macOS lacks. A line may call one if it says what happens without it.
const MISSING: [(&str, &str); 2] = [("sha256sum", "shasum -a 256"), ("timeout ", "command -v timeout")];

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(SCRIPTS).join(name)).unwrap()
}

/// Returns the scripts of this folder that a text names.
fn named_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c));
    let scripts = words.filter(|word| word.ends_with(".sh") && Path::new(SCRIPTS).join(word).is_file());
    scripts.map(str::to_owned).collect()
}

/// Returns the scripts of a first run with all that they call.
fn reached() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<String> = PORTABLE.map(str::to_owned).into();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(named_in(&code(&read(&name))));
        }
    }
    found
}

/// Returns a script without its comments.
fn code(script: &str) -> String {
    let lines = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

fn faults(name: &str) -> Vec<String> {
    let script = code(&read(name));
    let mut faults = Vec::new();
    for line in script.lines() {
        for (construct, instead) in NOT_PORTABLE {
            if line.contains(construct) {
                faults.push(format!("{name}: `{construct}` is not portable; write {instead}: {line}"));
            }
        }
        for (program, otherwise) in MISSING {
            if line.contains(program) && !line.contains(otherwise) {
                faults.push(format!(
                    "{name}: macOS has no `{program}`; say `{otherwise}` in the same line: {line}"
                ));
            }
        }
    }
    faults
}

#[test]
fn scripts_of_a_first_run_are_portable() {
    let reached = reached();
    for expected in ["lib.sh", "setup.sh", "build-edge.sh", "secrets.sh", "wasm-std.sh", "npm.sh"] {
        assert!(reached.contains(expected), "{expected} is not found: {reached:?}");
    }
    let faults: Vec<String> = reached.iter().flat_map(|name| faults(name)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns whether the scripts put the project's own Node first on a machine whose Node says this of its version.
fn takes_own_node(version: &str) -> bool {
    let machine = tempfile::tempdir().unwrap();
    let program = machine.path().join("node");
    fs::write(&program, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let before = format!("{}:/usr/bin:/bin", machine.path().display());
    let script = format!("source '{SCRIPTS}/lib.sh' && printf %s \"$PATH\"");
    let ran = Command::new("bash").args(["-euc", &script]).env("PATH", &before).output().unwrap();
    let after = String::from_utf8(ran.stdout).unwrap();
    let own = format!("{}:{before}", root().join(".tools/node/bin").display());
    assert!(after == own || after == before, "{after}");
    after == own
}

#[test]
fn scripts_with_older_node_take_own() {
    let package: Value = serde_json::from_str(&read("../package.json")).unwrap();
    let asked = package["engines"]["node"].as_str().unwrap().strip_prefix(">=").unwrap();
    let (major, minor) = asked.split_once('.').unwrap();
    let [major, minor]: [u32; 2] = [major, minor].map(|number| number.parse().unwrap());
    for (version, is_too_old) in [
        // There is none.
        (String::new(), true),
        (format!("v{}.99.0", major - 1), true),
        (format!("v{major}.{}.9", minor - 1), true),
        (format!("v{major}.{minor}.0"), false),
        (format!("v{}.0.0", major + 1), false),
    ] {
        assert_eq!(takes_own_node(&version), is_too_old, "`{version}`, and package.json asks for {asked}");
    }
}
