//! Targets that two parsers could read differently. The runtime of the edge brings each target into the
//! normal form of the URL standard before the worker sees it; a proxy in direct mode reads the bytes.

use serde_json::Value;
use tests::{
    ProxyConfig,
    http::{Request, Response},
    sim::Rng,
    stack::Stack,
};
use url::{Position, Url};

const TARGETS: u64 = 400;
/// What is put into a target: separators, dots and escapes in each spelling.
const PARTS: [&str; 25] = [
    "/", "//", "/./", "/../", "/..", "\\", "%2f", "%5c", "%2e", "%2e%2e/", "%2E/", ".", "..", ";", ";x=1",
    "?", "#", "%", "%00", "%zz", "%25", "@", ":", "leads", "é",
];

/// What a gateway made of a target: the status, the code of a problem, and what the tool got.
#[derive(Debug, PartialEq)]
struct Reading {
    status: u16,
    code: String,
    call: Vec<Value>,
}

#[test]
fn target_at_the_edge_is_read_as_its_normal_form_in_direct_mode() {
    let stack = Stack::shared();
    let folder = tempfile::tempdir().unwrap();
    let direct = ProxyConfig::for_tools(&stack.tools).direct(&folder.path().join("keys")).start_and_wait();
    let (key, _) = stack.edge.issue("enterprise");
    let read = |addr, target: &str| reading(&Request::get(target).key(&key).send(addr));
    let (mut rng, mut served) = (Rng::new(27), 0);
    for _ in 0..TARGETS {
        let target = hostile(&mut rng);
        let edge = read(stack.edge.addr, &target);
        let url = Url::parse(&format!("http://edge.test{target}")).unwrap();
        let normal = &url[Position::BeforePath..Position::AfterQuery];
        if !normal.starts_with("/v1/") {
            continue;
        }
        assert_eq!(edge, read(direct.listen, normal), "{target:?} is {normal:?}");
        let raw = read(direct.listen, &target);
        if raw.status == 200 {
            assert_eq!(edge, raw, "{target:?}");
            served += 1;
        }
    }
    assert!((20..TARGETS).contains(&served), "direct mode served {served} of {TARGETS} as they are");
}

fn hostile(rng: &mut Rng) -> String {
    let mut target = "/v1/leads/enrich?a=b".to_owned();
    for _ in 0..rng.range(1, 4) {
        let places: Vec<_> = target.char_indices().map(|(at, _)| at).skip(1).collect();
        let (place, part) = (*rng.pick(&places), *rng.pick::<&str>(&PARTS));
        target.insert_str(place, part);
    }
    target
}

fn reading(response: &Response) -> Reading {
    let seen: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let call = ["tool", "action", "path", "query"].map(|name| seen[name].clone()).to_vec();
    Reading { status: response.status, code: response.code(), call }
}
