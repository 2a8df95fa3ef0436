//! The walk-through of the README, as it stands there.

use std::{fs, io::Cursor, path::Path, process::Command};

use serde_json::{Value, json};
use tests::{
    http::Request,
    keys::ADMIN_SECRET,
    process::root,
    recipe::Recipe,
    stack::{Edge, NOWHERE},
    wait::{PATIENCE, wait_for},
};

/// Returns the first four blocks of code after a heading.
fn blocks(heading: &str) -> [String; 4] {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, section) = readme.split_once(heading).unwrap();
    let blocks: Vec<_> = section.split("```\n").skip(1).step_by(2).take(4).map(str::to_owned).collect();
    blocks.try_into().unwrap()
}

/// Runs commands in a folder, and returns what they print.
fn run(commands: &str, folder: &Path) -> String {
    let mut shell = Command::new("bash");
    let ran = shell.args(["-euo", "pipefail", "-c", commands]).current_dir(folder).output().unwrap();
    let output = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{output}{}", String::from_utf8_lossy(&ran.stderr));
    output
}

/// Decodes a QR code with an independent decoder.
fn decode(png: &[u8]) -> String {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    let (width, height) = (frame.width as usize, frame.height as usize);
    let step = frame.line_size / width;
    let grey = |x: usize, y: usize| pixels[y * frame.line_size + x * step];
    let mut prepared = rqrr::PreparedImage::prepare_from_greyscale(width, height, grey);
    let grids = prepared.detect_grids();
    assert_eq!(grids.len(), 1, "one code in the picture");
    grids[0].decode().unwrap().1
}

#[test]
fn walk_through_creates_opens_follows_and_scans_a_page() {
    let edge = Edge::start(NOWHERE);
    let body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "free", "biolink_plan": "business",
        "admin_secret": ADMIN_SECRET,
    });
    let key = Request::post("/v1/keys/issue", &body).send(edge.addr).json()["key"].clone();
    let [commands, report, webhook, click] = blocks("## Make a bio-link page");
    assert!(commands.lines().count() + report.lines().count() <= 10, "at most ten lines");
    let [variables, agent] = [0, 1].map(|line| commands.lines().nth(line).unwrap());
    let folder = tempfile::tempdir().unwrap();
    // As scripts/run.mjs writes it.
    assert!(variables.starts_with(". .data/run.env "), "{variables}");
    fs::create_dir(folder.path().join(".data")).unwrap();
    let exported = format!("export BASE=http://{} KEY={}\n", edge.addr, key.as_str().unwrap());
    fs::write(folder.path().join(".data/run.env"), exported).unwrap();
    let output = run(&commands, folder.path());
    assert!(output.contains("\"status\":\"published\""), "{output}");
    assert!(
        output.contains("HTTP/1.1 302") && output.contains("ocation: https://example.com/news"),
        "{output}"
    );
    assert!(fs::read_to_string(folder.path().join("hello.html")).unwrap().contains("<h1>Ada"));
    assert_counts(&format!("{variables}\n{report}"), folder.path());
    run(&format!("{variables}\n{}", started(&webhook)), folder.path());
    assert_click_arrives(
        &edge,
        key.as_str().unwrap(),
        &format!("{variables}\n{agent}\n{click}"),
        folder.path(),
    );

    let code = decode(&fs::read(folder.path().join("hello.png")).unwrap());
    let path = code.strip_prefix(&format!("http://{}", edge.addr)).unwrap_or_else(|| panic!("{code}"));
    let scanned = Request::get(path).send(edge.addr);
    assert_eq!(scanned.status, 302, "{code}");
    let page = scanned.header("location").unwrap();
    let page = page.strip_prefix(&format!("http://{}", edge.addr)).unwrap_or(page);
    assert_eq!(Request::get(page).send(edge.addr).status, 200, "{page}");
}

/// Returns the commands with a receiver on a free port, whose output goes to files.
fn started(webhook: &str) -> String {
    const RECEIVER: &str = "node tests/clients/webhooks/javascript/receiver.mjs &";
    const ADDRESS: &str = "http://127.0.0.1:8790";
    assert!(webhook.contains(RECEIVER) && webhook.contains(ADDRESS), "{webhook}");
    let program = root().join(Recipe::JavaScript.path());
    let receiver = format!(
        "PORT=0 timeout 120 node {} > events 2> address &\nuntil grep -q http address; do sleep 0.02; done",
        program.display(),
    );
    webhook.replace(RECEIVER, &receiver).replace(ADDRESS, "'$(grep -o 'http://.*' address)'")
}

/// Follows the link as the README does, until the receiver has printed a click. The page's store may
/// know of the webhook a moment after the response.
fn assert_click_arrives(edge: &Edge, key: &str, click: &str, folder: &Path) {
    let is_logged = || {
        assert!(run(click, folder).contains("HTTP/1.1 302"));
        let events = Request::get("/events?wait=5").key(key).send(edge.addr).json();
        !events["data"].as_array().unwrap().is_empty()
    };
    assert!((0..5).any(|_| is_logged()), "a click is an event");
    let printed = || {
        fs::read_to_string(folder.join("events")).unwrap().split_once('\n').map(|(line, _)| line.to_owned())
    };
    let event: Value = serde_json::from_str(&wait_for(PATIENCE, printed)).unwrap();
    assert_eq!((&event["type"], &event["data"]["page"]["slug"]), (&json!("click"), &json!("hello")));
}

/// Reads the report as the README does, until it has what the walk-through did: that and no more.
fn assert_counts(report: &str, folder: &Path) {
    let read = || {
        let report: Value = serde_json::from_str(&run(report, folder)).unwrap();
        (report["totals"]["views"] != 0 && report["totals"]["clicks"] != 0).then_some(report)
    };
    let report = wait_for(PATIENCE, read);
    assert_eq!(report["totals"], json!({ "views": 1, "visitors": 1, "clicks": 1 }));
    assert_eq!(report["groups"]["link"][0]["title"], "News");
    assert_eq!(
        report["groups"]["browser"],
        json!([{ "browser": "Firefox", "views": 1, "visitors": 1, "clicks": 1 }])
    );
    assert_eq!(report["ignored"]["bot"], json!({}), "the picture of the code is not an event");
}
