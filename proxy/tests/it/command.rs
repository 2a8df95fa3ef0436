//! The command line.

use std::{
    path::Path,
    process::{Command, Output},
};

use proxy::version;
use shared::tool::Tool;

use tests::{
    process::{binary, root},
    proxy::ProxyConfig,
    tls::{Authority, NAME, TempFiles},
};

#[path = "../../build.rs"]
mod build;

fn run(arguments: &[&str], secret: Option<&str>) -> Output {
    let mut command = Command::new(binary("proxy"));
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
fn check_accepts_a_valid_file_and_explains_an_invalid_one() {
    let valid = run(&["-c", "conf/proxy.toml", "--check"], Some("0123456789abcdef0123456789abcdef"));
    let warnings = String::from_utf8(valid.stderr).unwrap();
    // The machine may allow fewer open files than the sample needs.
    let is_clean =
        warnings.lines().all(|line| line.contains("clients.connections") && line.contains("open files"));
    assert!(valid.status.success() && is_clean, "{warnings}");
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
fn wrong_argument_and_wrong_file_have_different_exit_codes() {
    let wrong = run(&["--chek"], None);
    assert_eq!(wrong.status.code(), Some(64));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("--check"));
    assert_eq!(run(&["--help"], None).status.code(), Some(0));
}

/// The health check of a container. Nothing listens on port 9.
#[tokio::test]
async fn ready_argument_exits_as_the_running_proxy_is() {
    let proxy = ProxyConfig::new().ready().await;
    let admin = proxy.admin.to_string();
    let ask = |admin: &str| {
        let mut command = Command::new(binary("proxy"));
        command.args(["-c", "conf/proxy.edge.toml", "--ready"]).current_dir(root()).env("ADMIN", admin);
        command.env("DATA_CENTER", "fra").env("GRANT_SECRET", SECRET);
        command.output().unwrap().status.code()
    };
    assert_eq!(ask(&admin), Some(0));
    assert_eq!(ask("127.0.0.1:9"), Some(1));
}

#[test]
fn version_argument_prints_version_and_commit() {
    let version = run(&["--version"], None);
    assert_eq!(
        String::from_utf8(version.stdout).unwrap(),
        format!("proxy {} ({})\n", version::VERSION, version::COMMIT)
    );
}

#[test]
fn commit_is_known_in_a_checkout_and_not_in_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").arg("-C").arg(folder.path()).args(who).args(arguments).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let file = folder.path().join("file");
    assert_eq!(build::commit(folder.path()), None, "a source archive");
    git(&["init", "-q"]);
    std::fs::write(&file, "a").unwrap();
    git(&["add", "file"]);
    git(&["commit", "-q", "-m", "a"]);
    let head = git(&["rev-parse", "HEAD"]);
    assert_eq!(build::commit(folder.path()).as_deref(), head.get(..12));
    std::fs::write(&file, "b").unwrap();
    assert_eq!(build::commit(folder.path()), head.get(..12).map(|head| format!("{head}-dirty")));
    let inner = folder.path().join("archive");
    std::fs::create_dir(&inner).unwrap();
    assert_eq!(build::commit(&inner), None, "a source archive within another checkout");
}

