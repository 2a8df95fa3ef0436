//! The books of runs in which something is wrong.

use std::net::{Ipv4Addr, SocketAddr};

use super::{Body, Books, Call, Click, DIRECT, Delivered, Fault, Happened, Key, Outcome, Run};

/// The calls of the run that balances, in order.
const GET: usize = 0;
const POST: usize = 1;
const REFUSED: usize = 2;
const CUT_OFF: usize = 3;
const DIRECTLY: usize = 4;

fn answered(status: u16, code: &str) -> Outcome {
    let body = if status == 200 { Body::Own { bytes: 0 } } else { Body::Error };
    Outcome::Answered { status, code: code.to_owned(), is_degraded: false, body }
}

fn call(number: usize, is_post: bool, outcome: Outcome) -> Call {
    let at = 1_000 * number as u64;
    let key = usize::from(number == DIRECTLY);
    Call { number: number as u64, key, is_post, sent_ms: at, done_ms: at + 10, outcome }
}

/// Returns a run that balances: a call of each kind, and a click.
fn balanced() -> Run {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let key =
        |is_direct| Key { text: String::new(), to, is_direct, tier: "pro", calls_per_second: 1, minute: 100 };
    let calls = vec![
        call(GET, false, answered(200, "")),
        call(POST, true, answered(200, "")),
        call(REFUSED, false, answered(429, "quota-exceeded")),
        call(CUT_OFF, true, Outcome::NoResponse),
        call(DIRECTLY, false, answered(200, "")),
    ];
    let executions = [(GET, 2), (POST, 1), (CUT_OFF, 1), (DIRECTLY, 1)];
    Run {
        keys: vec![key(false), key(true)],
        calls,
        clicks: vec![Click { done_ms: 5_000, is_redirected: Some(true) }],
        faults: Vec::new(),
        executions: executions.map(|(number, count)| (number as u64, count)).into(),
        day_began_ms: 0,
    }
}

/// Returns the imbalances of the run after a change.
fn imbalances(change: impl FnOnce(&mut Run)) -> Vec<String> {
    imbalances_with(change, [2, 1], &Delivered { counted: 1, events: 1, requests: 1 })
}

/// The same with what the two keys were charged, and what was delivered.
fn imbalances_with(change: impl FnOnce(&mut Run), charged: [u64; 2], delivered: &Delivered) -> Vec<String> {
    let mut run = balanced();
    change(&mut run);
    let mut books = Books::default();
    run.calls(&mut books);
    charged.into_iter().enumerate().for_each(|(key, used)| run.charged(&mut books, key, used));
    run.clicks(&mut books, delivered);
    books.imbalances
}

#[track_caller]
fn assert_one(imbalances: &[String], text: &str) {
    assert!(imbalances.len() == 1 && imbalances[0].contains(text), "expected `{text}`: {imbalances:#?}");
}

#[test]
fn run_without_a_fault_balances() {
    assert_eq!(imbalances(|_| ()), Vec::<String>::new());
    // A POST without a response may or may not have been executed.
    assert_eq!(
        imbalances(|run| {
            run.executions.remove(&(CUT_OFF as u64));
        }),
        Vec::<String>::new()
    );
}

/// What a proxy would do that sends a call twice.
#[test]
fn call_that_is_executed_twice_is_an_imbalance() {
    for post in [POST, CUT_OFF] {
        assert_one(
            &imbalances(|run| *run.executions.get_mut(&(post as u64)).unwrap() = 2),
            "executed 2 times",
        );
    }
    assert_one(&imbalances(|run| *run.executions.get_mut(&(GET as u64)).unwrap() = 11), "executed 11 times");
}

#[test]
fn call_that_is_not_executed_or_not_made_is_an_imbalance() {
    assert_one(
        &imbalances(|run| {
            run.executions.remove(&(POST as u64));
        }),
        "executed 0 times",
    );
    assert_one(
        &imbalances(|run| {
            run.executions.insert(REFUSED as u64, 1);
        }),
        "executed 1 times",
    );
    assert_one(
        &imbalances(|run| {
            run.executions.insert(77, 1);
        }),
        "executed without a call: 1",
    );
}

#[test]
fn response_of_another_call_or_with_another_status_is_an_imbalance() {
    let foreign = |run: &mut Run| {
        let Outcome::Answered { body, .. } = &mut run.calls[GET].outcome else { panic!("no response") };
        *body = Body::Foreign("poison".to_owned());
    };
    assert_one(&imbalances(foreign), "another body");
    assert_one(&imbalances(|run| run.calls[REFUSED].outcome = answered(500, "internal")), "500 internal");
}

/// The window of a key holds its limit, and 1.25 × the limit with calls that passed without a meter.
#[test]
fn call_over_the_limit_is_an_imbalance() {
    for key in [0, 1] {
        let over = |run: &mut Run| run.keys[key].minute = 0;
        assert!(imbalances(over).iter().any(|line| line.starts_with(&format!("key {key} "))), "key {key}");
    }
}

#[test]
fn charge_too_many_or_too_few_is_an_imbalance() {
    let charged = |used| imbalances_with(|_| (), used, &Delivered { counted: 1, events: 1, requests: 1 });
    for used in [[1, 1], [4, 1], [2, 0], [2, 2]] {
        assert_one(&charged(used), "charged for");
    }
    assert_eq!(charged([3, 1]), Vec::<String>::new(), "the POST without a response may be charged");
}

/// What the killed proxy in direct mode had not saved is forgotten, and nothing else is.
#[test]
fn kill_of_the_direct_proxy_forgets_its_last_seconds() {
    let killed = |begin_ms| {
        let kill = Happened { fault: Fault::KillProxy(DIRECT), begin_ms, end_ms: begin_ms + 100 };
        let delivered = Delivered { counted: 1, events: 1, requests: 1 };
        imbalances_with(|run| run.faults.push(kill), [2, 0], &delivered)
    };
    assert_eq!(killed(5_000), Vec::<String>::new());
    assert_one(&killed(60_000), "charged for");
}

#[test]
fn click_that_is_lost_or_doubled_is_an_imbalance() {
    let delivered =
        |counted, events, requests| imbalances_with(|_| (), [2, 1], &Delivered { counted, events, requests });
    assert_one(&delivered(0, 0, 0), "clicks counted in the report: 0");
    assert_one(&delivered(2, 2, 2), "clicks counted in the report: 2");
    assert_one(&delivered(1, 0, 0), "clicks delivered: 0");
    assert_one(&delivered(1, 1, 2), "deliveries repeated after a 2xx: 1");
}
