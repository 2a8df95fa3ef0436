//! `loadtest certify URL`: the limit certificate of any gateway, from the calls of one client.
//!
//! The calls are those that a limiter of its kind lets through too often, if it does. A window of steady
//! calls at three times the limit drains a bucket that refills meanwhile. After a quiet window, one call
//! opens a window that begins with the first call, and a burst lies around its end, which is a boundary
//! of the clock too.

mod certificate;
mod policy;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use clap::Args;
use http_body_util::Full;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::{Request, Uri};
use shared::headers::API_KEY;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until};

use crate::http::{CallResponse, TlsOptions, send_once};
use crate::keys::read_keys;
use crate::target::Target;
use certificate::{Call, Certificate};
use policy::LimitPolicy;

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
    /// Environment variable with the API key, which is sent as `X-API-Key`. A key in a header of the command line
    /// is in the list of processes.
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    /// Allow a target that is not on loopback. Ask its owner first.
    #[arg(long)]
    allow_remote: bool,
    /// Accept any certificate.
    #[arg(long)]
    insecure: bool,
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
    let schedule = policy.schedule(since_boundary(policy.window));
    let (count, length) = (schedule.len(), schedule.last().copied().unwrap_or_default());
    let progress = Progress { is_quiet: arguments.quiet, count, length };
    progress.begin();
    let mut calls = JoinSet::new();
    for due in schedule {
        let (target, tls, request) = (target.clone(), tls.clone(), request.build());
        calls.spawn(async move {
            // Each call has its own task: in a loop, a slow response would delay the calls of the
            // burst.
            sleep_until(began + due).await;
            let sent = began.elapsed();
            let response = send_once(&target, &tls, request).await;
            Call { sent, done: began.elapsed(), status: response.ok().map(|response| response.status) }
        });
    }
    let mut done = Vec::with_capacity(count);
    let mut tick = interval(PROGRESS_INTERVAL);
    // The first tick comes at once, and would say that no call is done.
    tick.tick().await;
    while !calls.is_empty() {
        tokio::select! {
            Some(call) = calls.join_next() => done.extend(call.ok()),
            _ = tick.tick() => progress.show(done.len(), began.elapsed()),
        }
    }
    let certificate = Certificate::new(policy, &done);
    write!(io::stdout(), "{certificate}")?;
    Ok(certificate.exit_code())
}

/// The time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Lines of progress on standard error, which may be a file: minutes of silence look like a hang.
struct Progress {
    is_quiet: bool,
    count: usize,
    length: Duration,
}

impl Progress {
    fn begin(&self) {
        self.say(&format!("{} calls over {} s", self.count, self.length.as_secs()));
    }

    fn show(&self, done: usize, since: Duration) {
        let (now, all) = (since.as_secs(), self.length.as_secs());
        self.say(&format!("{done} of {} calls after {now} of {all} s", self.count));
    }

    fn say(&self, text: &str) {
        if !self.is_quiet {
            // There is nowhere left to say that it fails.
            let _written = writeln!(io::stderr(), "loadtest: {text}");
        }
    }
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

/// The request that is sent again and again.
struct Template {
    path: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Template {
    fn parse(arguments: &Arguments, target: &Target) -> Result<Self, Box<dyn Error>> {
        let mut headers = vec![(HOST, HeaderValue::from_str(target.authority())?)];
        if let Some(keys) = read_keys(arguments.key_env.as_deref(), None)? {
            // The limit is that of one key.
            let [key] = keys.as_slice() else {
                return Err("expected one key in the variable of --key-env".into());
            };
            let mut value = HeaderValue::from_str(key)?;
            // The value is not shown where headers are printed for debugging.
            value.set_sensitive(true);
            headers.push((HeaderName::from_static(API_KEY), value));
        }
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
