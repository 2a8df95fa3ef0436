//! The built-in scenarios, in `loadtest/scenarios/`.

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// The built-in scenarios by name.
pub(crate) const BUILTIN: [(&str, &str); 25] = builtin![
    "tour",
    "steady",
    "ramp",
    "spike",
    "burst",
    "soak",
    "user-flow",
    "flood",
    "limit-audit",
    "million-keys",
    "mixed-tiers",
    "uploads",
    "downloads",
    "server-sent-events",
    "tool-dies",
    "tool-slows",
    "tool-flaps",
    "key-revocation",
    "key-rotation",
    "reload",
    "upgrade",
    "origin-failover",
    "data-center-fails",
    "viral-page",
    "webhook-flaps",
];
