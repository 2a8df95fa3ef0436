//! What V8 has to compile in a new isolate.

use std::process::Command;

use tests::process::{node, root};

/// A large function is optimized first and for long, within the first calls of every isolate.
#[test]
fn functions_that_calls_run_have_at_most_8_kib() {
    let output = Command::new(node()).arg("tests/edge/functions.mjs").current_dir(root()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}
