//! `loadtest certify URL`: the limit certificate of any gateway, from the calls of one client.
//!
//! The calls are those that a limiter of its kind lets through too often, if it does. A window of steady
//! calls at three times the limit drains a bucket that refills meanwhile. After a quiet window, one call
//! opens a window that begins with the first call, and a burst lies around its end, which is a boundary
//! of the clock too.

mod policy;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use clap::Args;
use http_body_util::Full;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::driver::{CallResponse, TlsOptions, send_once};
use crate::summary::fullest_window;
use crate::target::Target;
use policy::LimitPolicy;

/// Exit code of a gateway that let more calls through than its limit.
const EXCEEDED: u8 = 3;

/// The arguments of `loadtest certify`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Scheme, host and port of the gateway.
    url: String,
    /// Limit to certify, as calls and window: `100/60s`. By default, the one that `RateLimit-Policy`
    /// announces for 60 seconds.
    #[arg(long)]
    policy: Option<LimitPolicy>,
    /// Path of the calls.
    #[arg(long, default_value = "/")]
    path: String,
    /// Header of each call, as `name: value`. May be repeated.
    #[arg(long = "header")]
    headers: Vec<String>,
    /// Allow a target that is not on loopback. Ask its owner first.
    #[arg(long)]
    allow_remote: bool,
    /// Accept any certificate.
    #[arg(long)]
    insecure: bool,
}

/// An admitted or refused call.
struct Call {
    sent: Duration,
    done: Duration,
    status: Option<StatusCode>,
}

/// Calls the gateway for four to five windows, and prints the certificate.
///
/// # Errors
/// Returns an error if the gateway cannot be reached, or names no limit and none is given.
pub async fn certify(arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let target = Target::resolve(&arguments.url, arguments.allow_remote).await?;
    let tls = TlsOptions::new(None, arguments.insecure)?;
    let request = Template::parse(&arguments, &target)?;
    let policy = match arguments.policy {
        Some(policy) => policy,
        None => announced(&send_once(&target, &tls, request.build()).await?)?,
    };
    let began = Instant::now();
    let mut calls = JoinSet::new();
    for due in policy.schedule(since_boundary(policy.window)) {
        let (target, tls, request) = (target.clone(), tls.clone(), request.build());
        calls.spawn(async move {
            sleep_until(began + due).await;
            let sent = began.elapsed();
            let response = send_once(&target, &tls, request).await;
            Call { sent, done: began.elapsed(), status: response.ok().map(|response| response.status) }
        });
    }
    Ok(report(policy, &calls.join_all().await)?)
}

/// Returns the limit that a response announces.
fn announced(response: &CallResponse) -> Result<LimitPolicy, Box<dyn Error>> {
    match response.minute_quota() {
        Some(calls) => Ok(LimitPolicy { calls, window: Duration::from_secs(60) }),
        None => {
            Err("the response has no RateLimit-Policy for 60 seconds; name the limit: --policy 100/60s"
                .into())
        }
    }
}

/// Returns how far the clock is into its window.
fn since_boundary(window: Duration) -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(u64::try_from(since.as_millis() % window.as_millis().max(1)).unwrap_or_default())
}

/// Prints the certificate. Returns the exit code.
fn report(policy: LimitPolicy, calls: &[Call]) -> io::Result<ExitCode> {
    let admitted = |call: &&Call| call.status.is_some_and(|status| status.is_success());
    let passed: Vec<_> = calls.iter().filter(admitted).map(|call| (call.sent, call.done)).collect();
    let failed = calls.iter().filter(|call| call.status.is_none()).count();
    let (fullest, from) = fullest_window(&passed, policy.window);
    let share = fullest as f64 / f64::from(policy.calls);
    let is_exact = share <= 1.0 && fullest > 0;
    let mut out = io::stdout().lock();
    writeln!(out, "limit            {policy}")?;
    writeln!(
        out,
        "calls            {}: {} admitted, {} refused, {failed} failed",
        calls.len(),
        passed.len(),
        calls.len() - passed.len() - failed
    )?;
    writeln!(
        out,
        "fullest window   {fullest} calls from {:.1} s: {share:.2} of the limit",
        from.as_secs_f64()
    )?;
    writeln!(
        out,
        "certificate      {}",
        if is_exact { "exact: no window held more than the limit" } else { "none" }
    )?;
    Ok(if is_exact { ExitCode::SUCCESS } else { ExitCode::from(EXCEEDED) })
}

/// The request that is sent again and again.
struct Template {
    path: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Template {
    fn parse(arguments: &Arguments, target: &Target) -> Result<Self, Box<dyn Error>> {
        let mut headers = vec![(HOST, HeaderValue::from_str(target.authority())?)];
        for text in &arguments.headers {
            let (name, value) = text.split_once(':').ok_or_else(|| {
                format!("invalid header `{text}`: expected a name and a value, for example `x-api-key: abc`")
            })?;
            headers.push((name.trim().parse()?, HeaderValue::from_str(value.trim())?));
        }
        Ok(Self { path: arguments.path.parse()?, headers })
    }

    fn build(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = self.path.clone();
        request.headers_mut().extend(self.headers.iter().cloned());
        request
    }
}
