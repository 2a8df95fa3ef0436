//! One faulty file among those that the configuration names: its part keeps its last good state, and all
//! others are taken, also over a restart and an upgrade.

mod parts;

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;
use shared::tool::Tool;

use tests::{
    FakeTool, ToolBehavior,
    grant::call,
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};

/// What takes the place of a file, and a part of the error that says so.
type Bad = (fn(&Path), &'static str);

const BAD_FILES: [Bad; 12] = [
    (|_path| {}, "No such file or directory"),
    (make_fifo, "it is a FIFO: expected a regular file"),
    (|path| fs::create_dir(path).unwrap(), "it is a directory: expected a regular file"),
    (|path| drop(UnixListener::bind(path).unwrap()), "it is a socket: expected a regular file"),
    (|path| symlink("/dev/zero", path).unwrap(), "it is a device: expected a regular file"),
    (|path| symlink("nowhere", path).unwrap(), "No such file or directory"),
    (|path| symlink(path, path).unwrap(), "Too many levels of symbolic links"),
    (|path| fs::write(path, vec![b' '; 2 << 20]).unwrap(), "it is larger than 1 MiB"),
    (|path| fs::write(path, "").unwrap(), "EOF while parsing"),
    (|path| fs::write(path, [0xff, 0x00, 0xfe]).unwrap(), "is not text in UTF-8"),
    (|path| fs::write(path, r#"[{"targets": []}]"#).unwrap(), "has 0 servers"),
    (|path| fs::write(path, r#"[{"targets": ["a_b"]}"#).unwrap(), "EOF while parsing"),
];

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn remove(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let _gone = if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) };
}

/// Puts a list of servers in the place of a file.
fn write(path: &Path, server: &FakeTool) {
    let temporary = path.with_extension("new");
    fs::write(&temporary, json!([{ "targets": [server.address.to_string()] }]).to_string()).unwrap();
    remove(path);
    fs::rename(&temporary, path).unwrap();
}

/// Two pools with files of servers, and a folder for all that is written.
struct Place {
    folder: TempFiles,
    qr: FakeTool,
    pdf: [FakeTool; 2],
}

impl Place {
    async fn new() -> Self {
        let start = || FakeTool::start(ToolBehavior::Describe);
        let place =
            Self { folder: TempFiles::create(), qr: start().await, pdf: [start().await, start().await] };
        write(&place.file(Tool::Qr), &place.qr);
        write(&place.file(Tool::Pdf), &place.pdf[0]);
        place
    }

    fn file(&self, tool: Tool) -> PathBuf {
        self.folder.path(&format!("{tool}.json"))
    }

    fn config(&self) -> ProxyConfig {
        let config = ProxyConfig::new().state_directory(&self.folder.path(""));
        [Tool::Qr, Tool::Pdf]
            .into_iter()
            .fold(config, |config, tool| config.upstreams_file(tool, &self.file(tool)))
    }

    fn spoil(&self, (spoil, _): Bad) {
        remove(&self.file(Tool::Qr));
        spoil(&self.file(Tool::Qr));
    }
}

async fn status(proxy: &Proxy, tool: Tool) -> u16 {
    proxy.send(call("GET", &format!("/v1/{tool}/a"))).await.status
}

async fn uses(proxy: &Proxy, tool: Tool, server: &FakeTool) {
    let expected = [server.address.to_string()];
    until("its server is used", || async { proxy.upstream_names(tool).await == expected }).await;
}

/// Returns the error of a pool's file, as `/pools` shows it.
async fn error(proxy: &Proxy, tool: Tool) -> Option<String> {
    let pools = proxy.admin_get("/pools").await.json()["pools"].clone();
    pools[tool.as_str()]["upstreams_file_error"].as_str().map(str::to_owned)
}

async fn reports(proxy: &Proxy, tool: Tool, expected: &str) {
    until(expected, || async { error(proxy, tool).await.is_some_and(|error| error.contains(expected)) })
        .await;
}

/// Returns true if an alert fires whose expression compares one metric with a number.
async fn fires(proxy: &Proxy, alert: &str, labels: &str) -> bool {
    let rules = include_str!("../../../conf/alerts.yml");
    let rule = rules.split("- alert: ").find(|rule| rule.starts_with(&format!("{alert}\n"))).unwrap();
    let expression = rule.lines().find_map(|line| line.trim().strip_prefix("expr: ")).unwrap();
    let (metric, value) = expression.split_once(" == ").unwrap();
    proxy.metric(&format!("{metric}{labels}")).await == Some(value.parse().unwrap())
}

#[tokio::test]
async fn bad_file_of_one_pool_keeps_nothing_else_from_being_taken() {
    let place = Place::new().await;
    let authorities = [Authority::generate(), Authority::generate()];
    let section = place.folder.server(&authorities[0].identity(NAME));
    let proxy = place.config().section("server.tls", &section).ready().await;
    let get = async |authority: &Authority, tool| {
        let mut client =
            TlsClient::new(authority).stream(proxy.listen).await.ok().map(tests::Client::over)?;
        client.write(&call("GET", &format!("/v1/{tool}/a")).bytes()).await;
        Some(client.response("GET").await?.status)
    };
    for (round, bad) in BAD_FILES.into_iter().enumerate() {
        let (server, authority) = (&place.pdf[(round + 1) % 2], &authorities[(round + 1) % 2]);
        let before = server.calls();
        place.spoil(bad);
        write(&place.file(Tool::Pdf), server);
        uses(&proxy, Tool::Pdf, server).await;
        place.folder.server(&authority.identity(NAME));
        until("the new certificate is served", || async { get(authority, Tool::Pdf).await == Some(200) })
            .await;
        assert!(server.calls() > before, "{}", bad.1);
        assert_eq!(get(authority, Tool::Qr).await, Some(200), "{}", bad.1);
        reports(&proxy, Tool::Qr, bad.1).await;
        assert_eq!((error(&proxy, Tool::Pdf).await, error(&proxy, Tool::Yt).await), (None, None));
        assert_eq!(proxy.config_status().await["rejected"], json!(null));
        assert!(fires(&proxy, "UpstreamsFileFailed", r#"{tool="qr"}"#).await, "{}", bad.1);
        assert!(!fires(&proxy, "UpstreamsFileFailed", r#"{tool="pdf"}"#).await, "{}", bad.1);
        write(&place.file(Tool::Qr), &place.qr);
        until("it is good again", || async { error(&proxy, Tool::Qr).await.is_none() }).await;
        assert!(!fires(&proxy, "UpstreamsFileFailed", r#"{tool="qr"}"#).await, "{}", bad.1);
    }
}

#[tokio::test]
async fn change_of_a_bad_file_is_logged_once() {
    let place = Place::new().await;
    let proxy = place.config().ready().await;
    place.spoil(BAD_FILES[0]);
    reports(&proxy, Tool::Qr, BAD_FILES[0].1).await;
    for round in 1..4 {
        write(&place.file(Tool::Pdf), &place.pdf[round % 2]);
        uses(&proxy, Tool::Pdf, &place.pdf[round % 2]).await;
    }
    let lines = proxy.output().matches("file not taken, last good state stays in use: key=pools.qr").count();
    assert_eq!(lines, 1, "{}", proxy.output());
    write(&place.file(Tool::Qr), &place.qr);
    proxy.logs("file taken again: key=pools.qr.upstreams_file").await;
}

#[tokio::test]
async fn restart_with_a_bad_file_has_the_last_servers() {
    let place = Place::new().await;
    for bad in BAD_FILES {
        write(&place.file(Tool::Qr), &place.qr);
        let first = place.config().ready().await;
        until("they are stored", || async {
            let stored =
                fs::read_to_string(place.folder.path("proxy.toml.last-good.json")).unwrap_or_default();
            stored.contains(&place.qr.address.to_string())
        })
        .await;
        place.spoil(bad);
        drop(first);
        let second = place.config().ready().await;
        assert_eq!(status(&second, Tool::Qr).await, 200, "{}", bad.1);
        assert_eq!(status(&second, Tool::Pdf).await, 200, "{}", bad.1);
        reports(&second, Tool::Qr, bad.1).await;
        assert!(fires(&second, "UpstreamsFileFailed", r#"{tool="qr"}"#).await);
        // It is still bad at the next start, which has them all the same.
        drop(second);
        assert_eq!(status(&place.config().ready().await, Tool::Qr).await, 200, "{}", bad.1);
    }
}

#[tokio::test]
async fn start_with_a_bad_file_serves_all_other_tools() {
    let place = Place::new().await;
    for bad in BAD_FILES {
        place.spoil(bad);
        let (status_of_check, stderr) = place.config().run(&["--check"]);
        assert_eq!(status_of_check.code(), Some(2), "{stderr}");
        assert!(stderr.contains("pools.qr.upstreams_file: ") && stderr.contains(bad.1), "{stderr}");
        let proxy = place.config().ready().await;
        let refused = proxy.send(call("GET", "/v1/qr/a")).await;
        assert_eq!((refused.status, refused.problem().as_str()), (503, "tool-unavailable"), "{}", bad.1);
        assert!(refused.header("retry-after").is_some());
        assert_eq!(status(&proxy, Tool::Pdf).await, 200, "{}", bad.1);
        let failed = proxy.config_status().await["failed_files"].clone();
        assert_eq!((&failed[0]["in_use"], failed.as_array().map(Vec::len)), (&json!("none"), Some(1)));
        assert!(fires(&proxy, "UpstreamsFileFailed", r#"{tool="qr"}"#).await);
        write(&place.file(Tool::Qr), &place.qr);
        uses(&proxy, Tool::Qr, &place.qr).await;
        assert_eq!(status(&proxy, Tool::Qr).await, 200, "{}", bad.1);
        drop(proxy);
        remove(&place.folder.path("proxy.toml.last-good.json"));
    }
}

/// Nothing can be stored, so that all comes from the old process.
#[tokio::test]
async fn upgrade_with_a_bad_file_has_the_servers_of_the_old_process() {
    let place = Place::new().await;
    let config = |folder: &str| {
        let socket = place.folder.path("upgrade.sock");
        place
            .config()
            .line("server", &format!("upgrade_socket = {socket:?}\ngrace = \"8s\""))
            .state_directory(Path::new(folder))
    };
    let mut old = config("/nowhere").ready().await;
    for bad in BAD_FILES {
        place.spoil(bad);
        let new = config("/nowhere").upgrade();
        new.upgraded().await;
        assert!(old.exited().await.success());
        assert_eq!(status(&new, Tool::Qr).await, 200, "{}", bad.1);
        assert_eq!(status(&new, Tool::Pdf).await, 200, "{}", bad.1);
        reports(&new, Tool::Qr, bad.1).await;
        old = new;
    }
}

#[tokio::test]
async fn pool_that_changes_to_a_bad_file_keeps_its_servers() {
    let place = Place::new().await;
    let file = place.folder.path("other.json");
    let config = || place.config().tool(Tool::Qr, &[&place.qr]);
    let proxy = config().ready().await;
    // First its array gives way to a file, then that one to another.
    for path in [&place.file(Tool::Qr), &file] {
        remove(path);
        proxy.replace_config(&config().upstreams_file(Tool::Qr, path).line("clients", "h2c = true"));
        reports(&proxy, Tool::Qr, &path.display().to_string()).await;
        assert_eq!(proxy.config_status().await["failed_files"][0]["in_use"], "last good");
        assert_eq!(status(&proxy, Tool::Qr).await, 200);
        write(path, &place.qr);
        until("it is good", || async { error(&proxy, Tool::Qr).await.is_none() }).await;
    }
}

#[tokio::test]
async fn many_bad_files_block_no_thread() {
    let folder = TempFiles::create();
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let file = |tool: Tool| folder.path(&format!("{tool}.json"));
    let with_files = |config, tools: &[Tool]| {
        tools.iter().fold(config, |config: ProxyConfig, tool| config.upstreams_file(*tool, &file(*tool)))
    };
    let tools: Vec<_> = Tool::ALL.into_iter().collect();
    tools.iter().for_each(|one| write(&file(*one), &tool));
    let proxy = with_files(ProxyConfig::new().state_directory(&folder.path("")), &tools).ready().await;
    for one in &tools[1..] {
        remove(&file(*one));
        make_fifo(&file(*one));
    }
    for one in &tools[1..] {
        reports(&proxy, *one, "it is a FIFO").await;
    }
    let other = FakeTool::start(ToolBehavior::Describe).await;
    write(&file(tools[0]), &other);
    uses(&proxy, tools[0], &other).await;
    for one in tools {
        assert_eq!(status(&proxy, one).await, 200, "{one}");
    }
    assert_eq!(other.calls(), 1);
}

#[tokio::test]
async fn file_that_never_rests_delays_no_other() {
    let place = Place::new().await;
    let proxy = place.config().ready().await;
    let busy = place.file(Tool::Qr);
    let writer = tokio::spawn(async move {
        for length in 1.. {
            fs::write(&busy, "x".repeat(length % 1_000)).unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    write(&place.file(Tool::Pdf), &place.pdf[1]);
    uses(&proxy, Tool::Pdf, &place.pdf[1]).await;
    assert_eq!(status(&proxy, Tool::Qr).await, 200);
    // It is looked at in the end.
    until("it is reported", || async { error(&proxy, Tool::Qr).await.is_some() }).await;
    writer.abort();
}
