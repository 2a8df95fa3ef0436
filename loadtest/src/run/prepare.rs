//! The preparation of a run: everything that can be wrong is found before the first call.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::Arguments;
use super::endpoint::Endpoint;
use super::error::RunError;
use super::knee_range::DEFAULT_STEP;
use crate::books::CounterSources;
use crate::clock;
use crate::driver::DriverOptions;
use crate::events::{Player, check_events, check_truths, run_steps};
use crate::http::{HttpClient, TlsOptions};
use crate::keys::{self, KeyAdmin, KeyPools, KeySources, LoadSize, read_keys, read_secret};
use crate::live_metrics::LiveMetrics;
use crate::plan::{CallPlan, DataSets, Fields, Variables, read_data};
use crate::scenario::{self, KeyOrder, KeySource, KeysSpec, RequestSpec, Scenario};
use crate::schedule::{Schedule, Shard, Stage};
use crate::target::Target;
use crate::verdict::{Criteria, CriteriaText};

/// A run that is ready to start.
pub(super) struct Prepared {
    pub(super) scenario: Scenario,
    pub(super) stages: Vec<Stage>,
    pub(super) options: DriverOptions,
    pub(super) plan: Arc<CallPlan>,
    pub(super) player: Player,
    pub(super) criteria: Criteria,
    pub(super) criteria_text: CriteriaText,
    pub(super) sources: CounterSources,
    /// Metrics that are read while the run is under way.
    pub(super) live: Option<LiveMetrics>,
    /// What the report says about the preparation.
    pub(super) notes: Vec<String>,
    _endpoint: Option<Endpoint>,
    admin: Option<KeyAdmin>,
}

/// The number of connections unless scenario or command line says otherwise.
const DEFAULT_CONNECTIONS: u16 = 32;
/// The longest send lag (p99) unless the command line says otherwise.
const DEFAULT_SEND_LAG: Duration = Duration::from_millis(1);

impl Prepared {
    pub(super) async fn new(arguments: &Arguments) -> Result<Self, RunError> {
        let mut scenario = compose(arguments)?;
        let stages = stages(&scenario, arguments)?;
        let criteria_text = criteria_text(&scenario, arguments);
        let criteria = criteria_text.parse()?;
        let requests = scenario.request_names();
        let data = read_data(&scenario.data)?;
        criteria.validate(&requests, &scenario.phases())?;
        check_events(&scenario)?;
        check_truths(&scenario.truths, &requests, &scenario.phases())?;
        let options = driver_options(&scenario, arguments).await?;
        let gateway = HttpClient::new(options.target.clone(), options.tls.clone());
        let sources = counter_sources(arguments, &options.tls).await?;
        let admin = read_secret("--admin-env", arguments.admin_env.as_deref())?
            .map(|secret| KeyAdmin::new(gateway.clone(), secret, lifetime(&stages, arguments)));
        let load = load_size(&stages, arguments)?;
        let (live, endpoint) = match arguments.prometheus {
            Some(addr) => {
                let live = LiveMetrics::new(&scenario.name, &options.target.to_string(), requests)?;
                (Some(live.clone()), Some(Endpoint::start(addr, live).await?))
            }
            None => (None, None),
        };
        let ready = async {
            let keys = prepare_keys(&mut scenario, arguments, admin.as_ref(), &gateway, &criteria, load);
            let (pools, note) = keys.await?;
            let parts = connect_parts(&scenario, arguments, &options, &data, &sources, pools).await?;
            Ok::<_, RunError>((parts, Vec::from_iter(note)))
        };
        match ready.await {
            Ok(((plan, player), notes)) => {
                let _endpoint = endpoint;
                Ok(Self {
                    scenario,
                    stages,
                    options,
                    plan,
                    player,
                    criteria,
                    criteria_text,
                    sources,
                    live,
                    notes,
                    _endpoint,
                    admin,
                })
            }
            Err(error) => {
                // Keys may have been issued before the step that failed.
                revoke(admin.as_ref()).await;
                Err(error)
            }
        }
    }

    /// Revokes the keys that were issued for the run.
    pub(super) async fn revoke_issued_keys(&self) {
        revoke(self.admin.as_ref()).await;
    }
}

/// The time that issued keys outlive a run: events, books, costs and truths come after it.
const KEYS_OUTLIVE: Duration = Duration::from_secs(30 * 60);
/// The most steps of a search for the knee, with their repetitions.
const KNEE_RUNS: u32 = 60;

