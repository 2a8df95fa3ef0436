//! The warnings of `proxy --check`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

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

/// Asserts that `--check` fails because of the machine, and that the proxy does not start for the same
/// reason.
fn fails(config: &ProxyConfig, words: &[&str]) {
    for (arguments, expected) in [(&["--check"][..], words), (&[], &words[1..])] {
        let (status, stderr) = config.run(arguments);
        assert_eq!(status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(expected.iter().all(|word| stderr.contains(word)), "{arguments:?}: {stderr}");
    }
    let (_, stderr) = config.run(&["--check"]);
    assert_eq!(stderr.matches(": error: ").count(), 1, "{stderr}");
}

/// Returns a configuration without warnings. The usual one has a probe timeout longer than its
/// interval, and more connections than some machines allow.
fn config() -> ProxyConfig {
    let config = ProxyConfig::new().section("defaults.probe", "interval = \"2s\"\n");
    config.section("", "idle_upstream_connections = 100\n").line("clients", "connections = 100")
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

/// Whatever the start does, the check does.
#[test]
fn log_file_that_cannot_be_opened_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &Path| config().line("log", &format!("file = {path:?}"));
    let opened = "cannot open the access log ";
    fails(&at(folder.path()), &["log.file: ", opened, "Is a directory"]);
    fails(&at(&folder.path().join("missing/access.log")), &["log.file: ", opened, "No such file"]);
    let (place, there) = (folder.path().join("access.log"), folder.path().join("there.log"));
    fs::write(&there, "a line\n").unwrap();
    for path in [&place, &there] {
        let (status, stderr) = at(path).run(&["--check", "--strict"]);
        assert!(status.success(), "{stderr}");
    }
    assert!(!place.exists(), "nothing is left behind");
    assert_eq!(fs::read_to_string(there).unwrap(), "a line\n");
}

/// The records are nowhere else, and no revoked key is to work again.
#[test]
fn damaged_records_of_keys_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("keys");
    let direct = config().direct(&state);
    let (status, stderr) = direct.run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    fs::write(folder.path().join("keys.records"), "utg-records 1 ").unwrap();
    fails(&direct, &["keys.state: ", "is damaged, and it lists the revoked keys"]);
    fs::remove_file(folder.path().join("keys.records")).unwrap();
    fs::create_dir(folder.path().join("keys.units")).unwrap();
    fails(&direct, &["keys.state: ", "cannot be read: Is a directory"]);
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
    let grace =
        config().pool_line(Tool::Qr, "answer_timeout = \"36s\"").line("server", "grace = \"35500ms\"");
    warns(&grace, &["server.grace: 35500ms is shorter than the answer_timeout of qr, 36s"]);
}

#[test]
fn connections_beyond_the_open_files_are_warned_of() {
    let words = ["clients.connections: ", "LimitNOFILE", "need more open files than the 300"];
    for config in [
        config().section("clients", "connections = 250\n"),
        config().section("", "idle_upstream_connections = 250\n"),
    ] {
        warns(&config.open_files(300), &words);
    }
    let (status, stderr) = config().open_files(1_000).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
}

#[test]
fn public_port_is_warned_of() {
    let at = |service: &str, address: &str| {
        let text = format!("{service} = \"{address}\"\nthreads = 1\n");
        config().section("server", &text)
    };
    warns(&at("admin", "0.0.0.0:0"), &["server.admin", "every address of this machine"]);
    warns(&at("listen", "[::]:0"), &["server.listen", "every address of this machine and speaks plain HTTP"]);
    let (status, stderr) = at("listen", "127.0.0.2:0").run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    // With TLS, or with a TLS terminator in front, there is no warning.
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tls = folder.server(&authority.identity(NAME));
    let (status, stderr) =
        at("listen", "0.0.0.0:0").section("server.tls", &tls).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    let state = tempfile::tempdir().unwrap();
    let direct = at("listen", "0.0.0.0:0").direct(&state.path().join("keys"));
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

/// An address in use is no obstacle: it may be the running proxy's.
#[test]
fn address_that_cannot_be_bound_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = |address: &str| config().section("server", &format!("listen = \"{address}\"\nthreads = 1\n"));
    let (status, stderr) = at(&taken.local_addr().unwrap().to_string()).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    fails(&at("192.0.2.1:80"), &["server.listen: ", "cannot listen on 192.0.2.1:80: "]);
}

