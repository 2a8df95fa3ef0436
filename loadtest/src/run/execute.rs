//! The execution of a run.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arguments::Arguments;
use super::error::RunError;
use super::prepare::Prepared;
use super::{command_line, machine, progress, signals};
use crate::books::{self, Counters};
use crate::clock;
use crate::costs::{self, Costs};
use crate::driver::{Collected, Collector, CollectorOptions, Driver, FindLostCheck, LiveCounts, StopFlag};
use crate::events::{await_truths, plan_events, run_steps};
use crate::report::{Report, RunEnd, RunInfo, RunOutcome};
use crate::schedule::{Schedule, Shard, Stage};
use crate::simulator;
use crate::timeline::LiveTimeline;
use crate::verdict::{self, Check, Evidence};

/// Runs these stages, writes the raw log to `log` and returns the report.
pub(super) async fn execute(
    prepared: &Prepared,
    arguments: &Arguments,
    stages: &[Stage],
    log: Option<&Path>,
) -> Result<Report, RunError> {
    let shard = arguments.shard.as_deref().map_or(Ok(Shard::ALL), Shard::parse)?;
    let schedule = Schedule::new(stages, shard, arguments.unbounded)?;
    let length = schedule.duration();
    let events = plan_events(&prepared.scenario.events, length, &prepared.player)?;
    let mut info = run_info(prepared, arguments, stages, &schedule);
    let driver = Driver::connect(prepared.options.clone()).await?;
    // As late as possible, because the requests before the run count in the gateway too.
    let before = prepared.sources.read().await;
    info.gateway_version = prepared.sources.gateway_version().await;
    let start = wait_for_start(arguments).await?;
    // After the wait, and before the log's header is written: logs are merged by this time.
    info.started_unix_ms = clock::unix_millis();

    let (stop, timeline, counts) =
        (StopFlag::default(), LiveTimeline::new(start), Arc::new(LiveCounts::default()));
    let signals = tokio::spawn(signals::stop_on_signal(stop.clone()));
    let options = CollectorOptions {
        log: log.map(|path| (path, &info)),
        length,
        timeout: prepared.options.timeout,
        live: prepared.live.clone(),
        find_lost_check: arguments.abort_on_fail.then(|| find_lost_check(prepared, &info, &schedule)),
    };
    let (records, collector) =
        Collector::start(options, timeline.clone(), start, stop.clone(), Arc::clone(&counts))?;
    let progress = tokio::spawn(progress::show(counts, start, length, arguments.quiet));
    let (played, ()) = tokio::join!(
        prepared.player.play(events, start, &timeline, &stop),
        driver.run(schedule, Arc::clone(&prepared.plan), start, stop.clone(), records),
    );
    // Both would wait forever: they end only with the run.
    progress.abort();
    signals.abort();
    let collected = collector.finish().ok_or(RunError::Collector)?;
    // What was measured until an error is not lost with it.
    let error = played.err().map(|error| error.to_string());
    let error = error.or_else(|| collected.log_error.as_ref().map(ToString::to_string));
    let end = match (error, &collected.lost_check) {
        (Some(error), _) => RunEnd::Broken(error),
        (None, Some(check)) => RunEnd::Aborted(check.clone()),
        (None, None) if stop.is_set() => RunEnd::Interrupted,
        (None, None) => RunEnd::Planned,
    };
    conclude(prepared, arguments, info, collected, before, end).await
}

/// Returns the function that looks for a check that can no longer pass.
fn find_lost_check(prepared: &Prepared, info: &RunInfo, schedule: &Schedule) -> FindLostCheck {
    let (criteria, requests) = (prepared.criteria.clone(), info.requests.clone());
    let calls = schedule.own_calls() * prepared.plan.longest_flow();
    let duration = schedule.duration();
    Box::new(move |summary, timeline| {
        let requests = &requests;
        let evidence = Evidence { summary, timeline, requests, duration, books: None, costs: None };
        verdict::first_lost(&criteria, &evidence, calls.saturating_sub(summary.calls))
    })
}

