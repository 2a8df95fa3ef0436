//! The command line.

use std::process::{Command, Output};

fn run(arguments: &[&str], secret: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proxy"));
    command
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env_remove("GRANT_SECRET");
    if let Some(secret) = secret {
        command.env("GRANT_SECRET", secret);
    }
    command.output().unwrap()
}

#[test]
fn a_valid_file_passes_the_check_and_an_invalid_one_says_why() {
    let valid = run(&["-c", "conf/proxy.toml", "--check"], Some("0123456789abcdef0123456789abcdef"));
    assert!(valid.status.success() && valid.stderr.is_empty(), "{valid:?}");
    let invalid = run(&["--check"], None);
    assert_eq!(invalid.status.code(), Some(2));
    let said = String::from_utf8(invalid.stderr).unwrap();
    assert!(
        said.contains("conf/proxy.toml:11:10: grants.secret: the environment variable GRANT_SECRET"),
        "{said}"
    );
    let absent = run(&["-c", "nowhere.toml", "--check"], None);
    assert_eq!(absent.status.code(), Some(1));
    assert!(String::from_utf8(absent.stderr).unwrap().contains("nowhere.toml: cannot be read"));
}

#[test]
fn arguments_that_are_wrong_are_told_from_a_file_that_is_wrong() {
    let wrong = run(&["--chek"], None);
    assert_eq!(wrong.status.code(), Some(64));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("--check"));
    assert_eq!(run(&["--help"], None).status.code(), Some(0));
}

#[test]
fn it_tells_its_version() {
    let version = run(&["--version"], None);
    assert_eq!(
        String::from_utf8(version.stdout).unwrap(),
        concat!("proxy ", env!("CARGO_PKG_VERSION"), "\n")
    );
}
