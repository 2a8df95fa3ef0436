//! The commands of `loadtest/README.md`, as they stand there: only addresses, durations, bounds of time
//! and the key are those of the test.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};
use tests::{
    http::Request,
    keys::ADMIN_SECRET,
    process::{Process, binary, root},
    proxy::ProxyConfig,
    stack::{Edge, Tools},
};

use crate::gateway::{DirectGateway, run};

fn readme() -> String {
    fs::read_to_string(root().join("loadtest/README.md")).unwrap()
}

/// Returns the block of code that contains `text`.
fn block(text: &str) -> String {
    let readme = readme();
    let mut blocks = readme.split("```\n").skip(1).step_by(2).filter(|block| block.contains(text));
    let block = blocks.next().unwrap_or_else(|| panic!("no block has `{text}`")).to_owned();
    assert!(blocks.next().is_none(), "two blocks have `{text}`");
    block
}

/// Returns the texts that are marked as code and not in a block.
fn code_spans() -> Vec<String> {
    let readme = readme();
    let prose: String = readme.split("```").step_by(2).collect();
    // A bar within a table's cell is escaped.
    prose.split('`').skip(1).step_by(2).map(|span| span.replace("\\|", "|")).collect()
}

/// Returns the code span that begins with `text`.
fn span(text: &str) -> String {
    code_spans().into_iter().find(|span| span.starts_with(text)).unwrap_or_else(|| panic!("no `{text}`"))
}

/// Replaces each text, which must be there.
fn replace(commands: &str, texts: &[(&str, &str)]) -> String {
    texts.iter().fold(commands.to_owned(), |commands, (from, to)| {
        assert!(commands.contains(from), "no `{from}` in\n{commands}");
        commands.replace(from, to)
    })
}

