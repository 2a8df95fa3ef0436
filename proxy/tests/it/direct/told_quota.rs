//! What `RateLimit` says of a key that several proxies serve, against what then passes.

use std::time::{Duration, Instant};

use tests::{Response, proxy::Proxy};

use super::{
    call,
    meters::{Shared, issue},
};

const TRIALS: usize = 200;
const LIMIT: usize = 24;
/// A lease that ends meanwhile can be lost, and nobody was told of that.
const LEASE: Duration = Duration::from_secs(9);

/// Returns the `r` of an item of `RateLimit`.
fn left(response: &Response, name: &str) -> usize {
    let header = response.header("ratelimit").unwrap_or_else(|| panic!("{response:?}"));
    let item = header.split(", ").find_map(|item| item.strip_prefix(&format!("\"{name}\";r=")));
    item.and_then(|rest| rest.split(';').next()).unwrap().parse().unwrap()
}

/// Makes some calls of a new key at proxies in turn, and then all that pass.
async fn assert_told_no_more_than_passes(proxies: &[Proxy], trial: usize) {
    let begun = Instant::now();
    let fields = format!(r#""tier":"pro","limits":{{"minute":{LIMIT},"day":{LIMIT}}}"#);
    let key = issue(&proxies[trial % proxies.len()], &fields).await;
    let key = key["key"].as_str().unwrap();
    let (mut made, mut last) = (0, None);
    // Several at one place, so that it gets a lease, before others have their part.
    'made: for (turn, calls) in
        [3 + trial % 5, 2 + trial % 7, 1 + trial % 3, 1 + trial % 2].into_iter().enumerate()
    {
        for _ in 0..calls {
            let response = proxies[turn % proxies.len()].send(call(key)).await;
            // What is left is lent to the other proxies: it passes there.
            if response.status == 429 {
                break 'made;
            }
            assert_eq!(response.status, 200, "{response:?}");
            made += 1;
            let told = (left(&response, "minute"), left(&response, "day"));
            assert!(told.0 + made <= LIMIT && told.1 + made <= LIMIT, "after {made} of {LIMIT}: {told:?}");
            last = Some(told);
        }
    }
    let (mut passed, mut refused, mut turn) = (0, 0, trial);
    while refused < proxies.len() {
        turn += 1;
        match proxies[turn % proxies.len()].send(call(key)).await.status {
            200 => (passed, refused) = (passed + 1, 0),
            429 => refused += 1,
            status => panic!("{status}"),
        }
    }
    let (minute, day) = last.unwrap();
    let is_lost = begun.elapsed() > LEASE;
    assert!(is_lost || minute <= passed && day <= passed, "told {minute} and {day}, {passed} have passed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit_of_a_shared_key_is_never_too_high() {
    let shared = Shared::start(3).await;
    for trials in (0..TRIALS).collect::<Vec<_>>().chunks(8) {
        let trials = trials.iter().map(|trial| assert_told_no_more_than_passes(&shared.proxies, *trial));
        futures_util::future::join_all(trials).await;
    }
}
