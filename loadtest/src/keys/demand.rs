//! The number of keys that a load needs. With fewer, a run finds the limits of keys in place of those
//! of the gateway.

use std::num::NonZeroU32;
use std::time::Duration;

use hyper::Method;
use serde_json::Value;
use shared::policy::{LimitOverrides, Policy};
use shared::tier::Tier;
use tokio::time::sleep;

use super::KeysError;
use crate::http::{HttpClient, HttpError};
use crate::scenario::{Action, KeyOrder, KeysSpec, RequestSpec, Scenario};

/// The calls of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadSize {
    /// The most calls within a minute.
    pub(crate) minute: f64,
    /// All calls.
    pub(crate) total: f64,
}

/// The share of its limit that a key is given to use if keys are added. Calls that are late come
/// closer together.
const USED_SHARE: f64 = 0.8;
/// The most given keys whose limits are read. Keys of a file are usually alike.
const MAX_ASKED: usize = 16;
/// The attempts to read the limits of a key, and the time between them.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);

/// Returns the number of keys of `limit` that `calls` need, with a reserve.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and a larger number than any becomes the largest"
)]
pub(crate) fn keys_needed(calls: f64, limit: u32) -> u32 {
    (calls / (f64::from(limit.max(1)) * USED_SHARE)).ceil() as u32
}

/// Adds keys to each pool whose keys would reach their limits, unless the scenario expects that.
///
/// # Errors
/// Returns an error with the number of keys that is needed, if `--keys` fixes it or an event is about
/// one of them.
pub(crate) fn add_keys(
    scenario: &mut Scenario,
    load: LoadSize,
    allows_limit: impl Fn(&str) -> bool,
    is_fixed: bool,
) -> Result<(), KeysError> {
    let shares: Vec<f64> =
        scenario.keys.iter().map(|pool| share(scenario, Some(&pool.name), &allows_limit)).collect();
    let in_events: Vec<bool> = scenario.keys.iter().map(|pool| is_in_events(scenario, pool)).collect();
    for ((pool, share), in_events) in scenario.keys.iter_mut().zip(shares).zip(in_events) {
        // Keys that are used unevenly reach their limits however many there are.
        let Some(policy) = policy(pool).filter(|_| pool.order == KeyOrder::Turns) else { continue };
        let Some((calls, limit, window)) = exceeded(load, share, pool.count, policy) else { continue };
        let needed = keys_needed(calls, limit);
        // A number that was asked for is not changed. More keys would also soften an event that
        // revokes one.
        if is_fixed || in_events {
            let (name, count) = (pool.name.clone(), pool.count);
            return Err(KeysError::TooFew { pool: name, count, limit, window, calls: calls.ceil(), needed });
        }
        pool.count = needed;
    }
    Ok(())
}

/// Checks that given keys, whose limits the gateway names, are enough. What it does not name is not
/// checked. Returns a note for the report if it did not respond.
///
/// # Errors
/// Returns an error with the number of keys that is needed.
pub(crate) async fn check_given(
    gateway: &HttpClient,
    keys: &[String],
    scenario: &Scenario,
    load: LoadSize,
    allows_limit: impl Fn(&str) -> bool,
) -> Result<Option<String>, KeysError> {
    let share = share(scenario, None, allows_limit);
    let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
    if share <= 0.0 {
        return Ok(None);
    }
    // Given keys are usually of one tier. A thousand questions before each run would be a load of
    // their own.
    for key in keys.iter().take(MAX_ASKED) {
        let policy = match announced_policy(gateway, key).await {
            Ok(Some(policy)) => policy,
            // A key that is not the gateway's own, or a gateway without a key API, says nothing about
            // its limits.
            Ok(None) => continue,
            Err(error) => {
                return Ok(Some(format!("the limits of the given keys are not checked: {error}")));
            }
        };
        if let Some((calls, limit, window)) = exceeded(load, share, count, policy) {
            let (pool, needed) = ("given".to_owned(), keys_needed(calls, limit));
            return Err(KeysError::TooFew { pool, count, limit, window, calls: calls.ceil(), needed });
        }
    }
    Ok(None)
}

/// Returns the share of the calls that take a key of `pool`, or of any, and must not be refused
/// because of its limit.
fn share(scenario: &Scenario, pool: Option<&str>, allows_limit: impl Fn(&str) -> bool) -> f64 {
    // The rate is that of requests and of flows that begin, and each step of a flow is a call.
    let steps = scenario.flows.iter().flat_map(|flow| flow.requests().map(|step| (flow.weight, step)));
    let requests = scenario.requests.iter().map(|request| (request.weight, request.clone()));
    let calls: Vec<(u32, RequestSpec)> = requests.chain(steps).collect();
    let begun = scenario.requests.iter().map(|request| request.weight);
    let begun: f64 = begun.chain(scenario.flows.iter().map(|flow| flow.weight)).map(f64::from).sum();
    let takes_key = |keys: Option<&str>| keys.is_some() && (pool.is_none() || keys == pool);
    let is_limited =
        |request: &RequestSpec| takes_key(request.keys.as_deref()) && !allows_limit(&request.name);
    let limited = calls.iter().filter(|(_, request)| is_limited(request));
    // More than 1 if flows have several steps: the rate counts a flow once.
    limited.map(|(weight, _)| f64::from(*weight)).sum::<f64>() / begun.max(1.0)
}

