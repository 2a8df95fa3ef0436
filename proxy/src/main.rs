//! `proxy -c conf/proxy.toml`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use config::prices::{self, PriceFileError};
use config::{Config, Known, LoadError};
use mimalloc::MiMalloc;
use phases::last_good::LastGoodFile;
use phases::observe::diagnostic_log;
use proxy::check::{self, Severity};
use proxy::ctl::Ctl;
use proxy::server::Start;
use proxy::{ready, server, version};
use transport::clock;

/// Measured: 15 to 28 % less time per call than the system's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The origin proxy of the Unified Tool Gateway.
#[derive(Parser)]
#[command(name = "proxy", version = version::TEXT)]
struct Arguments {
    /// The configuration file.
    #[arg(short, long, default_value = "conf/proxy.toml", value_name = "FILE", global = true)]
    config: PathBuf,
    /// Check the configuration, print warnings and exit: 0 if the proxy would start, 1 if the file
    /// cannot be read or the proxy cannot start on this machine, 2 if the file has faults.
    #[arg(long)]
    check: bool,
    /// With --check, exit with 2 if there are warnings.
    #[arg(long, requires = "check")]
    strict: bool,
    /// With --check, also connect to the servers of [valkey], try each command that the proxy needs there,
    /// and exit with 1 if they would not serve it.
    #[arg(long, requires = "check")]
    connect: bool,
    /// Print the effective configuration and exit. References to the environment and defaults are
    /// filled in. Secrets are shown by where they come from. The output can be loaded again.
    #[arg(long, conflicts_with_all = ["check", "upgrade"])]
    dump_config: bool,
    /// Check this file of prices, print it in JSON for the variable PRICES of the edge, and exit.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "upgrade"])]
    print_prices: Option<PathBuf>,
    /// Exit with 0 if the proxy that runs with this configuration is ready, else with 1: the health
    /// check of a container.
    #[arg(long, conflicts_with_all = ["check", "dump_config", "upgrade"])]
    ready: bool,
    /// Take over from the running proxy through `server.upgrade_socket` without dropping
    /// connections; start normally if none is running.
    #[arg(long, conflicts_with = "check")]
    upgrade: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Act on the proxy that runs, through its admin socket (`server.admin_socket`) or its admin port (`server.admin_token`).
    Ctl(Box<Ctl>),
    /// Write the man pages of the installed program to a folder.
    #[command(hide = true)]
    Man { folder: PathBuf },
}

/// Exit code if the file or another resource of the machine is not available.
const UNAVAILABLE: u8 = 1;
/// Exit code if the configuration has faults.
const FAULTY: u8 = 2;
/// Exit code for invalid arguments: `EX_USAGE` of sysexits.h. It differs from [`FAULTY`].
const USAGE: u8 = 64;

#[allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what the operator asked for on the command line"
)]
fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(asked) => {
            // Ignored: there is no other place to report it.
            let _printed = asked.print();
            return if asked.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let env = |name: &str| std::env::var(name).ok();
    if arguments.dump_config {
        let config = Config::load(&arguments.config, &env, Known::NOTHING);
        let checked = config.and_then(|config| check_parts(&arguments, &config));
        return match checked.and_then(|()| Config::dump(&arguments.config, &env)) {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => not_loaded(&error),
        };
    }
    match &arguments.command {
        Some(Command::Ctl(ctl)) => return run_ctl(ctl, &arguments.config),
        Some(Command::Man { folder }) => return write_manual(folder),
        None => {}
    }
    if let Some(file) = &arguments.print_prices {
        return print_prices(file);
    }
    if !arguments.check && !arguments.ready {
        return run(arguments);
    }
    let config = match Config::load(&arguments.config, &env, Known::NOTHING) {
        Ok(config) => config,
        Err(error) => return not_loaded(&error),
    };
    if arguments.ready {
        return report_readiness(&config);
    }
    match check_parts(&arguments, &config) {
        Ok(()) => check(&arguments, &config),
        Err(error) => not_loaded(&error),
    }
}

/// Refuses a configuration that names a faulty file: an operator who asks must know.
fn check_parts(arguments: &Arguments, config: &Config) -> Result<(), LoadError> {
    config.check_parts(&arguments.config.display().to_string()).map_err(LoadError::Faulty)
}

