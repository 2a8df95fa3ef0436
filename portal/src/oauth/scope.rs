//! The scopes of a secret as OAuth writes them: `tools:all`, `tools:qr`, `biolink:read`, `biolink:write`.

use shared::key::{Scope, Scopes};
use shared::label::Label;

/// The scopes that a client may be told of.
pub(super) const SUPPORTED: [&str; 3] = ["tools:all", "biolink:read", "biolink:write"];
/// What an agent may have at most: it neither hands out secrets nor reads those of webhooks, and it exports and erases
/// nothing.
const OFFERED: Scopes = Scopes::NONE.with(Scope::AllTools).with(Scope::BiolinkWrite);

/// Returns the scopes of a text. Those that are unknown or not offered are left out (RFC 6749, section 3.3).
pub(super) fn parse(text: &str) -> Scopes {
    let read = |name: &str| match name {
        "tools:all" => Some(Scope::AllTools),
        "biolink:read" => Some(Scope::BiolinkRead),
        "biolink:write" => Some(Scope::BiolinkWrite),
        name => name.strip_prefix("tools:")?.parse::<Label>().ok().map(Scope::Tool),
    };
    text.split_ascii_whitespace().filter_map(read).fold(Scopes::NONE, Scopes::with)
}

/// Returns the text of scopes.
pub(super) fn text(scopes: Scopes) -> String {
    let pages = [Scope::BiolinkRead, Scope::BiolinkWrite].into_iter().filter(|scope| scopes.contains(*scope));
    let mut names: Vec<_> = scopes.tools().into_iter().map(|tool| format!("tools:{tool}")).collect();
    names.extend(pages.map(|scope| scope.to_string()));
    names.join(" ")
}

/// Returns a scope that no agent may have.
pub(super) fn withheld(wanted: Scopes) -> Option<Scope> {
    OFFERED.first_missing(wanted)
}
