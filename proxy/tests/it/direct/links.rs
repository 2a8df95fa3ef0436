//! The pages for people in direct mode lead to nothing that only the edge serves.

use std::collections::BTreeSet;

use tests::{Request, ToolBehavior};

use super::Direct;

/// Returns the paths that a page leads to or loads.
fn links(page: &str) -> BTreeSet<String> {
    let of = |attribute: &str| {
        let values = page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
        values.map(|value| value.split('#').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = [" href=\"", " src=\"", " data-description=\""].map(of).concat();
    all.into_iter().filter(|path| path.starts_with('/')).collect()
}

#[tokio::test]
async fn every_link_of_direct_mode_is_200() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (mut open, mut seen) = (vec!["/".to_owned()], BTreeSet::new());
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let response = direct.proxy.send(Request::new("GET", &path)).await;
        assert_eq!(response.status, 200, "{path}");
        if response.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
            open.extend(links(&String::from_utf8_lossy(&response.body)));
        }
    }
    for path in ["/docs", "/openapi.json", "/v1/status", "/problems/key-missing", "/assets/docs.js"] {
        assert!(seen.contains(path), "{path} in {seen:?}");
    }
    let of_edge = direct.proxy.send(Request::new("GET", "/docs/pages")).await;
    assert_eq!((of_edge.status, of_edge.code().as_str()), (404, "route-unknown"));
}
