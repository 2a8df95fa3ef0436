//! References to environment variables in values: `${NAME}` and `${NAME:-default}`.

use thiserror::Error;

/// A function that returns the value of a variable. Tests pass their own.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An error of a reference to an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReferenceError {
    /// The closing brace is missing.
    #[error("`${{` is not closed by `}}`; write ${{NAME}} or ${{NAME:-default}}")]
    Unclosed,
    /// The reference does not name a variable.
    #[error("invalid environment variable name `{name}`: expected letters, digits and _")]
    InvalidName { name: String },
    /// The variable is unset or empty, and there is no default.
    #[error("the environment variable {name} is not set, and the reference has no default (${{{name}:-…}})")]
    Unset { name: String },
    /// The variable is a secret, and the value is one that messages and `/pools` show.
    #[error(
        "the environment variable {name} is a secret, which this setting would show; expected another variable"
    )]
    Secret { name: String },
}

/// Returns `text` with all references replaced, as [`expand`] does. Refuses variables with the name of a
/// secret.
pub(crate) fn expand_shown(text: &str, lookup: Lookup<'_>) -> Result<String, ReferenceError> {
    let mut names = text.split("${").skip(1).filter_map(|part| part.split([':', '}']).next());
    match names.find(|name| name.ends_with("SECRET")) {
        Some(name) => Err(ReferenceError::Secret { name: name.to_owned() }),
        None => expand(text, lookup),
    }
}

/// Returns `text` with all references replaced. An empty variable counts as not set, as with `:-`
/// in a shell.
pub(crate) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, ReferenceError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (reference, remainder) = after.split_once('}').ok_or(ReferenceError::Unclosed)?;
        expanded.push_str(before);
        expanded.push_str(&resolve(reference, lookup)?);
        rest = remainder;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns true if the text is one reference without a default. Such a text contains no value.
pub(crate) fn is_reference(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn resolve(reference: &str, lookup: Lookup<'_>) -> Result<String, ReferenceError> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(ReferenceError::InvalidName { name: name.to_owned() });
    }
    let value = lookup(name).filter(|value| !value.is_empty()).or_else(|| default.map(str::to_owned));
    value.ok_or_else(|| ReferenceError::Unset { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<String, ReferenceError> {
        expand(text, &|name| (name == "PORT").then(|| "81".to_owned()))
    }

    #[test]
    fn variable_overrides_its_default() {
        assert_eq!(with("h:${PORT}"), Ok("h:81".to_owned()));
        assert_eq!(with("h:${PORT:-80}/${OTHER:-x}"), Ok("h:81/x".to_owned()));
        assert_eq!(with("plain $ {"), Ok("plain $ {".to_owned()));
    }

    #[test]
    fn unset_variable_is_named_in_the_error() {
        assert_eq!(with("${OTHER}"), Err(ReferenceError::Unset { name: "OTHER".to_owned() }));
        assert!(with("${OTHER}").unwrap_err().to_string().contains("OTHER is not set"));
        assert_eq!(with("${PORT"), Err(ReferenceError::Unclosed));
        for name in ["", "1A"] {
            let error = ReferenceError::InvalidName { name: name.to_owned() };
            assert_eq!(with(&format!("${{{name}}}")), Err(error));
        }
    }
}