/// Returns true if an event changes a key of the pool, so that the number of keys matters.
fn is_in_events(scenario: &Scenario, pool: &KeysSpec) -> bool {
    scenario.events.iter().any(|event| match &event.action {
        Action::RotateKey(name) | Action::RevokeKey(name) => *name == pool.name,
        Action::Tool(_) | Action::Hook(_) | Action::Request(_) => false,
    })
}

/// Returns the limits of a pool's keys, or `None` if the tier is unknown.
fn policy(pool: &KeysSpec) -> Option<Policy> {
    let own = LimitOverrides { minute: pool.minute.and_then(NonZeroU32::new), ..LimitOverrides::NONE };
    Some(Policy::for_tier(pool.tier.parse::<Tier>().ok()?).with(own))
}

/// Returns the calls of a window, its limit and its name, if `count` keys are too few for it.
fn exceeded(load: LoadSize, share: f64, count: u32, policy: Policy) -> Option<(f64, u32, &'static str)> {
    let minute = (load.minute * share, policy.minute.get(), "minute");
    let day = policy.day.map(|day| (load.total * share, day.get(), "day"));
    let windows = [Some(minute), day].into_iter().flatten();
    let too_few = windows.filter(|(calls, limit, _)| *calls > f64::from(*limit) * f64::from(count));
    // The window that needs the most keys, or the run would be refused again for the other one.
    too_few.max_by_key(|(calls, limit, _)| keys_needed(*calls, *limit))
}

/// Returns the limits of a key as the gateway names them to its holder, or `None` if it names none.
///
/// # Errors
/// Returns the last error if no attempt had a response that is about the key.
async fn announced_policy(gateway: &HttpClient, key: &str) -> Result<Option<Policy>, HttpError> {
    let mut attempt = 1;
    loop {
        match gateway.send(Method::GET, "/v1/keys/me", None, &[("x-api-key", key)]).await {
            Ok(usage) => return Ok(limits_of(&usage)),
            Err(HttpError::Refused { status, .. }) if !is_temporary(status) => return Ok(None),
            Err(error) if attempt == ATTEMPTS => return Err(error),
            // A gateway that has just started may not be ready yet, and without the limits the run
            // would measure those of the keys.
            Err(_) => sleep(PAUSE).await,
        }
        attempt += 1;
    }
}

/// Returns true for a status that says nothing about the key.
const fn is_temporary(status: u16) -> bool {
    matches!(status, 429 | 500..)
}

fn limits_of(usage: &Value) -> Option<Policy> {
    let limits = usage.get("limits")?;
    let limit = |name: &str| NonZeroU32::new(u32::try_from(limits.get(name)?.as_u64()?).ok()?);
    Some(Policy { minute: limit("minute")?, day: limit("day") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(scenario: &str, minute: f64, is_fixed: bool) -> Result<Vec<u32>, String> {
        let mut scenario: Scenario = toml::from_str(scenario).unwrap();
        let load = LoadSize { minute, total: minute * 20.0 };
        add_keys(&mut scenario, load, |request| request == "flood", is_fixed)
            .map_err(|error| error.to_string())?;
        Ok(scenario.keys.iter().map(|pool| pool.count).collect())
    }

    const STEADY: &str = "[[keys]]\nname=\"main\"\ntier=\"enterprise\"\ncount=10\n\
                          [[request]]\nname=\"main\"\npath=\"/x\"\nkeys=\"main\"\n";

    #[test]
    fn keys_are_added_if_the_load_exceeds_their_limits() {
        assert_eq!(counts(STEADY, 5000.0, false), Ok(vec![10]));
        assert_eq!(counts(STEADY, 6000.0, false), Ok(vec![15]));
        let own = STEADY.replace("count=10", "minute=5000");
        assert_eq!(counts(&own, 6000.0, false), Ok(vec![2]));
        // The limit of the day needs more keys than that of the minute.
        assert_eq!(counts(&STEADY.replace("enterprise", "free"), 80.0, false), Ok(vec![20]));
        let error = counts(STEADY, 6000.0, true).unwrap_err();
        assert!(error.contains("15 keys") && error.contains("6000"), "{error}");
    }

    #[test]
    fn keys_are_not_added_where_the_scenario_expects_the_limit() {
        let flood = STEADY.replace("name=\"main\"\npath", "name=\"flood\"\npath");
        assert_eq!(counts(&flood, 6000.0, false), Ok(vec![10]));
        let zipf = STEADY.replace("count=10", "count=10\norder=\"zipf\"");
        assert_eq!(counts(&zipf, 6000.0, false), Ok(vec![10]));
        let both = format!(
            "{flood}[[keys]]\nname=\"polite\"\ntier=\"pro\"\n\
                            [[request]]\nname=\"polite\"\npath=\"/x\"\nkeys=\"polite\"\nweight=3\n"
        );
        assert_eq!(counts(&both, 1000.0, false), Ok(vec![10, 10]));
    }

    #[test]
    fn keys_of_an_event_are_not_added() {
        let rotated = format!("{STEADY}[[event]]\nat=\"50%\"\nphase=\"rotated\"\nrotate-key=\"main\"\n");
        assert_eq!(counts(&rotated, 5000.0, false), Ok(vec![10]));
        assert!(counts(&rotated, 6000.0, false).is_err());
    }
}
