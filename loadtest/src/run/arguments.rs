//! The options of `loadtest run`.

use std::path::PathBuf;

use clap::Args;
use hyper::Uri;
use hyper::http::uri::InvalidUri;
use thiserror::Error;

use crate::scenario::Scenario;

/// The options of `loadtest run`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Base URL of the gateway: scheme, host and port.
    #[arg(long, default_value = "http://127.0.0.1:8787")]
    pub(super) url: String,
    /// Path and query of the call.
    #[arg(long, default_value = "/v1/idea/generate", value_parser = parse_path)]
    pub(super) path: Uri,
    /// JSON body. With a body, every call is a POST.
    #[arg(long)]
    pub(super) body: Option<String>,
    /// Environment variable with the API key, or with several keys separated by commas, used in
    /// turn.
    #[arg(long, value_name = "NAME")]
    pub(super) key_env: Option<String>,
    /// Scenario to run.
    #[arg(long, value_enum, default_value_t = Scenario::Steady)]
    pub(super) scenario: Scenario,
    /// Calls per second, sent whether or not earlier calls are complete.
    #[arg(long, default_value_t = 50)]
    pub(super) rate: u32,
    /// Duration of the run in seconds.
    #[arg(long, default_value_t = 10)]
    pub(super) seconds: u32,
    /// Number of open connections.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(super) connections: u16,
    /// Timeout of a call in seconds.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub(super) timeout: u8,
    /// Control API of the simulated tools, for tool-dies.
    #[arg(long, default_value = "http://127.0.0.1:9117")]
    pub(super) control: String,
    /// File to create for the new key (mode 0600), for key-rotation. The gateway shows it once and
    /// the old key expires.
    #[arg(long, value_name = "FILE", required_if_eq("scenario", "key-rotation"))]
    pub(super) new_key_file: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Maximum duration of a run in seconds.
    #[arg(long, default_value_t = 60)]
    pub(super) max_seconds: u32,
    /// Maximum number of calls of a run. Each takes about 64 bytes of memory.
    #[arg(long, default_value_t = 100_000)]
    pub(super) max_calls: u64,
    /// Allow a target that is not loopback. You need its owner's consent.
    #[arg(long)]
    pub(super) allow_remote: bool,
}

/// The reason why `--path` is invalid. clap adds the value.
#[derive(Debug, Error)]
enum PathError {
    #[error("not a path: {0}")]
    Syntax(#[from] InvalidUri),
    #[error("expected a path that begins with /, for example /v1/idea/generate")]
    NotAbsolute,
}

fn parse_path(text: &str) -> Result<Uri, PathError> {
    let uri: Uri = text.parse()?;
    if uri.authority().is_some() || !text.starts_with('/') {
        return Err(PathError::NotAbsolute);
    }
    Ok(uri)
}
