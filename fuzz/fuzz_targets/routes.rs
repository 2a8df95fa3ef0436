#![no_main]

use libfuzzer_sys::fuzz_target;
use percent_encoding::percent_decode_str;
use portal::route::Route;
use shared::route as gateway;
use url::Url;

fuzz_target!(|text: &str| {
    let (method, target) = text.split_once(' ').unwrap_or(("GET", text));
    check(method, target);
});

/// Oracle: the URL standard, by which the edge's platform reads the same target. It sees the path of an
/// accepted target as we do, the same query, and no user name in an absolute one. The gateway's own
/// parser, which the proxy has, agrees about what it serves.
fn check(method: &str, target: &str) {
    let (ours, proxy) = (Route::read(method, target), gateway::Route::read(method, target));
    match (&ours, &proxy) {
        (Ok((Route::CallTool(ours), _)), Ok((gateway::Route::CallTool(proxy), _))) => assert_eq!(ours, proxy),
        (Ok((Route::CallTool(_), _)), _) | (_, Ok((gateway::Route::CallTool(_), _))) => {
            panic!("edge {ours:?}, proxy {proxy:?}")
        }
        _ => {}
    }
    // A preflight gets a response on any path.
    let Ok((route, read)) = ours.map(|(route, read)| (route, read)) else { return };
    if matches!(route, Route::Preflight(_)) {
        return;
    }
    let url = Url::parse(&format!("http://edge.test{}", read.path_and_query));
    let url = url.unwrap_or_else(|error| panic!("{target}: {error}"));
    assert_eq!(url.path(), read.path, "{target}");
    let decoded = |query: &str| percent_decode_str(query).collect::<Vec<u8>>();
    assert_eq!(url.query().map(decoded), read.query.map(decoded), "{target}");
    assert_eq!(url.fragment(), None);
    // The standard decodes names and knows which are domains. Nothing here depends on that.
    if let (Some(_), Ok(whole)) = (read.authority, Url::parse(target)) {
        assert_eq!((whole.path(), whole.query()), (url.path(), url.query()), "{target}");
        assert!(whole.username().is_empty() && whole.password().is_none(), "{target}");
    }
}
