//! `loadtest run`: from arguments to a report.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use hyper::Uri;
use hyper::header::HeaderValue;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::driver::{self, Means, Stop};
use crate::plan::{Bounds, Pace};
use crate::report::{Circumstances, Report};
use crate::scenario::{self, Ask, Scenario, Script};
use crate::target::Target;

/// The options of `loadtest run`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The gateway: scheme, host and port.
    #[arg(long, default_value = "http://127.0.0.1:8787")]
    url: String,
    /// Path and query to call.
    #[arg(long, default_value = "/v1/idea/generate", value_parser = parse_path)]
    path: Uri,
    /// JSON body; makes every call a POST.
    #[arg(long)]
    body: Option<String>,
    /// Name of the environment variable that holds the key, or several separated by commas, used in turn.
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// What to play.
    #[arg(long, value_enum, default_value_t = Scenario::Steady)]
    scenario: Scenario,
    /// Calls a second, sent whether or not the earlier ones are answered.
    #[arg(long, default_value_t = 50)]
    rate: u32,
    /// For how many seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Connections kept open.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    connections: u16,
    /// How long a call may take, in seconds.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u8).range(1..=60))]
    timeout: u8,
    /// Control API of the simulated tools, for tool-dies.
    #[arg(long, default_value = "http://127.0.0.1:9117")]
    control: String,
    /// File to be made for the new key (mode 0600), for key-rotation: it is shown once and the old one will end.
    #[arg(long, value_name = "FILE", required_if_eq("scenario", "key-rotation"))]
    new_key_file: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Longest run in seconds.
    #[arg(long, default_value_t = 60)]
    max_seconds: u32,
    /// Most calls of a run; each takes about 64 bytes of memory.
    #[arg(long, default_value_t = 100_000)]
    max_calls: u64,
    /// Allow a target that is not this machine. Have its owner's consent.
    #[arg(long)]
    allow_remote: bool,
}

/// What is about to be done, all of it checked.
struct Run {
    scenario: Scenario,
    ask: Ask,
    pace: Pace,
    means: Means,
    keys: Vec<HeaderValue>,
    script: Script,
}

/// Runs a scenario, prints its report, and says by the exit code whether what it expects held.
///
/// # Errors
/// When the arguments do not fit together, the target cannot be reached, or the scenario's own part fails.
pub async fn run(arguments: Arguments) -> io::Result<ExitCode> {
    let json = arguments.json;
    let report = drive(Run::prepare(arguments).await?).await?;
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        write!(out, "{report}")?;
    }
    Ok(if report.held() { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

async fn drive(run: Run) -> io::Result<Report> {
    let call = format!(
        "{} {}{}",
        if run.ask.body.is_some() { "POST" } else { "GET" },
        run.means.target,
        run.ask.path
    );
    let templates = scenario::templates(run.scenario, &run.means.target, &run.ask, &run.keys);
    let (sender, templates) = watch::channel(templates);
    let connections = run.means.connections;
    let ready = driver::connect(run.means).await?;

    let stop = Stop::default();
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    let start = Instant::now();
    let (log, moments) = tokio::join!(
        ready.drive(run.pace, templates, start, stop.clone()),
        scenario::play(run.script, start, run.pace.length(), sender, &stop),
    );
    signals.abort();
    let circumstances = Circumstances {
        scenario: run.scenario,
        call,
        pace: run.pace,
        connections,
        moments: moments?,
        interrupted: stop.is_set(),
    };
    Ok(Report::new(circumstances, &log))
}

/// The first SIGINT or SIGTERM ends the run early, with a report of what there is; the second ends the process.
async fn stop_on_signal(stop: Stop) {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else { return };
    let mut next = async || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    next().await;
    stop.now();
    next().await;
    std::process::exit(130);
}

impl Run {
    async fn prepare(arguments: Arguments) -> io::Result<Self> {
        let bounds = Bounds { seconds: arguments.max_seconds, calls: arguments.max_calls };
        let bursts = arguments.scenario == Scenario::Burst;
        let pace = Pace::new(arguments.rate, arguments.seconds, bursts, bounds).map_err(unfit)?;
        let target = Target::resolve(&arguments.url, arguments.allow_remote).await?;
        let ask = Ask { path: arguments.path.clone(), body: arguments.body.clone().map(Bytes::from) };
        let keys = arguments.key_env.as_deref().map_or_else(|| Ok(Vec::new()), read_keys)?;
        let script = script(&arguments, &target, &ask, &keys, pace).await?;
        let means = Means {
            target,
            connections: arguments.connections.into(),
            timeout: Duration::from_secs(arguments.timeout.into()),
        };
        Ok(Self { scenario: arguments.scenario, ask, pace, means, keys, script })
    }
}

async fn script(
    arguments: &Arguments,
    target: &Target,
    ask: &Ask,
    keys: &[HeaderValue],
    pace: Pace,
) -> io::Result<Script> {
    match arguments.scenario {
        Scenario::Steady | Scenario::Burst | Scenario::OverLimit => Ok(Script::Nothing),
        Scenario::ToolDies => {
            if pace.length() < Duration::from_secs(36) {
                let why = "tool-dies takes --seconds 36 or more: a third of it is to see the tool heal, within 10 s";
                return Err(unfit(why.to_owned()));
            }
            let tool =
                ask.tool().ok_or_else(|| unfit("tool-dies needs a --path of /v1/{tool}/…".to_owned()))?;
            let control = Target::resolve(&arguments.control, arguments.allow_remote).await?;
            Ok(Script::KillTool { control, tool })
        }
        Scenario::KeyRotation => match (keys, &arguments.new_key_file) {
            ([key], Some(file)) => Ok(Script::Rotate {
                target: target.clone(),
                ask: ask.clone(),
                key: key.clone(),
                new_key_file: file.clone(),
            }),
            _ => Err(unfit("key-rotation needs one key by --key-env, and --new-key-file".to_owned())),
        },
    }
}

fn parse_path(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|cause| format!("{cause}"))?;
    if uri.authority().is_some() || !text.starts_with('/') {
        return Err("begin it with /".to_owned());
    }
    Ok(uri)
}

fn read_keys(variable: &str) -> io::Result<Vec<HeaderValue>> {
    let text = std::env::var(variable).map_err(|cause| unfit(format!("--key-env {variable}: {cause}")))?;
    let keys = text.split(',').map(str::trim).filter(|key| !key.is_empty()).map(|key| {
        // The fault is told without the value: it is a secret, or nearly one.
        let mut value = HeaderValue::from_str(key)
            .map_err(|_invalid| unfit(format!("the value of {variable} cannot be a header")))?;
        value.set_sensitive(true);
        Ok(value)
    });
    let keys: Vec<HeaderValue> = keys.collect::<io::Result<_>>()?;
    if keys.is_empty() { Err(unfit(format!("{variable} is empty"))) } else { Ok(keys) }
}

fn unfit(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
