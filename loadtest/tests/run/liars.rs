//! Each built-in scenario passes against an honest gateway, and fails against one that lies about what the
//! scenario proves.

use std::time::Duration;

use tokio::process::Command;
use tokio::task::JoinSet;

use crate::honest::{Honest, Lie};
use crate::loadtest_run::{command, run_output};

/// A scenario, its load, and lies with the words of the report that find them.
struct Case {
    scenario: &'static str,
    load: &'static [&'static str],
    lies: &'static [(Lie, &'static str)],
}

const SHORT: &[&str] = &["--duration", "3s", "--rate", "20"];
const FAST: &[&str] = &["--duration", "3s", "--rate", "60"];
/// A 503 of ten, which each scenario that injects no faults must find.
const UNAVAILABLE: &[(Lie, &str)] =
    &[(Lie::SometimesUnavailable, "FAIL  success=100%"), (Lie::Empty, "check header failed")];

const CASES: &[Case] = &[
    Case { scenario: "ramp", load: SHORT, lies: UNAVAILABLE },
    Case { scenario: "spike", load: SHORT, lies: UNAVAILABLE },
    Case { scenario: "burst", load: SHORT, lies: UNAVAILABLE },
    Case {
        scenario: "steady",
        load: SHORT,
        lies: &[(Lie::SometimesUnavailable, "× 503"), (Lie::Empty, "check header failed")],
    },
    Case { scenario: "soak", load: SHORT, lies: &[(Lie::SometimesUnavailable, "FAIL  success>=99.99%")] },
    Case {
        scenario: "flood",
        load: &["--duration", "3s", "--rate", "150"],
        lies: &[
            (Lie::OneTooMany, "FAIL  admitted=exact: no"),
            (Lie::HalfTheLimit, "FAIL  usable>=98%"),
            (Lie::NoRetryAfter, "FAIL  missing_retry_after=0"),
            (Lie::RefusesPro, "FAIL  success of polite=100%"),
        ],
    },
    Case {
        scenario: "limit-audit",
        load: &["--duration", "3s", "--rate", "250"],
        lies: &[
            (Lie::OneTooMany, "FAIL  admitted=exact: no"),
            (Lie::HalfTheLimit, "FAIL  usable>=98%"),
            (Lie::NoRetryAfter, "FAIL  missing_retry_after=0"),
        ],
    },
    Case {
        scenario: "million-keys",
        load: &["--duration", "3s", "--rate", "400", "--keys", "2000", "--signing-env", "LT_SIGNING"],
        lies: &[
            (Lie::SometimesUnavailable, "FAIL  errors=0"),
            (Lie::SometimesUnavailable, ", and conditions judge the other "),
            (Lie::OneTooMany, "FAIL  admitted=exact: no"),
        ],
    },
    Case {
        scenario: "mixed-tiers",
        load: FAST,
        lies: &[
            (Lie::RefusesPro, "FAIL  success of pro=100%"),
            (Lie::OneTooMany, "FAIL  admitted=exact: no"),
        ],
    },
    Case {
        scenario: "user-flow",
        load: SHORT,
        lies: &[
            (Lie::OtherAnswer, "user/idea: 200 check json failed"),
            (Lie::SometimesUnavailable, "FAIL  success=100%"),
            (Lie::Empty, "user/idea: 200 check json failed"),
        ],
    },
    Case {
        scenario: "uploads",
        load: SHORT,
        lies: &[(Lie::Empty, "200 check body_bytes failed"), (Lie::LastByte, "200 check sha256 failed")],
    },
    Case {
        scenario: "downloads",
        load: SHORT,
        lies: &[
            (Lie::Empty, "large: 200 check body_bytes failed"),
            (Lie::LastByte, "large: 200 check sha256 failed"),
            (Lie::Empty, "small: 200 check json failed"),
        ],
    },
    Case {
        scenario: "server-sent-events",
        load: SHORT,
        lies: &[
            (Lie::HeldBack, "FAIL  first_event p50<=300ms"),
            (Lie::HeldBackAfterFirst, "FAIL  event_gap p50<=400ms"),
            (Lie::ThreeEvents, "FAIL  events=10: 60 of 60 streams have another number: 3"),
            (Lie::Empty, "200 check header failed"),
        ],
    },
    Case {
        scenario: "tool-dies",
        load: SHORT,
        lies: &[
            (Lie::NeverStops, "FAIL  status(503) of main in stopped=100%"),
            (Lie::NeverStarts, "FAIL  recovery of main in restarted<=10s"),
            (Lie::StopsAll, "FAIL  success of other=100%"),
        ],
    },
    Case {
        scenario: "tool-slows",
        load: &["--duration", "6s", "--rate", "20"],
        lies: &[(Lie::NeverSlow, "FAIL  p50 of main in slow>=250ms")],
    },
    Case {
        scenario: "tool-flaps",
        load: SHORT,
        lies: &[
            (Lie::StopsAll, "FAIL  success of other=100%"),
            (Lie::NeverStarts, "FAIL  recovery of main in stable<=10s"),
        ],
    },
    Case {
        scenario: "key-revocation",
        load: SHORT,
        lies: &[(Lie::NeverRevokes, "FAIL  code(key-revoked) of main in revoked=100%")],
    },
    Case {
        scenario: "key-rotation",
        load: &["--duration", "3s", "--rate", "50"],
        lies: &[
            (Lie::TwoLimits, "FAIL  admitted=exact: no"),
            (Lie::NoGracePeriod, "401 key-revoked"),
            (Lie::HalfTheLimit, "FAIL  usable>=98%"),
        ],
    },
    Case { scenario: "reload", load: SHORT, lies: &[(Lie::UnavailableAfter(30), "FAIL  success=100%")] },
    Case { scenario: "upgrade", load: SHORT, lies: &[(Lie::UnavailableAfter(30), "FAIL  success=100%")] },
    Case {
        scenario: "origin-failover",
        load: SHORT,
        lies: &[
            (Lie::UnavailableAfter(32), "FAIL  recovery in failed-over<=10s"),
            (Lie::UnavailableAfter(10), "FAIL  success in before=100%"),
        ],
    },
    Case {
        scenario: "data-center-fails",
        load: SHORT,
        lies: &[(Lie::None, "FAIL  status(503) of main in stopped<=1%")],
    },
    Case { scenario: "viral-page", load: SHORT, lies: &[(Lie::CountsTwice, "FAIL  page views equals")] },
    Case {
        scenario: "webhook-flaps",
        load: SHORT,
        lies: &[(Lie::LosesWebhook, "FAIL  distinct events delivered equals")],
    },
    Case {
        scenario: "tour",
        load: &["--duration", "6s", "--rate", "60"],
        lies: &[
            (Lie::StopsAll, "FAIL  success of other=100%"),
            (Lie::OneTooMany, "FAIL  admitted=exact: no"),
            (Lie::NeverStarts, "FAIL  recovery of main in restarted<=10s"),
        ],
    },
];

