//! Scopes: what a secret of a key may do.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::label::Label;

/// One thing that a secret may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Call every tool, those to come too.
    AllTools,
    /// Call a tool.
    Tool(Label),
    /// Read the pages, webhooks and analytics of the key's bio-link account.
    BiolinkRead,
    /// Read and change them.
    BiolinkWrite,
    /// The same, and what gives power over them: read signing secrets, export the account with its holder, erase it.
    BiolinkAdmin,
    /// Make, change, rotate and revoke secrets of the key.
    Keys,
}

/// The bits of tools, by their codes, with room for tools to come. The lowest one stands for all.
const TOOLS: u32 = (1 << TOOL_CODES) - 1;
const TOOL_CODES: u8 = 24;
const BIOLINK_READ: u32 = 1 << 24;
const BIOLINK_WRITE: u32 = 1 << 25;
const KEYS: u32 = 1 << 26;
const BIOLINK_ADMIN: u32 = 1 << 27;

/// A set of scopes, as a set of bits.
///
/// ```
/// use shared::key::{Scope, Scopes};
/// use shared::tool::Tool;
///
/// let scopes = Scopes::NONE.with(Scope::Tool(Tool::Qr.label())).with(Scope::BiolinkWrite);
/// assert!(scopes.contains(Scope::Tool(Tool::Qr.label())) && scopes.contains(Scope::BiolinkRead));
/// assert_eq!(scopes.first_missing(Scopes::ALL), Some(Scope::AllTools));
/// assert_eq!(Scope::Tool(Tool::Pdf.label()).to_string(), "tools:pdf");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(u32);

impl Scope {
    const fn bits(self) -> u32 {
        match self {
            Self::AllTools => TOOLS,
            Self::Tool(label) => 1 << label.code(),
            Self::BiolinkRead => BIOLINK_READ,
            // Whoever may change something sees it in the response, so writing includes reading.
            Self::BiolinkWrite => BIOLINK_READ | BIOLINK_WRITE,
            Self::BiolinkAdmin => BIOLINK_READ | BIOLINK_WRITE | BIOLINK_ADMIN,
            Self::Keys => KEYS,
        }
    }

    /// Returns the scope whose bit is the lowest of these.
    fn lowest(bits: u32) -> Option<Self> {
        // The two's complement leaves the lowest bit alone.
        match bits & bits.wrapping_neg() {
            0 => None,
            1 => Some(Self::AllTools),
            BIOLINK_READ => Some(Self::BiolinkRead),
            BIOLINK_WRITE => Some(Self::BiolinkWrite),
            BIOLINK_ADMIN => Some(Self::BiolinkAdmin),
            KEYS => Some(Self::Keys),
            bit => u8::try_from(bit.trailing_zeros()).ok().and_then(Label::from_code).map(Self::Tool),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllTools => f.write_str("tools:all"),
            Self::Tool(label) => write!(f, "tools:{}", label.as_str()),
            Self::BiolinkRead => f.write_str("biolink:read"),
            Self::BiolinkWrite => f.write_str("biolink:write"),
            Self::BiolinkAdmin => f.write_str("biolink:admin"),
            Self::Keys => f.write_str("keys"),
        }
    }
}

impl Scopes {
    /// No scope: such a secret can read what it is.
    pub const NONE: Self = Self(0);
    /// Every scope.
    pub const ALL: Self = Self(TOOLS | BIOLINK_READ | BIOLINK_WRITE | BIOLINK_ADMIN | KEYS);

    /// Returns these scopes and one more.
    #[must_use]
    pub const fn with(self, scope: Scope) -> Self {
        Self(self.0 | scope.bits())
    }

    /// Returns these scopes and those.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns true if the scope is one of these.
    pub const fn contains(self, scope: Scope) -> bool {
        scope.bits() & !self.0 == 0
    }

    /// Returns true if one of these is to call a tool.
    pub const fn has_tools(self) -> bool {
        self.0 & TOOLS != 0
    }

    /// Returns the first scope of `wanted` that is none of these.
    pub fn first_missing(self, wanted: Self) -> Option<Scope> {
        Scope::lowest(wanted.0 & !self.0)
    }

    /// Returns the names of the tools: `all`, or one of each.
    pub fn tools(self) -> Vec<&'static str> {
        if self.contains(Scope::AllTools) {
            return vec!["all"];
        }
        let labels = (1..TOOL_CODES).filter_map(Label::from_code);
        labels.filter(|label| self.contains(Scope::Tool(*label))).map(Label::as_str).collect()
    }

    /// Returns the access to the bio-link account in one word.
    pub const fn biolink(self) -> &'static str {
        if self.contains(Scope::BiolinkAdmin) {
            "admin"
        } else if self.contains(Scope::BiolinkWrite) {
            "write"
        } else if self.contains(Scope::BiolinkRead) {
            "read"
        } else {
            "none"
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tool::Tool;

    fn every_tool() -> impl Iterator<Item = Scope> {
        Tool::ALL.into_iter().map(|tool| Scope::Tool(tool.label()))
    }

    fn scope() -> impl Strategy<Value = Scope> {
        let tool = prop::sample::select(every_tool().collect::<Vec<_>>());
        let other =
            [Scope::AllTools, Scope::BiolinkRead, Scope::BiolinkWrite, Scope::BiolinkAdmin, Scope::Keys];
        prop_oneof![tool, prop::sample::select(other.to_vec())]
    }

    fn scopes() -> impl Strategy<Value = Scopes> {
        prop::collection::vec(scope(), 0..6)
            .prop_map(|list| list.into_iter().fold(Scopes::NONE, Scopes::with))
    }

    proptest! {
        #[test]
        fn set_covers_another_if_it_has_each_of_its_scopes(own in scopes(), wanted in scopes(), one in scope()) {
            prop_assert!(own.with(one).contains(one));
            match own.first_missing(wanted) {
                Some(missing) => prop_assert!(wanted.contains(missing) && !own.contains(missing)),
                None => prop_assert!(!wanted.contains(one) || own.contains(one)),
            }
            prop_assert_eq!(own.and(wanted).first_missing(wanted), None);
            prop_assert_eq!(Scopes::ALL.first_missing(wanted), None);
        }
    }

    #[test]
    fn list_of_every_tool_is_not_all_tools() {
        let listed = every_tool().fold(Scopes::NONE, Scopes::with);
        assert!(!listed.contains(Scope::AllTools));
        assert_eq!((listed.tools().len(), Scopes::ALL.tools()), (Tool::ALL.len(), vec!["all"]));
        assert_eq!(listed.first_missing(Scopes::ALL), Some(Scope::AllTools));
    }

    #[test]
    fn administering_includes_writing_and_writing_reading() {
        let levels = [Scope::BiolinkRead, Scope::BiolinkWrite, Scope::BiolinkAdmin];
        for (level, word) in levels.into_iter().zip(["read", "write", "admin"]) {
            let own = Scopes::NONE.with(level);
            assert_eq!((own.biolink(), level.to_string()), (word, format!("biolink:{word}")));
            let next = levels.into_iter().find(|other| !own.contains(*other));
            assert_eq!(own.first_missing(Scopes::NONE.with(Scope::BiolinkAdmin)), next);
        }
        assert_eq!((Scopes::NONE.biolink(), Scopes::ALL.biolink()), ("none", "admin"));
    }
}
