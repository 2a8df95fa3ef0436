//! A file with the servers of a pool, which other programs write: JSON in the form of Prometheus'
//! `file_sd`, or TOML.

use std::path::Path;

use serde::Deserialize;
use toml::de::DeTable;

use super::UpstreamConfig;
use super::upstream::{self, MAX};
use crate::reader::part::text;

/// A group of servers in JSON. Its labels are ignored.
#[derive(Deserialize)]
struct Group {
    targets: Vec<String>,
}

/// Parses the content of a file. The suffix of its path says how.
///
/// # Errors
/// Returns what is wrong if it is not a list of servers, or has none.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<UpstreamConfig>, String> {
    let fault = |fault: String| format!("{}: {fault}", path.display());
    let text = text(path, bytes).map_err(|error| error.to_string())?;
    let servers = match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("json") => serde_json::from_str::<Vec<Group>>(text)
            .map(|groups| groups.into_iter().flat_map(|group| group.targets).collect())
            .map_err(|error| fault(format!("{error}; expected [{{\"targets\": [\"host:port\"]}}]")))?,
        Some("toml") => {
            let servers = DeTable::parse(text).ok().and_then(|table| toml_servers(table.get_ref()));
            servers
                .ok_or_else(|| fault("expected upstreams = [\"host:port\"], and nothing else".to_owned()))?
        }
        _ => return Err(fault("unknown format: expected a name that ends with .json or .toml".to_owned())),
    };
    if servers.is_empty() || servers.len() > MAX {
        return Err(fault(format!("has {} servers: expected 1 to {MAX}", servers.len())));
    }
    upstream::of_entries(servers.iter().map(String::as_str)).map_err(fault)
}

fn toml_servers(table: &DeTable<'_>) -> Option<Vec<String>> {
    let servers = table.get("upstreams").filter(|_| table.len() == 1)?.get_ref().as_array()?;
    servers.iter().map(|server| server.get_ref().as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str, text: &str) -> Result<Vec<String>, String> {
        let upstreams = parse(Path::new(name), text.as_bytes())?;
        Ok(upstreams.iter().map(|upstream| format!("{upstream} {}", upstream.weight)).collect())
    }

    #[test]
    fn json_and_toml_files_have_the_same_servers() {
        let json = r#"[{"targets": ["10.0.0.4:9100", "qr.internal:9100 weight=3"], "labels": {"zone": "a"}},
            {"targets": ["[::1]:9100 backup"]}]"#;
        let toml = "upstreams = [\"10.0.0.4:9100\", \"qr.internal:9100 weight=3\", \"[::1]:9100 backup\"]";
        let expected = ["10.0.0.4:9100 1", "qr.internal:9100 3", "[::1]:9100 1"];
        assert_eq!(parsed("qr.json", json).unwrap(), expected);
        assert_eq!(parsed("qr.toml", toml).unwrap(), expected);
    }

    #[test]
    fn faulty_file_is_refused_with_what_is_expected() {
        for (name, text, expected) in [
            ("qr.json", "[]", "qr.json: has 0 servers: expected 1 to 64"),
            ("qr.json", "{}", "expected [{\"targets\": [\"host:port\"]}]"),
            ("qr.json", r#"[{"targets": ["10.0.0.4"]}]"#, "qr.json: invalid address `10.0.0.4`"),
            ("qr.json", r#"[{"targets": ["a:1", "a:1"]}]"#, "duplicate upstream `a:1`"),
            ("qr.json", r#"[{"targets": ["a:0"]}]"#, "invalid port `0`"),
            ("qr.toml", "servers = []", "expected upstreams = [\"host:port\"]"),
            ("qr.toml", "upstreams = [1]", "expected upstreams = [\"host:port\"]"),
            ("qr.yml", "", "expected a name that ends with .json or .toml"),
        ] {
            let fault = parsed(name, text).unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