/// Runs the proxy until it has shut down, and returns the exit code.
#[allow(clippy::print_stderr, reason = "the errors of a start are for the operator")]
fn run(arguments: Arguments) -> ExitCode {
    // Below `warn`, Pingora logs requests, keys included: never enable those. Our own level can
    // change at run time, so this filter does not limit it.
    let mut log = env_logger::Builder::new();
    for name in ["proxy", "config", "direct", "phases", "transport", "upstreams"] {
        log.filter_module(name, log::LevelFilter::Debug);
    }
    log.filter_level(log::LevelFilter::Error).format(diagnostic_log::write).init();
    let last_good = LastGoodFile::of(&arguments.config, std::env::var_os("STATE_DIRECTORY").as_deref());
    let stored = last_good.read();
    let known = Known { last_good: &stored.last_good(), changing: &[] };
    let config = match Config::load(&arguments.config, &|name| std::env::var(name).ok(), known) {
        Ok(config) => config,
        Err(error) => return not_loaded(&error),
    };
    diagnostic_log::configure(config.log);
    let Arguments { config: file, upgrade, .. } = arguments;
    match server::run(Start { config, file, last_good, stored, upgrade }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(UNAVAILABLE)
        }
    }
}

#[allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what the operator asked for on the command line"
)]
fn print_prices(file: &Path) -> ExitCode {
    match prices::load(file) {
        Ok(prices) => {
            println!("{}", prices.to_json());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(match error {
                PriceFileError::Unreadable { .. } => UNAVAILABLE,
                PriceFileError::Faulty { .. } => FAULTY,
            })
        }
    }
}

/// Prints why the configuration cannot be loaded, and returns the exit code.
#[allow(clippy::print_stderr, reason = "what the operator asked for on the command line")]
fn not_loaded(error: &LoadError) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(match error {
        LoadError::Unreadable { .. } => UNAVAILABLE,
        LoadError::Faulty(_) => FAULTY,
    })
}

/// Prints what was found in a valid configuration, and returns the exit code.
#[allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what the operator asked for on the command line"
)]
fn check(arguments: &Arguments, config: &Config) -> ExitCode {
    let file = arguments.config.display();
    let mut findings = check::findings(config, &arguments.config, clock::now());
    if arguments.connect {
        match check::server_findings(config) {
            Ok(found) => findings.extend(found),
            Err(error) => {
                eprintln!("{file}: cannot connect: {error}");
                return ExitCode::from(UNAVAILABLE);
            }
        }
    }
    for finding in &findings {
        eprintln!("{file}:{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors > 0 {
        println!("{file}: valid, but the proxy cannot serve on this machine");
        return ExitCode::from(UNAVAILABLE);
    }
    match findings.len() {
        0 => println!("{file}: valid"),
        1 => println!("{file}: valid, with 1 warning"),
        count => println!("{file}: valid, with {count} warnings"),
    }
    if arguments.strict && !findings.is_empty() { ExitCode::from(FAULTY) } else { ExitCode::SUCCESS }
}

/// Sends an operator's request to the running proxy, prints the response and returns the exit code.
#[allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what the operator asked for on the command line"
)]
fn run_ctl(ctl: &Ctl, file: &Path) -> ExitCode {
    match ctl.send(file, clock::now()) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(UNAVAILABLE)
        }
    }
}

#[allow(clippy::print_stderr, reason = "what the operator asked for on the command line")]
fn write_manual(folder: &Path) -> ExitCode {
    match clap_mangen::generate_to(Arguments::command().name("utg-proxy"), folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("proxy: {}: {error}", folder.display());
            ExitCode::from(UNAVAILABLE)
        }
    }
}

/// Prints whether the running proxy is ready, and returns the exit code.
#[allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what the operator asked for on the command line"
)]
fn report_readiness(config: &Config) -> ExitCode {
    let admin = config.server.admin;
    match ready::is_ready(admin) {
        Ok(true) => {
            println!("ready");
            return ExitCode::SUCCESS;
        }
        Ok(false) => eprintln!("not ready: see http://{admin}/readyz"),
        Err(error) => eprintln!("not ready: {admin} does not respond: {error}"),
    }
    ExitCode::from(UNAVAILABLE)
}
