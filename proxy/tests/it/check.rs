//! The warnings of `proxy --check`.

use std::os::unix::fs::PermissionsExt as _;

use shared::tool::Tool;

use tests::{
    proxy::ProxyConfig,
    tls::{Authority, NAME, TempFiles},
};

/// Asserts that a configuration is valid with exactly one warning, which contains these words, and
/// that `--strict` refuses it.
fn warns(config: &ProxyConfig, words: &[&str]) {
    let (status, stderr) = config.run(&["--check"]);
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_eq!(stderr.matches(": warning: ").count(), 1, "{stderr}");
    assert!(words.iter().all(|word| stderr.contains(word)), "{stderr}");
    assert_eq!(config.run(&["--check", "--strict"]).0.code(), Some(2), "{stderr}");
}

/// Returns a configuration without warnings. The usual one has a probe timeout longer than its
/// interval.
fn config() -> ProxyConfig {
    ProxyConfig::new().section("defaults.probe", "interval = \"2s\"\n")
}

fn server(line: &str) -> ProxyConfig {
    config().line("server", line)
}

#[test]
fn configuration_without_risks_passes_the_strict_check() {
    let (status, stderr) = config().run(&["--check", "--strict"]);
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    assert_eq!(config().run(&["--strict"]).0.code(), Some(64), "it is a way to check");
}

#[test]
fn expired_certificate_is_warned_of() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tls = folder.server(&authority.until(NAME, 2020));
    warns(
        &config().section("server.tls", &tls),
        &["server.tls.certificate: the certificate expired at 2020-12-31"],
    );
}

#[test]
fn timeouts_that_exclude_each_other_are_warned_of() {
    let one = config().pool_line(Tool::Qr, "answer_timeout = \"5s\"");
    warns(&one, &["pools.qr.try_timeout: 20s is longer than answer_timeout, 5s"]);
    let two = one.pool_line(Tool::Pdf, "answer_timeout = \"5s\"");
    warns(&two, &["try_timeout: 20s", "pdf", "qr"]);
    let all = config().line("defaults", "answer_timeout = \"5s\"");
    warns(&all, &["pools.*.try_timeout: 20s is longer than answer_timeout, 5s"]);
    let probe = config().pool_line(Tool::Qr, "probe.timeout = \"3s\"");
    warns(&probe, &["pools.qr.probe.timeout: 3s is longer than interval, 2s"]);
    let grace = config().pool_line(Tool::Qr, "answer_timeout = \"2m\"");
    warns(&grace, &["server.grace: 40s is shorter than the answer_timeout of qr, 2m"]);
}

#[test]
fn public_port_is_warned_of() {
    let at = |service: &str, address: &str| {
        let text = format!("{service} = \"{address}\"\nthreads = 1\n");
        config().section("server", &text)
    };
    warns(&at("admin", "203.0.113.1:9090"), &["server.admin: 203.0.113.1:9090 is a public address"]);
    warns(&at("admin", "0.0.0.0:9090"), &["server.admin", "every address of this machine"]);
    warns(&at("listen", "203.0.113.1:80"), &["server.listen", "a public address and speaks plain HTTP"]);
    warns(&at("listen", "[::]:80"), &["server.listen", "every address of this machine"]);
    let (status, stderr) = at("listen", "10.0.0.1:80").run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    // With TLS, or with a TLS terminator in front, there is no warning.
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tls = folder.server(&authority.identity(NAME));
    let (status, stderr) =
        at("listen", "0.0.0.0:443").section("server.tls", &tls).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    let state = tempfile::tempdir().unwrap();
    let direct = at("listen", "0.0.0.0:80").direct(&state.path().join("keys"));
    let (status, stderr) = direct.run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
}

#[test]
fn pool_without_a_usable_upstream_is_warned_of() {
    let without = config().upstreams(Tool::Qr, &["127.0.0.1:1 off", "127.0.0.1:2 drain"]);
    warns(&without, &["pools.qr.upstreams: every server is off or draining"]);
    let (status, stderr) =
        config().upstreams(Tool::Qr, &["127.0.0.1:1 off", "127.0.0.1:2"]).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
}

#[test]
fn upgrade_socket_that_cannot_be_made_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &std::path::Path| server(&format!("upgrade_socket = {path:?}"));
    let place = folder.path().join("upgrade.sock");
    let (status, stderr) = at(&place).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    warns(&at(&folder.path().join("missing/upgrade.sock")), &["server.upgrade_socket", "No such file"]);
    warns(&at(&folder.path().join("a".repeat(120))), &["server.upgrade_socket"]);
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    warns(&at(&place), &["server.upgrade_socket", "others can write to", "mode 0700"]);
}

#[test]
fn state_that_cannot_be_written_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("missing/keys");
    warns(&config().direct(&state), &["keys.state", "missing/keys: cannot be written"]);
    let (status, stderr) = config().direct(&folder.path().join("keys")).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}
