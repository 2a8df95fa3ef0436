//! References to environment variables in values: `${NAME}` and `${NAME:-default}`.

/// A function that returns the value of a variable. Tests pass their own.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns `text` with all references replaced. An empty variable counts as not set, as with a shell's
/// `:-`.
pub(crate) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (reference, remainder) =
            after.split_once('}').ok_or("`${` is not closed by `}`; write ${NAME} or ${NAME:-default}")?;
        expanded.push_str(before);
        expanded.push_str(&resolve(reference, lookup)?);
        rest = remainder;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns true if the text is nothing but one reference without a default, so that it shows no value.
pub(crate) fn is_reference(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn resolve(reference: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !begins_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("invalid environment variable name `{name}`"));
    }
    lookup(name).filter(|value| !value.is_empty()).or_else(|| default.map(str::to_owned)).ok_or_else(|| {
        format!(
            "the environment variable {name} is not set, and the reference has no default (${{{name}:-…}})"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<String, String> {
        expand(text, &|name| (name == "PORT").then(|| "81".to_owned()))
    }

    #[test]
    fn variable_overrides_its_default() {
        assert_eq!(with("h:${PORT}").as_deref(), Ok("h:81"));
        assert_eq!(with("h:${PORT:-80}/${OTHER:-x}").as_deref(), Ok("h:81/x"));
        assert_eq!(with("plain $ {").as_deref(), Ok("plain $ {"));
    }

    #[test]
    fn unset_variable_is_named_in_the_error() {
        assert!(with("${OTHER}").unwrap_err().contains("OTHER is not set"));
        assert!(with("${PORT").unwrap_err().contains("not closed"));
        assert!(with("${}").is_err() && with("${1A}").is_err());
    }
}