/// Judges a run and completes its raw log.
async fn conclude(
    prepared: &Prepared,
    arguments: &Arguments,
    info: RunInfo,
    collected: Collected,
    before: Option<Counters>,
    end: RunEnd,
) -> Result<Report, RunError> {
    let Collected { summary, timeline, log, .. } = collected;
    // Few calls have no meaningful 99th percentile.
    let judges_times = prepared.criteria.judges_times(summary.calls);
    let books = match &before {
        Some(before) => books::balance(&summary, &prepared.sources, before).await,
        None => None,
    };
    let sent = summary.calls - summary.not_sent();
    // After the books: these settle within seconds, and costs wait for flushes and alarms.
    let costs = count_costs(prepared, arguments, before.as_ref(), sent).await;
    let evidence = Evidence {
        summary: &summary,
        timeline: &timeline,
        requests: &info.requests,
        duration: summary.length(Duration::from_secs_f64(info.seconds), end.is_early()),
        books: books.as_ref(),
        costs: costs.as_ref(),
    };
    let mut checks = verdict::judge(&prepared.criteria, &evidence);
    let max_send_lag = prepared.criteria.max_send_lag;
    checks.extend(simulator::check(prepared.sources.control.as_ref(), max_send_lag, judges_times).await);
    let (player, scenario) = (&prepared.player, &prepared.scenario);
    // A run that ended early sent fewer calls than its truths are about.
    if !end.is_early() {
        let truths =
            await_truths(&scenario.truths, &player.gateway, &player.pools, &player.variables, &evidence);
        checks.extend(truths.await);
    }
    let mut variables = player.variables.clone();
    // Also after a run that broke: these requests remove what the ones before it created.
    let after = run_steps(&scenario.after, &player.gateway, &player.pools, &mut variables).await;
    if let Err(error) = after {
        checks.push(Check::new("the requests after the run succeed", false, error.to_string()));
    }
    let samples = prepared.plan.take_samples();
    let mut outcome =
        RunOutcome { timeline, checks, books, costs, end, samples, notes: prepared.notes.clone() };
    if let Some(log) = log {
        let finished = log.finish(&outcome);
        if let Err(error) = finished {
            // A log without a trailer looks like that of a run that was killed.
            outcome.end = RunEnd::Broken(error.to_string());
        }
    }
    Ok(Report::new(info, outcome, &summary))
}

/// Waits until an edge has done what its calls leave to do, and returns the costs of all.
async fn count_costs(
    prepared: &Prepared,
    arguments: &Arguments,
    before: Option<&Counters>,
    calls: u64,
) -> Option<Costs> {
    let (edge, before) = prepared.sources.edge.as_ref().zip(before?.edge.as_ref())?;
    progress::note(&format!("counting costs for {} s", arguments.costs_wait.as_secs()), arguments.quiet);
    costs::read(edge, &before.operations, calls, arguments.costs_wait).await
}

fn run_info(prepared: &Prepared, arguments: &Arguments, stages: &[Stage], schedule: &Schedule) -> RunInfo {
    let options = &prepared.options;
    RunInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: prepared.scenario.name.clone(),
        about: prepared.scenario.about.clone(),
        proves: prepared.scenario.proves.clone(),
        target: options.target.to_string(),
        requests: prepared.plan.names(),
        stages: stages.iter().map(Stage::to_string).collect(),
        connections: options.connections,
        streams: options.streams,
        protocol: if options.http2 { "HTTP/2" } else { "HTTP/1.1" }.to_owned(),
        shard: arguments.shard.clone().unwrap_or_else(|| "1/1".to_owned()),
        seconds: schedule.duration().as_secs_f64(),
        scheduled: schedule.calls(),
        timeout_s: options.timeout.as_secs_f64(),
        started_unix_ms: 0,
        shared_keys: arguments.keys_are_given(),
        criteria: prepared.criteria_text.clone(),
        paths: prepared.plan.paths(),
        command: command_line::text(std::env::args()),
        machine: machine::describe(),
        gateway_version: None,
    }
}

/// Returns the beginning of the run: now, or the moment of `--start-at`.
async fn wait_for_start(arguments: &Arguments) -> Result<Instant, RunError> {
    let Some(at) = arguments.start_at else { return Ok(Instant::now()) };
    // A driver that begins late would send its whole backlog at once, beside drivers that did not.
    let wait = at.checked_sub(clock::unix_millis()).ok_or(RunError::Late(at))?;
    let start = Instant::now() + Duration::from_millis(wait);
    tokio::time::sleep_until(start.into()).await;
    Ok(start)
}