/// Runs commands in a folder where `loadtest` is the binary of the tests. The machine of the tests may
/// be busy, so late calls are no fault of a run.
fn shell(commands: &str, folder: &Path) -> Output {
    let program = folder.join("loadtest");
    let binary = binary("loadtest");
    let binary = binary.display();
    let text = format!(
        "#!/usr/bin/env bash\nif [ \"$1\" = run ]; then exec {binary} \"$@\" --max-send-lag 10s; fi\nexec {binary} \"$@\"\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join(".dev.vars"), format!("ADMIN_SECRET={ADMIN_SECRET}\n")).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let script = format!("shopt -s expand_aliases\n{commands}");
    Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap()
}

fn succeeds(commands: &str, folder: &Path) -> String {
    let Output { status, stdout, stderr } = shell(commands, folder);
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(status.code(), Some(0), "{commands}\n{stdout}{stderr}");
    stdout
}

fn issue(gateway: &DirectGateway, tier: &str) -> String {
    let body = json!({"email": "ada@example.com", "name": "Ada", "tier": tier, "admin_secret": ADMIN_SECRET});
    let response = Request::post("/v1/keys/issue", &body).send(gateway.proxy.listen);
    response.json()["key"].as_str().unwrap().to_owned()
}

#[test]
fn runs_of_the_readme_pass() {
    let (gateway, folder) = (DirectGateway::start(), tempfile::tempdir().unwrap());
    let url = gateway.proxy.url();
    let program = folder.path().join("loadtest").display().to_string();
    // The key that the README names is a Free one.
    let first = replace(
        &block("export UTG_KEY"),
        &[
            ("cargo build --release -p loadtest", "true"),
            ("$PWD/target/release/loadtest", &program),
            ("utg_live_…", &issue(&gateway, "free")),
            ("http://127.0.0.1:8080", &url),
        ],
    );
    let stdout = succeeds(&first, folder.path());
    assert!(stdout.contains("calls     5 due: 5 completed"), "{stdout}");
    let second = replace(
        &block("loadtest report run.bin"),
        &[("http://127.0.0.1:8080", &url), ("--duration 1m", "--duration 2s"), ("p99>50ms", "p99>10s")],
    );
    let stdout = succeeds(&second, folder.path());
    assert!(stdout.contains("calls     200 due: 200 completed"), "{stdout}");
    assert!(fs::read_to_string(folder.path().join("run.html")).unwrap().contains("<h1>steady"));
}

#[test]
fn shards_are_merged_and_compared_as_in_the_readme() {
    let (gateway, folder) = (DirectGateway::start(), tempfile::tempdir().unwrap());
    let run = |shard: &str, log: &str| {
        let url = gateway.proxy.url();
        format!(
            "loadtest run --url {url} --admin-env ADMIN_SECRET --rate 40 --duration 2s --shard {shard} --log {log}"
        )
    };
    let both = format!(
        "set -a; source .dev.vars; set +a\n{} &\n{}\nwait $!\n",
        run("1/2", "1.bin"),
        run("2/2", "2.bin")
    );
    succeeds(&both, folder.path());
    let stdout = succeeds(&replace(&span("loadtest merge"), &[(" …", "")]), folder.path());
    assert!(stdout.contains("80 due: 80 completed"), "{stdout}");
    let compare = format!("cp whole.bin a.bin; cp whole.bin b.bin; {}", span("loadtest compare"));
    let stdout = succeeds(&compare, folder.path());
    assert!(stdout.contains("95 % interval") && !stdout.contains("WORSE"), "{stdout}");
    // A shard alone, or twice, is not the run.
    for logs in ["1.bin", "1.bin 1.bin"] {
        let merged = shell(&format!("loadtest merge -o whole.bin {logs}"), folder.path());
        assert_eq!(merged.status.code(), Some(1), "{logs}");
    }
}

#[test]
fn costs_of_the_readme_are_counted() {
    let (tools, folder) = (Tools::start(), tempfile::tempdir().unwrap());
    let proxy = ProxyConfig::for_tools(&tools).start_and_wait();
    let edge = Edge::start_with_counters(&proxy.url());
    let commands = block("EDGE_COUNTERS_PORT");
    let (start, run) = commands.split_once('\n').unwrap();
    assert_eq!(start, "EDGE_COUNTERS_PORT=8788 make run");
    // Short runs cost more per call.
    let run = replace(
        run,
        &[
            ("http://127.0.0.1:8787", &format!("http://{}", edge.addr)),
            ("http://127.0.0.1:8788", &edge.counters()),
            ("--duration 2m", "--duration 2s --costs-wait 1s"),
            ("cost<=0.6", "cost<=60"),
        ],
    );
    let stdout = succeeds(&format!("set -a; source .dev.vars; set +a\n{run}"), folder.path());
    assert!(stdout.contains("$ per million"), "{stdout}");
}

#[test]
fn tools_of_the_readme_are_controlled_by_curl() {
    let command = replace(block("loadtest tools").trim(), &[("--port 9100", "--port 0")]);
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("loadtest"));
    let mut tools = Command::new(binary("loadtest"));
    let (_tools, ports) = Process::start(tools.args(words), |line| serde_json::from_str::<Value>(line).ok());
    let control = format!("http://{}", ports["control"].as_str().unwrap());
    let commands =
        replace(&block("/qr/stop"), &[("http://127.0.0.1:9117", &control), ("curl ", "curl -fsS ")]);
    succeeds(&commands, tempfile::tempdir().unwrap().path());
}

/// A condition that the README names is one, and so is each option.
#[test]
fn conditions_and_options_of_the_readme_exist() {
    let readme = readme();
    let (_, table) = readme.split_once("| Condition | Meaning |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let conditions: Vec<&str> =
        table.split('`').skip(1).step_by(2).filter(|text| text.contains(['<', '=', '>'])).collect();
    assert!(conditions.len() > 15, "{conditions:?}");
    let options: Vec<&str> = conditions.iter().flat_map(|condition| ["--expect", condition]).collect();
    // Conditions are read before anything is called.
    let output = run("http://127.0.0.1:9", "tool-dies", &options);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && stderr.contains("cannot connect"), "{stderr}");

    let help = ["run", "certify", "report", "compare", "merge", "tools"].map(|command| {
        let output = Command::new(binary("loadtest")).args([command, "--help"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    let help = help.concat();
    let known: Vec<&str> = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    let words = readme.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let options = words.filter(|word| word.starts_with("--") && !word.ends_with('-'));
    let unknown: Vec<&str> =
        options.filter(|option| !known.contains(option) && *option != "--release").collect();
    assert!(unknown.is_empty(), "options that do not exist: {unknown:?}");
}
