//! Groups of tools, of which a client takes those that it needs: `/mcp?toolsets=tools,pages`.

use shared::problem::{Problem, codes};
use shared::query::parameters;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A group of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Toolset {
    /// The tools of the gateway.
    Tools,
    /// Bio-link pages: links, revisions and product sources.
    Pages,
    /// Analytics of pages.
    Analytics,
    /// Webhooks and the event log.
    Webhooks,
    /// Host names of the account, under which pages are shown.
    Domains,
    /// Usage of the key, and the account.
    Keys,
    /// What must not be in a conversation unless it is wanted there: secrets, and all that the
    /// account has stored.
    Account,
}

shared::named!(Toolset);

impl Toolset {
    /// Every toolset once.
    pub(super) const ALL: [Self; 7] = *Self::VARIANTS.as_array().unwrap();

    /// Returns true if its tools are listed for a client that names no toolsets.
    const fn is_listed_by_default(self) -> bool {
        match self {
            Self::Tools | Self::Pages | Self::Analytics | Self::Keys => true,
            Self::Webhooks | Self::Domains | Self::Account => false,
        }
    }
}

/// The toolsets of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolsets(Option<Vec<Toolset>>);

impl Toolsets {
    /// Reads the query of the endpoint.
    ///
    /// # Errors
    /// Returns `fields-invalid` for another parameter than `toolsets`, and for a toolset that there
    /// is not.
    pub fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let mut named = None;
        for (name, value) in parameters(query)? {
            // A misspelled parameter would otherwise list the default.
            if name != "toolsets" {
                return Err(Problem::new(codes::FIELDS_INVALID, "the only parameter of /mcp is toolsets"));
            }
            named = Some(
                value
                    .split(',')
                    .map(|name| name.trim().parse::<Toolset>().map_err(|_| unknown()))
                    .collect::<Result<_, _>>()?,
            );
        }
        Ok(Self(named))
    }

    /// Returns true if the tools of a toolset are listed.
    pub(super) fn list(&self, toolset: Toolset) -> bool {
        match &self.0 {
            Some(named) => named.contains(&toolset),
            None => toolset.is_listed_by_default(),
        }
    }

    /// Returns true if the client has named its toolsets.
    pub(super) const fn are_named(&self) -> bool {
        self.0.is_some()
    }

    /// Returns true if the tools of a toolset may be called: those that are named, or if none is,
    /// all but those of the account.
    pub(super) fn allow(&self, toolset: Toolset) -> bool {
        match &self.0 {
            Some(named) => named.contains(&toolset),
            None => toolset != Toolset::Account,
        }
    }
}

fn unknown() -> Problem {
    let names = Toolset::ALL.map(Toolset::as_str).join(", ");
    Problem::new(codes::FIELDS_INVALID, format!("toolsets takes, separated by commas: {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(query: Option<&str>, is: impl Fn(&Toolsets, Toolset) -> bool) -> Vec<&'static str> {
        let toolsets = Toolsets::parse(query).unwrap();
        Toolset::ALL.into_iter().filter(|set| is(&toolsets, *set)).map(Toolset::as_str).collect()
    }

    #[test]
    fn named_toolsets_are_listed_and_allowed() {
        for is in [Toolsets::list, Toolsets::allow] {
            assert_eq!(sets(Some("toolsets=webhooks,tools"), is), ["tools", "webhooks"]);
            assert_eq!(sets(Some("toolsets=tools%2C%20account"), is), ["tools", "account"]);
        }
    }

    #[test]
    fn account_is_neither_listed_nor_allowed_unless_it_is_named() {
        for query in [None, Some("")] {
            assert_eq!(sets(query, Toolsets::list), ["tools", "pages", "analytics", "keys"]);
            assert_eq!(
                sets(query, Toolsets::allow),
                ["tools", "pages", "analytics", "webhooks", "domains", "keys"]
            );
        }
    }

    #[test]
    fn other_query_is_refused() {
        for query in [
            "toolsets=",
            "toolsets=all",
            "toolsets=tools,,pages",
            "toolset=tools",
            "toolsets=tools&toolsets=pages",
        ] {
            let refused = Toolsets::parse(Some(query)).unwrap_err();
            assert_eq!(refused.code(), codes::FIELDS_INVALID, "{query}");
        }
    }
}
