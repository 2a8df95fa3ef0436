//! `loadtest tools` runs the 17 simulated tools. `loadtest run` calls the gateway at a fixed rate.

use std::error::Error;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use loadtest::tools::{self, BindAddress};
use loadtest::{certify, run, saved, scenario};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

/// Simulated tools and a load driver for the Unified Tool Gateway.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all 17 simulated tools, each on its own port, and a control API on the port after the
    /// last.
    ///
    /// Prints one line of JSON with all addresses once all of them listen. SIGTERM or SIGINT exits
    /// immediately.
    Tools {
        /// IP address to listen on. The control API has no authentication: keep it on loopback.
        #[arg(long, default_value = "127.0.0.1")]
        host: IpAddr,
        /// Port of the first tool in alphabetical order. 0 selects any free ports.
        #[arg(long, default_value_t = 9100, value_parser = clap::value_parser!(u16).range(0..=tools::MAX_FIRST_PORT))]
        port: u16,
    },
    /// Run a scenario against the gateway and report the results.
    ///
    /// Exit code 0: all checks passed. 3: a check failed. 1: the run could not start or failed. 2: the
    /// command line is invalid. 130: a signal ended the run early.
    Run(Box<run::Arguments>),
    /// Certify the limit of any gateway: that no window held more calls than it allows.
    ///
    /// Exit code 0: no window did. 3: one did. 1: the gateway could not be reached, or no limit is known.
    Certify(certify::Arguments),
    /// List the built-in scenarios, or print the file of one.
    Scenarios {
        /// Name of a scenario.
        name: Option<String>,
    },
    /// Make an HTML page of a saved run.
    ///
    /// Exit code 0: all checks of the run passed. 3: a check failed. 130: the run was interrupted.
    Report(saved::ReportArguments),
    /// Compare two saved runs.
    ///
    /// Exit code 3: the second run is worse.
    Compare(saved::CompareArguments),
    /// Put the raw logs of several drivers together.
    Merge(saved::MergeArguments),
    /// Write the man pages to a folder.
    #[command(hide = true)]
    Man { folder: PathBuf },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Tools { host, port } => block_on(run_tools(BindAddress { host, port })),
        Command::Run(arguments) => block_on(run::run(*arguments)),
        Command::Certify(arguments) => block_on(certify::certify(arguments)),
        Command::Scenarios { name } => scenario::list(name.as_deref()),
        Command::Report(arguments) => saved::report(&arguments),
        Command::Compare(arguments) => saved::compare(&arguments),
        Command::Merge(arguments) => saved::merge(&arguments),
        Command::Man { folder } => write_manual(&folder),
    };
    result.unwrap_or_else(|error| {
        // There is nowhere left to say that it fails.
        let _written = writeln!(io::stderr(), "loadtest: {error}");
        ExitCode::FAILURE
    })
}

type CommandResult = Result<ExitCode, Box<dyn Error>>;

fn block_on(command: impl Future<Output = CommandResult>) -> CommandResult {
    runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(command)
}

fn write_manual(folder: &Path) -> CommandResult {
    clap_mangen::generate_to(Arguments::command(), folder)?;
    Ok(ExitCode::SUCCESS)
}

async fn run_tools(bind: BindAddress) -> CommandResult {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let running = tools::start(bind).await?;
    writeln!(io::stdout(), "{}", running.addresses())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(ExitCode::SUCCESS)
}