/// Returns the time after which issued keys expire by themselves: a run that is killed revokes none.
fn lifetime(stages: &[Stage], arguments: &Arguments) -> Duration {
    let length: Duration = match &arguments.knee {
        Some(_) => arguments.duration.unwrap_or(DEFAULT_STEP) * KNEE_RUNS,
        None => stages.iter().map(|stage| stage.duration).sum(),
    };
    let wait = arguments.start_at.map_or(0, |at| at.saturating_sub(clock::unix_millis()));
    length + Duration::from_millis(wait) + arguments.timeout + arguments.costs_wait + KEYS_OUTLIVE
}

async fn revoke(admin: Option<&KeyAdmin>) {
    let Some(admin) = admin else { return };
    let failed = admin.revoke_all().await;
    if failed > 0 {
        // There is nowhere left to say that it fails.
        let _written = writeln!(io::stderr(), "loadtest: {failed} issued keys could not be revoked");
    }
}

async fn connect_parts(
    scenario: &Scenario,
    arguments: &Arguments,
    options: &DriverOptions,
    data: &DataSets,
    sources: &CounterSources,
    pools: KeyPools,
) -> Result<(Arc<CallPlan>, Player), RunError> {
    let gateway = &HttpClient::new(options.target.clone(), options.tls.clone());
    let mut variables = scenario.vars.clone();
    if let Some(control) = &arguments.control {
        variables.insert("control".to_owned(), control.clone());
    }
    // Before the plan, which is made with the values that they capture.
    run_steps(&scenario.before, gateway, &pools, &mut variables).await?;
    let fields = Fields { variables: &variables, data, captured: &[] };
    let plan = CallPlan::new(scenario, &options.target, options.http2, fields, &pools)?;
    let player = Player {
        gateway: gateway.clone(),
        control: sources.control.clone(),
        hooks: pairs("--hook", &arguments.hook, '=', "NAME=COMMAND")?,
        pools,
        variables,
        new_key_file: arguments.new_key_file.clone(),
    };
    Ok((Arc::new(plan), player))
}

/// Loads the scenario and applies the options that change it.
fn compose(arguments: &Arguments) -> Result<Scenario, RunError> {
    let mut scenario = scenario::load(&arguments.scenario)?;
    scenario.vars.extend(pairs("--var", &arguments.var, '=', "NAME=VALUE")?);
    if let Some(path) = &arguments.path {
        scenario.requests = vec![own_request(path, arguments)];
        // A flow would send its own paths beside that of `--path`.
        scenario.flows.clear();
        if !arguments.keys_are_given() && arguments.admin_env.is_none() {
            scenario.keys.clear();
        }
    }
    if arguments.keys_are_given() && scenario.keys.is_empty() {
        scenario.keys.push(own_keys());
    }
    let first_pool = scenario.keys.first().map(|keys| keys.name.clone());
    if arguments.path.is_some() {
        scenario.requests.iter_mut().for_each(|request| request.keys.clone_from(&first_pool));
    }
    let steps = scenario.flows.iter_mut().flat_map(|flow| &mut flow.steps);
    for request in scenario.requests.iter_mut().chain(steps) {
        request.headers.extend(pairs("--header", &arguments.header, ':', "NAME: VALUE")?);
    }
    if let Some(count) = arguments.keys {
        scenario.keys.iter_mut().for_each(|keys| keys.count = count);
    }
    Ok(scenario)
}

/// Returns the request of `--path`.
fn own_request(path: &str, arguments: &Arguments) -> RequestSpec {
    let (body, body_file) = match arguments.body.as_deref().map(|body| (body, body.strip_prefix('@'))) {
        Some((_, Some(file))) => (None, Some(file.to_owned())),
        Some((body, None)) => (Some(body.to_owned()), None),
        None => (None, None),
    };
    let default = if body.is_some() || body_file.is_some() { "POST" } else { "GET" };
    RequestSpec {
        name: "main".to_owned(),
        method: arguments.method.clone().unwrap_or_else(|| default.to_owned()),
        path: path.to_owned(),
        weight: 1,
        headers: BTreeMap::new(),
        body,
        body_file,
        body_bytes: None,
        keys: None,
        check: None,
        capture: BTreeMap::new(),
        think: None,
    }
}

/// Returns the pool of given keys, in scenarios that have none.
fn own_keys() -> KeysSpec {
    KeysSpec {
        name: "own".to_owned(),
        count: 1,
        tier: "free".to_owned(),
        biolink_plan: None,
        minute: None,
        source: KeySource::Issue,
        order: KeyOrder::Turns,
        exponent: 1.0,
    }
}

