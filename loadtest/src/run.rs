//! `loadtest run`: runs a scenario and prints its report.

mod arguments;
mod error;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::HeaderValue;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

pub use arguments::Arguments;
pub use error::RunError;

use crate::driver::{Driver, DriverOptions, StopFlag};
use crate::report::{Report, RunInfo};
use crate::scenario::{self, CallSpec, Scenario, Script};
use crate::schedule::{RunLimits, Schedule};
use crate::target::Target;

/// The exit code of a run in which a check failed.
const CHECK_FAILED: u8 = 3;
/// The minimum duration of `tool-dies`. The last third must be longer than the recovery time of 10
/// s.
const MIN_OUTAGE_RUN: Duration = Duration::from_secs(36);

/// A validated run.
struct Run {
    scenario: Scenario,
    spec: CallSpec,
    schedule: Schedule,
    options: DriverOptions,
    keys: Vec<HeaderValue>,
    script: Script,
}

/// Runs a scenario and prints its report. Returns exit code 0 if all checks pass, otherwise 3.
///
/// # Errors
/// Returns an error if the arguments are inconsistent, the target is unreachable, or the script
/// fails.
pub async fn run(arguments: Arguments) -> Result<ExitCode, RunError> {
    let json = arguments.json;
    let report = execute(Run::prepare(arguments).await?).await?;
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{report}")?;
    }
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

async fn execute(run: Run) -> Result<Report, RunError> {
    let method = if run.spec.body.is_some() { "POST" } else { "GET" };
    let call = format!("{method} {}{}", run.options.target, run.spec.path);
    let templates = scenario::templates(run.scenario, &run.options.target, &run.spec, &run.keys);
    let (sender, templates) = watch::channel(templates);
    let connections = run.options.connections;
    let driver = Driver::connect(run.options).await?;

    let stop = StopFlag::default();
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    let start = Instant::now();
    let (log, event) = tokio::join!(
        driver.run(run.schedule, templates, start, stop.clone()),
        scenario::play(run.script, start, run.schedule.duration(), sender, &stop),
    );
    signals.abort();
    let info = RunInfo {
        scenario: run.scenario,
        call,
        schedule: run.schedule,
        connections,
        event: event?,
        interrupted: stop.is_set(),
    };
    Ok(Report::new(info, &log))
}

/// Ends the run early on the first SIGINT or SIGTERM, with a report. The second one exits
/// immediately.
async fn stop_on_signal(stop: StopFlag) {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else { return };
    let mut next = async || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    next().await;
    stop.set();
    next().await;
    std::process::exit(130);
}

impl Run {
    async fn prepare(arguments: Arguments) -> Result<Self, RunError> {
        let limits = RunLimits { seconds: arguments.max_seconds, calls: arguments.max_calls };
        let bursts = arguments.scenario == Scenario::Burst;
        let schedule = Schedule::new(arguments.rate, arguments.seconds, bursts, limits)?;
        let target = Target::resolve(&arguments.url, arguments.allow_remote).await?;
        let spec = CallSpec { path: arguments.path.clone(), body: arguments.body.clone().map(Bytes::from) };
        let keys = arguments.key_env.as_deref().map_or_else(|| Ok(Vec::new()), read_keys)?;
        let script = script(&arguments, &target, &spec, &keys, schedule).await?;
        let options = DriverOptions {
            target,
            connections: arguments.connections.into(),
            timeout: Duration::from_secs(arguments.timeout.into()),
        };
        Ok(Self { scenario: arguments.scenario, spec, schedule, options, keys, script })
    }
}

/// Returns the script of the scenario.
async fn script(
    arguments: &Arguments,
    target: &Target,
    spec: &CallSpec,
    keys: &[HeaderValue],
    schedule: Schedule,
) -> Result<Script, RunError> {
    match arguments.scenario {
        Scenario::Steady | Scenario::Burst | Scenario::OverLimit => Ok(Script::None),
        Scenario::ToolDies => {
            if schedule.duration() < MIN_OUTAGE_RUN {
                return Err(RunError::OutageTooShort { seconds: schedule.duration().as_secs() });
            }
            let tool = spec.tool().ok_or_else(|| RunError::NoTool { path: spec.path.to_string() })?;
            let control = Target::resolve(&arguments.control, arguments.allow_remote).await?;
            Ok(Script::StopTool { control, tool })
        }
        Scenario::KeyRotation => match (keys, &arguments.new_key_file) {
            ([key], Some(file)) => Ok(Script::RotateKey {
                target: target.clone(),
                spec: spec.clone(),
                key: key.clone(),
                new_key_file: file.clone(),
            }),
            _ => Err(RunError::RotationNeedsOneKey { keys: keys.len() }),
        },
    }
}

/// Reads the keys from an environment variable, separated by commas.
fn read_keys(variable: &str) -> Result<Vec<HeaderValue>, RunError> {
    let name = || variable.to_owned();
    let text =
        std::env::var(variable).map_err(|source| RunError::KeyVariable { variable: name(), source })?;
    let keys = text.split(',').map(str::trim).filter(|key| !key.is_empty()).map(|key| {
        let mut value =
            HeaderValue::from_str(key).map_err(|_invalid| RunError::KeyNotHeader { variable: name() })?;
        value.set_sensitive(true);
        Ok(value)
    });
    let keys: Vec<HeaderValue> = keys.collect::<Result<_, RunError>>()?;
    if keys.is_empty() { Err(RunError::NoKey { variable: name() }) } else { Ok(keys) }
}
