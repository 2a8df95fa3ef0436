//! The simulated tools' own report of their load.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use crate::http::HttpClient;
use crate::verdict::Check;

/// Checks that the simulated tools were not the bottleneck. Returns no check if they were not
/// asked.
///
/// If `is_judged` is false, lateness is a warning. Their timers may be as late as the driver may, and at least 5 ms.
pub(crate) async fn check(
    control: Option<&HttpClient>,
    max_send_lag: Duration,
    is_judged: bool,
) -> Option<Check> {
    let overview = control?.send(Method::GET, "/", None, &[]).await.ok()?;
    let load = overview.get("load")?;
    let late = load.get("timer_late_p99_ms").and_then(Value::as_f64)?;
    // Tools that do not say so may be the bottleneck.
    let is_bottleneck = load.get("bottleneck") != Some(&Value::Bool(false));
    let passed = !is_bottleneck || late <= max_send_lag.as_secs_f64() * 1000.0;
    let found = if passed {
        format!("their timers are {late:.1} ms late (p99)")
    } else {
        format!("their timers are {late:.1} ms late (p99): latencies are those of the simulator")
    };
    Some(Check::of_times("the simulated tools keep up", passed, found, is_judged))
}