/// Splits options of the form `NAME=VALUE` or `NAME: VALUE`.
fn pairs(
    option: &'static str,
    texts: &[String],
    sign: char,
    expected: &'static str,
) -> Result<Variables, RunError> {
    let pair = |text: &String| {
        let error = || RunError::Pair { option, value: text.clone(), expected };
        let (name, value) = text.split_once(sign).ok_or_else(error)?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    texts.iter().map(pair).collect()
}

/// Returns the stages, scaled to the requested rate and duration.
fn stages(scenario: &Scenario, arguments: &Arguments) -> Result<Vec<Stage>, RunError> {
    let texts = if arguments.stage.is_empty() { &scenario.stages } else { &arguments.stage };
    let stages: Vec<Stage> = texts.iter().map(|text| Stage::parse(text)).collect::<Result<_, _>>()?;
    let length: f64 = stages.iter().map(|stage| stage.duration.as_secs_f64()).sum();
    let peak = stages.iter().map(Stage::peak).fold(0.0, f64::max);
    let longer = arguments.duration.map_or(1.0, |duration| duration.as_secs_f64() / length);
    let faster = arguments.rate.map_or(1.0, |rate| rate / peak);
    Ok(stages.iter().map(|stage| stage.scaled(longer, faster)).collect())
}

/// Returns the conditions and tolerances of the scenario and of the command line.
fn criteria_text(scenario: &Scenario, arguments: &Arguments) -> CriteriaText {
    let both = |scenario: &[String], own: &[String]| scenario.iter().chain(own).cloned().collect();
    CriteriaText {
        expect: both(&scenario.expect, &arguments.expect),
        fail_if: both(&scenario.fail_if, &arguments.fail_if),
        allow: both(&scenario.allow, &arguments.allow),
        max_send_lag_ms: arguments.max_send_lag.unwrap_or(DEFAULT_SEND_LAG).as_secs_f64() * 1000.0,
        judges_send_lag: arguments.max_send_lag.is_some(),
    }
}

async fn driver_options(scenario: &Scenario, arguments: &Arguments) -> Result<DriverOptions, RunError> {
    let connections = arguments.connections.or(scenario.connections).unwrap_or(DEFAULT_CONNECTIONS);
    Ok(DriverOptions {
        target: Target::resolve(&arguments.url, arguments.allow_remote).await?,
        tls: TlsOptions::new(arguments.ca.as_deref(), arguments.insecure)?,
        connections,
        streams: if arguments.http2 { scenario.streams.unwrap_or(arguments.streams) } else { 1 },
        timeout: arguments.timeout,
        http2: arguments.http2,
    })
}

async fn counter_sources(arguments: &Arguments, tls: &TlsOptions) -> Result<CounterSources, RunError> {
    let client = async |url: &Option<String>| match url {
        Some(url) => {
            let target = Target::resolve(url, arguments.allow_remote).await?;
            Ok::<_, RunError>(Some(HttpClient::new(target, tls.clone())))
        }
        None => Ok(None),
    };
    Ok(CounterSources {
        metrics: client(&arguments.metrics).await?,
        control: client(&arguments.control).await?,
        edge: client(&arguments.edge_counters).await?,
    })
}

/// Returns the calls that the keys of this driver get. Other drivers have their own keys, unless
/// keys are given.
fn load_size(stages: &[Stage], arguments: &Arguments) -> Result<LoadSize, RunError> {
    let shard = arguments.shard.as_deref().map_or(Ok(Shard::ALL), Shard::parse)?;
    // Given keys are shared by all drivers, and must hold the calls of all.
    let drivers = if arguments.keys_are_given() { 1 } else { shard.of };
    let schedule = match &arguments.knee {
        // Steps follow each other within a minute.
        Some(range) => Schedule::new(&[range.fullest_minute()], Shard::ALL, true)?,
        None => Schedule::new(stages, shard, arguments.unbounded)?,
    };
    let of_driver = |calls: f64| calls / f64::from(drivers);
    Ok(LoadSize { minute: of_driver(schedule.fullest_minute()), total: of_driver(schedule.calls() as f64) })
}

/// Returns the pools of keys and a note for the report.
async fn prepare_keys(
    scenario: &mut Scenario,
    arguments: &Arguments,
    admin: Option<&KeyAdmin>,
    gateway: &HttpClient,
    criteria: &Criteria,
    load: LoadSize,
) -> Result<(KeyPools, Option<String>), RunError> {
    let given = read_keys(arguments.key_env.as_deref(), arguments.key_file.as_deref().map(Path::new))?;
    let signing = read_secret("--signing-env", arguments.signing_env.as_deref())?;
    let allows_limit = |request: &str| criteria.allows_limit(request);
    let note = match &given {
        Some(given) => keys::check_given(gateway, given, scenario, load, allows_limit).await?,
        None => {
            keys::add_keys(scenario, load, allows_limit, arguments.keys.is_some())?;
            None
        }
    };
    Ok((keys::prepare(&scenario.keys, &KeySources { given, admin, signing }).await?, note))
}
