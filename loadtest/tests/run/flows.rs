//! Flows, data of files, and what other systems read of a run.

use std::path::Path;
use std::process::Stdio;

use loadtest::tools::{self, BindAddress};
use shared::tool::Tool;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::honest::{Honest, Lie};
use crate::loadtest_run::{command, loadtest_run, run_output};

fn scenario(folder: &Path, text: &str) -> String {
    let path = folder.join("own.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A user of two steps: the second one sends what the first one got.
const TWO_STEPS: &str = r#"
name = "two"
stages = ["1s:10"]
expect = ["success of user=100%", "calls of user/second=10"]
[[flow]]
name = "user"
[[flow.step]]
name = "first"
method = "POST"
path = "/v1/idea/first"
body = '{"prompt": "{{hex(8)}} \"{{n}}\""}'
capture = { prompt = "/body/json/prompt" }
think = "10ms..50ms"
[[flow.step]]
name = "second"
method = "POST"
path = "/v1/idea/second?prompt={{prompt}}"
body = '{"again": "{{prompt}}"}'
check = { json = '$.body.json.again == "{{hex(8)}} \"{{n}}\""' }
"#;

#[tokio::test]
async fn flow_sends_what_earlier_steps_captured() {
    let (gateway, folder) = (Honest::start(Lie::None).await, tempfile::tempdir().unwrap());
    let path = scenario(folder.path(), TWO_STEPS);
    let run = loadtest_run(gateway.addr, &["--scenario", &path, "--json"], &[]).await;
    let report = run.report();
    assert_eq!(run.code, Some(0), "{report:#}");
    assert_eq!((run.calls_with(200), &report["rows"][1]["request"]), (20, &"user/second".into()));
    let paths = serde_json::json!(["POST /v1/idea/first", "POST /v1/idea/second?prompt={{prompt}}"]);
    assert_eq!(report["run"]["paths"], paths);
}

/// A user does not continue after a step that failed, and what was missing is in the report.
#[tokio::test]
async fn flow_ends_at_a_step_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(folder.path(), TWO_STEPS);
    let gateway = Honest::start(Lie::Empty).await;
    let run = loadtest_run(gateway.addr, &["--scenario", &path], &[]).await;
    assert_eq!(run.code, Some(3), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("user/first: 200 check capture failed"), "{}", run.stdout);
    assert!(run.stdout.contains("for `prompt` at /body/json/prompt"), "{}", run.stdout);
    assert!(run.stdout.contains("calls     10 due"), "{}", run.stdout);
}

/// A user who thinks for minutes does not keep a run that a signal stopped.
#[tokio::test]
async fn signal_ends_a_run_whose_users_think() {
    let (running, folder) =
        (tools::start(BindAddress::LOOPBACK).await.unwrap(), tempfile::tempdir().unwrap());
    let path = scenario(folder.path(), &TWO_STEPS.replace("10ms..50ms", "30m"));
    let options = ["--scenario", &path, "--duration", "20m", "--rate", "5"];
    let child = command(running.addr(Tool::Idea), &options).stdout(Stdio::piped()).spawn().unwrap();
    while running.tool(Tool::Idea).counters().calls < 2 {
        tokio::task::yield_now().await;
    }
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(run_output(child.wait_with_output().await.unwrap()).code, Some(130));
}

#[tokio::test]
async fn rows_of_a_file_are_sent_in_turn() {
    let (gateway, folder) = (Honest::start(Lie::None).await, tempfile::tempdir().unwrap());
    for (file, text) in [
        ("users.csv", "name,age\n\"Ada \"\"L\"\"\",36\nBob,40\n"),
        ("users.json", r#"[{"name": "Ada \"L\"", "age": 36}, {"name": "Bob", "age": 40}]"#),
    ] {
        std::fs::write(folder.path().join(file), text).unwrap();
        let request = |name: &str| {
            format!(
                "[[request]]\nname = \"{name}\"\nmethod = \"POST\"\npath = \"/v1/idea/x?of={{{{users.name}}}}\"\n\
                 body = '{{\"name\": \"{{{{users.name}}}}\", \"age\": {{{{users.age}}}}}}'\n"
            )
        };
        let text = format!(
            "name = \"data\"\nstages = [\"1s:10\"]\nexpect = [\"success of both=100%\"]\n[[data]]\nname = \"users\"\nfile = \"{file}\"\n{}\
             check = {{ json = \"$.body.json.age == 36\" }}\n{}check = {{ json = '$.body.json.name == \"{{{{users.name}}}}\"' }}\n",
            request("even"),
            request("both"),
        );
        let path = scenario(folder.path(), &text);
        let run = loadtest_run(gateway.addr, &["--scenario", &path, "--stage", "1s:40"], &[]).await;
        // Half of the first request's calls have the other row, and nothing else fails.
        assert!(run.stdout.contains("PASS  success of both=100%"), "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("40, expected $.body.json.age == 36"), "{}{}", run.stdout, run.stderr);
    }
    let unknown = scenario(
        folder.path(),
        "name = \"x\"\nstages = [\"1s:1\"]\n[[data]]\nname = \"users\"\nfile = \"users.csv\"\n\
         [[request]]\nname = \"main\"\npath = \"/{{users.nam}}\"\n",
    );
    let run = loadtest_run(gateway.addr, &["--scenario", &unknown], &[]).await;
    assert!(run.code == Some(1) && run.stderr.contains("{{users.nam}}"), "{}", run.stderr);
}

async fn scrape(addr: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// Metrics can be read while calls are made, and checks after it. The run chooses the port: a client that asks a port on
/// which nobody listens yet may be given that port as its own, and be connected with itself.
#[tokio::test]
async fn other_systems_read_a_run() {
    let (running, folder) =
        (tools::start(BindAddress::LOOPBACK).await.unwrap(), tempfile::tempdir().unwrap());
    let junit = folder.path().join("run.xml").display().to_string();
    let load = ["--path", "/status?code=404", "--rate", "20", "--duration", "20m"];
    let options = [&load[..], &["--prometheus", "127.0.0.1:0", "--junit-file", &junit]].concat();
    let mut command = command(running.addr(Tool::Seo), &options);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = said.next_line().await.unwrap().unwrap();
    let address =
        line.strip_prefix("loadtest: metrics at http://").unwrap().strip_suffix("/metrics").unwrap();
    // A call is in one metric before it is in the other.
    let wanted = [
        "loadtest_calls_total{outcome=\"404\",request=\"main\"} ",
        "loadtest_latency_seconds_bucket{request=\"main\"",
    ];
    let metrics = loop {
        let metrics = scrape(address).await;
        if wanted.iter().all(|part| metrics.contains(part)) {
            break metrics;
        }
    };
    for part in ["HTTP/1.1 200", "text/plain; version=0.0.4"] {
        assert!(metrics.contains(part), "{metrics}");
    }
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait_with_output().await.unwrap().status.code(), Some(130));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<failure message=") && xml.contains("the run was interrupted"), "{xml}");
}
