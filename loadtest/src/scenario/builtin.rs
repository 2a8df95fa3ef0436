//! The built-in scenarios, in `loadtest/scenarios/`.

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// The built-in scenarios by name.
pub(crate) const BUILTIN: [(&str, &str); 1] = builtin!["steady"];
