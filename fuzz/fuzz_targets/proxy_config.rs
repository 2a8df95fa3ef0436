#![no_main]

use std::{fs, path::Path, sync::LazyLock};

use config::Config;
use libfuzzer_sys::fuzz_target;
use proxy::check::findings;
use tempfile::NamedTempFile;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// The file that is loaded: the configuration is shown of a file only.
static FILE: LazyLock<NamedTempFile> = LazyLock::new(|| NamedTempFile::new().expect("a temporary file"));

fuzz_target!(|text: &str| check(text));

/// Oracle: the crate `toml`, and the configuration as it is shown. What is accepted is TOML. What is shown
/// of it is accepted, is shown as the same, and never has the secret. A refusal says what is wrong, at a
/// line that the text has.
fn check(text: &str) {
    let env = |name: &str| (name == "GRANT_SECRET").then(|| SECRET.to_owned());
    let config = match Config::parse("proxy.toml", text, &env) {
        Ok(config) => config,
        Err(faults) => {
            let shown = faults.to_string();
            return assert!(!shown.is_empty() && !shown.contains(SECRET), "{shown}: {text}");
        }
    };
    text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(!format!("{config:?}").contains(SECRET));
    let _findings = findings(&config, Path::new("proxy.toml"), fuzz::NOW);
    let dump = |text: &str| {
        fs::write(FILE.path(), text).expect("a file that is written");
        Config::dump(FILE.path(), &env).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let shown = dump(text);
    assert!(!shown.contains(SECRET), "{shown}");
    assert_eq!(dump(&shown), shown, "{text}");
}
