//! Scenarios for the edge.

use tests::{
    proxy::ProxyConfig,
    stack::{Edge, Stack, Tools},
};

use crate::gateway::{assert_passed, run};

#[test]
fn viral_page_passes() {
    let stack = Stack::start();
    let url = format!("http://{}", stack.edge.addr);
    assert_passed("viral-page", &run(&url, "viral-page", &["--rate", "20"]));
}

#[test]
fn origin_failover_passes() {
    let tools = Tools::start();
    let [first, second] = [(); 2].map(|()| ProxyConfig::for_tools(&tools).start_and_wait());
    let edge = Edge::start(&format!("{},{}", first.url(), second.url()));
    let hook = format!("kill-origin=kill -KILL {}", first.pid());
    let url = format!("http://{}", edge.addr);
    let output = run(&url, "origin-failover", &["--rate", "10", "--keys", "2", "--hook", &hook]);
    assert_passed("origin-failover", &output);
}
