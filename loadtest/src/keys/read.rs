//! Keys from the environment or from a file.

use std::path::Path;

use super::KeysError;

/// Reads keys that are separated by commas or white space.
pub(crate) fn read_keys(
    variable: Option<&str>,
    file: Option<&Path>,
) -> Result<Option<Vec<String>>, KeysError> {
    let (place, text) = match (variable, file) {
        (Some(name), _) => (name.to_owned(), read_variable("--key-env", name)?),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| KeysError::File { path: path.to_owned(), source })?;
            (path.display().to_string(), text)
        }
        (None, None) => return Ok(None),
    };
    let split = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|key| !key.is_empty());
    let keys: Vec<String> = split.map(str::to_owned).collect();
    if keys.is_empty() { Err(KeysError::Empty { place }) } else { Ok(Some(keys)) }
}

/// Reads an environment variable that `option` names.
pub(super) fn read_variable(option: &'static str, name: &str) -> Result<String, KeysError> {
    std::env::var(name).map_err(|source| KeysError::Variable { option, variable: name.to_owned(), source })
}

/// Reads a secret from the variable that `option` names.
pub(crate) fn read_secret(option: &'static str, name: Option<&str>) -> Result<Option<String>, KeysError> {
    name.map(|name| read_variable(option, name)).transpose()
}
