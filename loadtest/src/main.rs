//! `loadtest tools` plays the 17 tools; `loadtest run` calls the gateway at a fixed rate.

use std::io::{self, Write};
use std::net::IpAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use loadtest::run;
use loadtest::tools::{self, Bind};
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
    /// Play all 17 tools, each on a port of its own, and a control API on the port after the last.
    ///
    /// Prints one line of JSON with every address when all of them listen. SIGTERM or SIGINT ends it at once.
    Tools {
        /// Address to listen on. The control API has no authentication: keep it on loopback.
        #[arg(long, default_value = "127.0.0.1")]
        host: IpAddr,
        /// Port of the first tool, in alphabetical order; 0 takes any free ports.
        #[arg(long, default_value_t = 9100, value_parser = clap::value_parser!(u16).range(0..=tools::LAST_FIRST_PORT))]
        port: u16,
    },
    /// Call the gateway at a fixed rate and report what came back.
    ///
    /// Exit code 0: it ran and what the scenario expects held. 3: it ran and that did not hold. 1: it could not run.
    Run(Box<run::Arguments>),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Tools { host, port } => on_threads(play_tools(Bind { host, port })),
        Command::Run(arguments) => on_threads(run::run(*arguments)),
    };
    done.unwrap_or_else(|fault| {
        let told = writeln!(io::stderr(), "loadtest: {fault}");
        if told.is_ok() { ExitCode::FAILURE } else { ExitCode::from(2) }
    })
}

fn on_threads(work: impl Future<Output = io::Result<ExitCode>>) -> io::Result<ExitCode> {
    runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work)
}

async fn play_tools(bind: Bind) -> io::Result<ExitCode> {
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
