//! Scenarios for the edge.

use serde_json::Value;
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

/// The edge refuses calls above the limit itself, and the books name them.
#[test]
fn flood_has_balanced_books_and_costs() {
    let tools = Tools::start();
    let proxy = ProxyConfig::for_tools(&tools).start_and_wait();
    let edge = Edge::start_with_counters(&proxy.url());
    let url = format!("http://{}", edge.addr);
    let (control, metrics) = (format!("http://{}", tools.control_addr()), format!("http://{}", proxy.admin));
    let counters = edge.counters();
    let parties = ["--control", &control, "--metrics", &metrics, "--edge-counters", &counters];
    // The last report of a call may be later, and is not needed for an upper bound.
    let expected = ["--expect", "books=balanced", "--expect", "cost<=2", "--costs-wait", "1s", "--json"];
    let output = run(&url, "flood", &[&parties[..], &expected, &["--rate", "30"]].concat());
    assert_passed("flood", &output);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let shares = &report["books"]["edge"];
    let [refused, forwarded] = ["refused", "forwarded"].map(|part| shares[part].as_u64().unwrap());
    assert!(refused > 200 && forwarded > 0, "{shares}");
    assert_eq!(refused + forwarded, report["calls"]["completed"], "{shares}");
    let operations = report["costs"]["operations"].as_array().unwrap();
    let of =
        |name: &str| operations.iter().find(|kind| kind["name"] == name).unwrap()["count"].as_u64().unwrap();
    assert_eq!(of("worker requests"), report["calls"]["completed"], "{operations:?}");
    assert!(of("object requests") > 0 && of("KV reads") > 0, "{operations:?}");
}

#[test]
fn webhook_flaps_passes() {
    let stack = Stack::start();
    let url = format!("http://{}", stack.edge.addr);
    let control = format!("http://{}", stack.tools.control_addr());
    let output = run(&url, "webhook-flaps", &["--control", &control]);
    assert_passed("webhook-flaps", &output);
}

#[test]
fn data_center_fails_passes() {
    let sites = [(); 2].map(|()| Tools::start());
    let [first, second] = sites.each_ref().map(|tools| ProxyConfig::for_tools(tools).start_and_wait());
    let edge = Edge::start(&format!("{},{}", first.url(), second.url()));
    let control = format!("http://{}", sites[0].control_addr());
    let url = format!("http://{}", edge.addr);
    let output = run(&url, "data-center-fails", &["--rate", "40", "--keys", "4", "--control", &control]);
    assert_passed("data-center-fails", &output);
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