/// Runs a scenario against a gateway with this lie. Returns the exit code and all that was printed.
async fn run(scenario: &str, load: &[&str], lie: Lie) -> (Option<i32>, String) {
    let (gateway, folder) = (Honest::start(lie).await, tempfile::tempdir().unwrap());
    let mut print = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    let text = run_output(print.args(["scenarios", scenario]).output().await.unwrap()).stdout;
    // Counts of others are waited for as long as a scenario says.
    let text = text.replace("within = \"2m\"", "within = \"2s\"");
    let text = text.replace("pointer = \"/totals", "within = \"2s\"\npointer = \"/totals");
    let path = folder.path().join("own.toml");
    std::fs::write(&path, text).unwrap();
    let control = format!("http://{}", gateway.addr);
    let around = ["--scenario", path.to_str().unwrap(), "--admin-env", "LT_ADMIN", "--control", &control];
    let hooks = ["--hook", "reload=true", "--hook", "upgrade=true", "--hook", "kill-origin=true"];
    let options = [&around[..], &hooks[..], load].concat();
    let secrets = [("LT_ADMIN", "secret"), ("LT_SIGNING", SIGNING)];
    let output = command(gateway.addr, &options).envs(secrets).output();
    let output = tokio::time::timeout(Duration::from_secs(120), output).await.unwrap().unwrap();
    let output = run_output(output);
    (output.code, output.stdout + &output.stderr)
}

const SIGNING: &str = "key-signing-secret-of-the-tests-0123";

/// Runs all of `cases`, eight at a time.
async fn run_all(
    cases: impl IntoIterator<Item = (&'static Case, Lie)>,
) -> Vec<(String, Option<i32>, String)> {
    let (mut running, mut done) = (JoinSet::new(), Vec::new());
    for (case, lie) in cases {
        if running.len() >= 8 {
            done.push(running.join_next().await.unwrap().unwrap());
        }
        running.spawn(async move {
            let (code, text) = run(case.scenario, case.load, lie).await;
            (format!("{} {lie:?}", case.scenario), code, text)
        });
    }
    done.extend(running.join_all().await);
    done
}

#[tokio::test]
async fn builtin_scenario_passes_against_an_honest_gateway() {
    // A data center that fails is one of two, and this gateway has one.
    let honest = CASES.iter().filter(|case| case.scenario != "data-center-fails");
    let failed: Vec<String> = run_all(honest.map(|case| (case, Lie::None)))
        .await
        .into_iter()
        .filter(|(_, code, _)| *code != Some(0))
        .map(|(name, code, text)| format!("{name}: {code:?}\n{text}"))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[tokio::test]
async fn builtin_scenario_fails_against_its_liars() {
    let lies = || CASES.iter().flat_map(|case| case.lies.iter().map(move |lie| (case, lie)));
    let outputs = run_all(lies().map(|(case, (lie, _))| (case, *lie))).await;
    let wrong: Vec<String> = lies()
        .filter_map(|(case, (lie, words))| {
            let name = format!("{} {lie:?}", case.scenario);
            let (_, code, text) = outputs.iter().find(|(found, ..)| *found == name).unwrap();
            let is_found = *code == Some(3) && text.contains(words);
            (!is_found).then(|| format!("{name}: {code:?} without `{words}`\n{text}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A new scenario has liars too.
#[tokio::test]
async fn builtin_scenario_has_a_liar() {
    let mut list = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    let list = run_output(list.arg("scenarios").output().await.unwrap()).stdout;
    for name in list.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()) {
        assert!(CASES.iter().any(|case| case.scenario == name && !case.lies.is_empty()), "{name}");
    }
}

/// The first refusal ended the issuing, and requests in flight went on to issue keys that nobody revoked.
#[tokio::test]
async fn refused_key_leaves_no_other_key_behind() {
    let gateway = Honest::start(Lie::RefusesOneKey).await;
    let options = ["--scenario", "mixed-tiers", "--admin-env", "LT_ADMIN", "--keys", "8", "--duration", "1s"];
    let output = command(gateway.addr, &options).env("LT_ADMIN", "secret").output().await.unwrap();
    let output = run_output(output);
    let (asked, revoked) = gateway.keys();
    assert!(asked > 1 && revoked == asked - 1, "{asked} asked for, {revoked} revoked: {}", output.stderr);
}
