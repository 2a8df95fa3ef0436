//! The configuration for operators: error messages, page, schema and samples.

mod corpus;
mod page;
mod samples;
mod schema;

use std::{fs, path::Path};

use config::{Config, Faults};
use shared::tool::Tool;

/// The folder of the files that the corpus names.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Reads a file of `conf/`.
fn conf(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../conf").join(name)).unwrap()
}

fn parse(text: &str) -> Result<Config, Faults> {
    Config::parse("proxy.toml", text, &|name| match name {
        "SECRET" | "GRANT_SECRET" | "KEY_SIGNING_SECRET" | "ADMIN_SECRET" => Some(SECRET.to_owned()),
        "SHORT" => Some("short".to_owned()),
        "CORPUS" => Some(CORPUS.to_owned()),
        "DATA_CENTER" => Some("fra1".to_owned()),
        _ => None,
    })
}

/// Returns a file with the keys that have no default, and with the lines `more` before all
/// sections.
fn with(more: &str) -> String {
    let pools = Tool::ALL.map(|tool| format!("pools.{tool}.upstreams = [\"127.0.0.1:9100\"]\n"));
    format!("{more}\ngrants.secret = \"${{SECRET}}\"\n{}", pools.concat())
}
