//! The access log in a file, which logrotate renames.

use std::{fs, path::Path};

use shared::tool::Tool;

use tests::{
    FakeTool, ToolBehavior,
    grant::call,
    proxy::{Proxy, ProxyConfig},
    until,
};

fn actions(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    text.lines().map(|text| line(text)["action"].as_str().unwrap().to_owned()).collect()
}

async fn call_and_wait(proxy: &Proxy, action: &str, file: &Path, expected: &[&str]) {
    assert_eq!(proxy.send(call("GET", &format!("/v1/qr/{action}"))).await.status, 200);
    until("it is logged", || async { actions(file) == expected }).await;
}

#[tokio::test]
async fn access_log_file_is_reopened_on_sigusr1() {
    let folder = tempfile::tempdir().unwrap();
    let (file, rotated) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", &format!("file = {file:?}"));
    let proxy = config.ready().await;
    call_and_wait(&proxy, "one", &file, &["one"]).await;
    fs::rename(&file, &rotated).unwrap();
    call_and_wait(&proxy, "two", &rotated, &["one", "two"]).await;
    proxy.signal("USR1");
    until("it is opened", || async { file.exists() }).await;
    call_and_wait(&proxy, "three", &file, &["three"]).await;
    assert_eq!(actions(&rotated), ["one", "two"]);
    assert!(!proxy.output().contains("\"action\""), "nothing is on standard output");
}

/// Each line is parsed as a collector would: one record, whatever is in its message.
#[tokio::test]
async fn diagnostics_are_json_lines_whatever_they_say() {
    let config = |lines: &str| ProxyConfig::new().line("log", &format!("access = \"off\"\n{lines}"));
    let proxy = config("diagnostics = \"json\"").ready().await;
    let hostile = "\\u001B[2J\\u202E\\n{\\\"level\\\":\\\"ERROR\\\"}";
    proxy.replace_config(&config(&format!("diagnostics = \"json\"\nlevel = \"{hostile}\"")));
    until("it is refused", || async { proxy.output().contains("[2J") }).await;
    let output = proxy.output();
    assert!(output.lines().count() > 1, "{output}");
    // The first line, on standard output, names the addresses for programs.
    for line in output.lines().filter(|line| !line.starts_with("{\"listen\"")) {
        let record: serde_json::Value = serde_json::from_str(line).expect(line);
        let members: Vec<_> = record.as_object().unwrap().keys().cloned().collect();
        assert_eq!(members, ["level", "message", "module", "time"], "{line}");
        assert!(line.is_ascii() && !line.contains('\u{1b}'), "{line}");
    }
    // A reload changes the format, too.
    proxy.replace_config(&config("diagnostics = \"text\""));
    until("it is text", || async { proxy.output().lines().any(|line| line.starts_with('[')) }).await;
}

#[test]
fn access_log_in_a_missing_folder_is_an_error_at_the_start() {
    let config = ProxyConfig::new().line("log", "file = \"/nowhere/access.log\"");
    let (status, output) = config.run(&[]);
    assert_eq!(status.code(), Some(1));
    assert!(output.contains("cannot open the access log /nowhere/access.log"), "{output}");
    let (status, output) = config.run(&["--check"]);
    assert_eq!(status.code(), Some(1));
    assert!(output.contains("log.file: cannot open the access log /nowhere/access.log"), "{output}");
}