/// Runs the binary on a configuration with an argument, in an environment of these variables only.
fn over(folder: &Path, text: &str, argument: &str, variables: &[(&str, &str)]) -> Output {
    let file = folder.join("proxy.toml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(binary("proxy"));
    command.env_clear().envs(variables.iter().copied()).arg("-c").arg(&file).arg(argument);
    command.output().unwrap()
}

const SECRET: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn dumped_configuration_loads_again_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("GRANT_SECRET", SECRET),
        ("KEY_SIGNING_SECRET", SECRET),
        ("ADMIN_SECRET", SECRET),
        ("DATA_CENTER", "fra1"),
    ];
    for sample in ["proxy.toml", "proxy.edge.toml", "proxy.direct.toml"] {
        let text =
            std::fs::read_to_string(format!("{}/../conf/{sample}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let dump = |text: &str| {
            let output = over(folder.path(), text, "--dump-config", &variables);
            assert!(output.status.success(), "{sample}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let first = dump(&text);
        assert_eq!(dump(&first), first, "{sample}");
        let table: toml::Table = first.parse().unwrap();
        assert_eq!(
            table["defaults"]["probe"]["path"].as_str(),
            Some("/healthz"),
            "{sample}: defaults are filled in"
        );
        assert_eq!(table["defaults"]["max_body"].as_str(), Some("10MiB"));
        assert!(!first.contains(SECRET), "{sample}");
        assert_eq!(table["pools"].as_table().unwrap().len(), Tool::ALL.len());
    }
}

#[test]
fn dumped_configuration_holds_variables_values_and_no_secret() {
    let folder = TempFiles::create();
    let config = ProxyConfig::new()
        .line("clients", "connections = \"${CONNECTIONS:-77}\"\nh2c = \"${H2C:-true}\"")
        .pool_line(Tool::Qr, "accept = [\"audio/*\"]\nprobe.statuses = [200, 204]")
        .section("server.tls", &folder.server(&Authority::generate().identity(NAME)));
    let text = config.text().replace("${GRANT_SECRET}", SECRET);
    let output = over(&folder.path(""), &text, "--dump-config", &[]);
    let dumped = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && !dumped.contains(SECRET), "{dumped}");
    assert!(dumped.contains("secret = \"${GRANTS_SECRET}\" # redacted"), "{dumped}");
    let table: toml::Table = dumped.parse().unwrap();
    assert_eq!(table["clients"]["connections"].as_integer(), Some(77));
    assert_eq!(table["clients"]["h2c"].as_bool(), Some(true));
    assert_eq!(table["pools"]["qr"]["accept"].as_array().unwrap().len(), 1);
    assert_eq!(table["pools"]["qr"]["probe"]["statuses"].as_array().unwrap().len(), 2);
    assert!(table["server"]["tls"]["certificate"].as_str().unwrap().ends_with("certificate.pem"));
    let again = over(&folder.path(""), &dumped, "--check", &[("GRANTS_SECRET", SECRET)]);
    assert!(again.status.success(), "{again:?}");
    let faulty = over(&folder.path(""), "threads = 1", "--dump-config", &[]);
    assert_eq!((faulty.status.code(), faulty.stdout.is_empty()), (Some(2), true));
}

/// The dump of a minimal file holds every key that has a default.
#[test]
fn dumped_configuration_has_every_key_with_a_default() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        over(folder.path(), &ProxyConfig::new().text(), "--dump-config", &[("GRANT_SECRET", SECRET)]);
    let table: toml::Table = String::from_utf8(output.stdout).unwrap().parse().unwrap();
    let has = |key: &String| {
        let mut parts = key.split('.');
        let first = table.get(parts.next().unwrap());
        parts.fold(first, |value, part| value?.get(part)).is_some()
    };
    const OPTIONAL: [&str; 13] = [
        "secret_file",
        "upgrade_grace",
        "upgrade_socket",
        "admin_socket",
        "admin_token",
        "admin_token_file",
        "admin_changes",
        "disabled_until",
        "tls_ca",
        "tls_name",
        "probe.port",
        "log.file",
        "limits.prices",
    ];
    let keys = config::Config::keys();
    let absent: Vec<_> = keys.iter().filter(|key| !key.starts_with("pools.") && !has(key)).collect();
    let optional = |key: &&&String| {
        ["keys", "server.tls", "valkey", "tracing"].iter().any(|section| key.starts_with(section))
            || OPTIONAL.iter().any(|end| key.ends_with(end))
    };
    assert_eq!(absent.iter().filter(|key| !optional(key)).collect::<Vec<_>>(), Vec::<&&String>::new());
}
