//! Loading of scenarios: built-in ones by name, others by path, composed in the given order.

use std::path::Path;

use super::builtin::BUILTIN;
use super::{Scenario, ScenarioError};

/// Loads scenarios and adds each to the one before.
///
/// # Errors
/// Returns an error that names the scenario and what is wrong.
pub(crate) fn load(names: &[String]) -> Result<Scenario, ScenarioError> {
    let mut composed = Scenario::default();
    for name in names {
        composed.add(load_one(name, &mut Vec::new())?);
    }
    Ok(composed)
}

fn load_one(name: &str, within: &mut Vec<String>) -> Result<Scenario, ScenarioError> {
    // Two files that extend each other would be loaded until the stack is full.
    if within.iter().any(|outer| outer == name) {
        return Err(ScenarioError::Circle(name.to_owned()));
    }
    let text = text(name)?;
    let mut scenario: Scenario = toml::from_str(&text)
        .map_err(|source| ScenarioError::Syntax { name: name.to_owned(), source: Box::new(source) })?;
    for data in &mut scenario.data {
        if let Some(folder) = Path::new(name).parent().filter(|_| is_path(name)) {
            // Relative to the scenario, so that it works from any working directory.
            data.file = folder.join(&data.file).display().to_string();
        }
    }
    within.push(name.to_owned());
    let mut composed = Scenario::default();
    for base in &scenario.extends {
        let mut base = load_one(&beside(base, name), within)?;
        // A scenario that extends others is one of its own, and not a composition.
        (base.name, base.about, base.proves) = Default::default();
        composed.add(base);
    }
    // Only what is under way forms a circle: two scenarios may extend the same base.
    within.pop();
    composed.add(scenario);
    Ok(composed)
}

fn is_path(name: &str) -> bool {
    name.ends_with(".toml")
}

/// Returns the name of a base, which is a path relative to the file that extends it.
fn beside(base: &str, name: &str) -> String {
    let folder = Path::new(name).parent().filter(|_| is_path(name));
    match folder {
        Some(folder) if is_path(base) => folder.join(base).display().to_string(),
        _ => base.to_owned(),
    }
}

pub(super) fn text(name: &str) -> Result<String, ScenarioError> {
    if is_path(name) {
        let path = Path::new(name);
        return std::fs::read_to_string(path)
            .map_err(|source| ScenarioError::Io { path: path.to_owned(), source });
    }
    let builtin = BUILTIN.iter().find(|(known, _)| *known == name);
    builtin.map(|(_, text)| (*text).to_owned()).ok_or_else(|| ScenarioError::Unknown {
        name: name.to_owned(),
        known: BUILTIN.map(|(name, _)| name).join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Stage;
    use crate::verdict::{Condition, Purpose, Tolerance};

    #[test]
    fn builtin_scenario_is_documented_and_consistent() {
        for (name, _) in BUILTIN {
            let scenario = load(&[name.to_owned()]).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(scenario.name, name);
            let requests = scenario.request_names();
            assert!(!scenario.about.is_empty() && !scenario.proves.is_empty(), "{name}");
            assert!(!requests.is_empty() && !scenario.stages.is_empty(), "{name}");
            assert!(scenario.stages.iter().all(|stage| Stage::parse(stage).is_ok()), "{name}");
            let phases = scenario.phases();
            for text in &scenario.expect {
                Condition::parse(Purpose::Expect, text).unwrap().validate(&requests, &phases).unwrap();
            }
            for text in &scenario.allow {
                Tolerance::parse(text).unwrap().validate(&requests, &phases).unwrap();
            }
        }
    }

    #[test]
    fn composition_appends_and_replaces_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let request = |name: &str, path: &str| format!("[[request]]\nname = \"{name}\"\npath = \"{path}\"\n");
        write(
            "a.toml",
            &format!("name = \"a\"\nstages = [\"1s:1\"]\nexpect = [\"errors=0\"]\n{}", request("x", "/a")),
        );
        let b = write(
            "b.toml",
            &format!("name = \"b\"\nextends = [\"a.toml\"]\n{}{}", request("x", "/b"), request("y", "/y")),
        );
        let c = write("c.toml", "name = \"c\"\nstages = [\"2s:2\"]\nexpect = [\"calls=4\"]\n");
        let both = load(&[b, c]).unwrap();
        assert_eq!((both.name.as_str(), both.stages.len()), ("b + c", 1));
        assert_eq!(both.stages, ["2s:2"]);
        assert_eq!(both.expect, ["errors=0", "calls=4"]);
        let paths: Vec<&str> = both.requests.iter().map(|request| request.path.as_str()).collect();
        assert_eq!(paths, ["/b", "/y"]);
        let circle = write("d.toml", "extends = [\"d.toml\"]");
        assert!(matches!(load(&[circle]), Err(ScenarioError::Circle(_))));
        let typo = write("e.toml", "stage = [\"1s:1\"]");
        assert!(load(&[typo]).unwrap_err().to_string().contains("stage"));
        assert!(load(&["steedy".to_owned()]).unwrap_err().to_string().contains("steady"));
    }
}