#[test]
fn upgrade_socket_that_cannot_be_made_is_an_error_unless_its_folder_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &Path| server(&format!("upgrade_socket = {path:?}"));
    let place = folder.path().join("upgrade.sock");
    let (status, stderr) = at(&place).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    warns(&at(&folder.path().join("missing/upgrade.sock")), &["server.upgrade_socket", "No such file"]);
    fails(&at(&folder.path().join("a".repeat(120))), &["server.upgrade_socket"]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fails(&at(&place), &["server.upgrade_socket", "others can write to", "mode 0700"]);
}

#[test]
fn state_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("missing/keys");
    fails(&config().direct(&state), &["keys.state", "missing/keys: cannot be written"]);
    let (status, stderr) = config().direct(&folder.path().join("keys")).run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn secret_file_that_everyone_can_read_is_warned_of() {
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let (authority, files) = (Authority::generate(), TempFiles::create());
    let tls = files.server(&authority.identity(NAME));
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("grant");
    fs::write(&secret, "0123456789abcdef0123456789abcdef\n").unwrap();
    mode(folder.path(), 0o755);
    mode(&secret, 0o644);
    let with_secret = config().section("grants", &format!("secret_file = {secret:?}\n"));
    warns(&with_secret, &["grants.secret_file: every user of this machine can read the secret in"]);
    mode(folder.path(), 0o750);
    assert!(with_secret.run(&["--check", "--strict"]).0.success(), "nobody else can enter the folder");
    mode(folder.path(), 0o755);
    mode(&secret, 0o640);
    assert!(with_secret.run(&["--check", "--strict"]).0.success());

    let key = tls.lines().find_map(|line| line.strip_prefix("key = ")).unwrap().trim_matches('"').to_owned();
    mode(Path::new(&key).parent().unwrap(), 0o755);
    mode(Path::new(&key), 0o644);
    warns(&config().section("server.tls", &tls), &["server.tls.key: every user of this machine can read"]);
}

#[test]
fn name_that_does_not_resolve_is_warned_of() {
    // No name under `.invalid` exists (RFC 6761, section 6.4).
    let unknown = config().upstreams(Tool::Qr, &["tools.invalid:9100", "127.0.0.1:1"]);
    warns(&unknown, &["pools.qr.upstreams: the name `tools.invalid` does not resolve: "]);
    let state = tempfile::tempdir().unwrap();
    let direct = |edge: &str| {
        let lines = format!("changes = \"{edge}\"");
        config().direct(&state.path().join("keys")).line("keys", &lines)
    };
    warns(&direct("https://edge.invalid"), &["keys.changes: the name `edge.invalid` does not resolve: "]);
    assert!(direct("https://[::1]:8443").run(&["--check", "--strict"]).0.success());
    let known = config().upstreams(Tool::Qr, &["localhost:9100", "tools.invalid:9100 off"]);
    let (status, stderr) = known.run(&["--check", "--strict"]);
    assert!(status.success(), "{stderr}");
}

#[test]
fn setting_without_the_effect_that_it_seems_to_have_is_warned_of() {
    let past = config().pool_line(Tool::Qr, "disabled_until = \"2020-01-31T06:00:00Z\"");
    warns(&past, &["pools.qr.disabled_until: 2020-01-31T06:00:00Z is in the past: the tool is on"]);
    for until in ["9999-01-31T06:00:00Z", "further-notice"] {
        let off = config().pool_line(Tool::Qr, &format!("disabled_until = \"{until}\""));
        let (status, stderr) = off.run(&["--check", "--strict"]);
        assert!(status.success(), "{stderr}");
    }
    let nothing = config().line("defaults", "max_body = \"0B\"");
    warns(&nothing, &["pools.*.max_body: 0B refuses every body: each POST with one gets 413"]);
}

/// A warning is at its value, at the default that a pool inherits, or at its section.
#[test]
fn warning_has_its_line_and_column() {
    let places = |config: &ProxyConfig| {
        let (_, stderr) = config.run(&["--check"]);
        let (place, _) = stderr.split_once(": warning: ").expect("a warning");
        let mut numbers = place.rsplit(':').map(|number| number.parse::<usize>().expect("a number"));
        let (column, line) = (numbers.next().unwrap(), numbers.next().unwrap());
        config.text().lines().nth(line - 1).unwrap().chars().skip(column - 1).collect::<String>()
    };
    let own = config().pool_line(Tool::Qr, "try_timeout = \"50s\"");
    assert_eq!(places(&own), "\"50s\"");
    let inherited = config().line("defaults", "try_timeout = \"50s\"");
    assert_eq!(places(&inherited), "\"50s\"");
    let default = server("drain_delay = \"1s\"").pool_line(Tool::Qr, "answer_timeout = \"2m\"");
    assert_eq!(places(&default), "[server]");
}
