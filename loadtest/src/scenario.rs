//! Scenarios: files that say what is called, how often, what happens meanwhile, and what must hold.

mod builtin;
mod check_spec;
mod error;
mod file;
mod flow_spec;
mod load;
mod request_spec;

use std::io::{self, Write};
use std::process::ExitCode;

pub(crate) use check_spec::{CheckSpec, OneOrMany};
pub(crate) use error::ScenarioError;
pub(crate) use file::{
    Action, EventSpec, KeyOrder, KeySource, KeysSpec, Scenario, StepSpec, ToolChange, TruthSpec,
};
pub(crate) use flow_spec::{DataSpec, RowOrder};
pub(crate) use load::load;
pub(crate) use request_spec::RequestSpec;

/// Returns the names of the built-in scenarios.
#[cfg(test)]
pub(crate) fn builtin_names() -> impl Iterator<Item = &'static str> {
    builtin::BUILTIN.iter().map(|(name, _)| *name)
}

/// Prints the names of the built-in scenarios with what they prove, or the file of one.
///
/// # Errors
/// Returns an error if the name is unknown or standard output is closed.
pub fn list(name: Option<&str>) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    match name {
        Some(name) => write!(out, "{}", load::text(name)?)?,
        None => {
            for (name, _) in builtin::BUILTIN {
                let scenario = load(&[name.to_owned()])?;
                writeln!(out, "{name:16} {}\n{:16} Proves: {}", scenario.about, "", scenario.proves)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
