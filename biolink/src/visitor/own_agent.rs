//! The names under which the gateway itself sends requests to URLs of customers.
//!
//! Why: docs/decisions/webhooks.md, "A URL that leads back is not called, and its visits do not count".

/// The name under which receivers of webhooks see the gateway.
pub const WEBHOOKS_AGENT: &str = concat!("unified-tool-gateway/", env!("CARGO_PKG_VERSION"), " (webhooks)");
/// The name under which shops see the gateway.
pub const PRODUCT_SYNC_AGENT: &str = "UnifiedToolGateway-ProductSync/1.0";

/// Returns true for a user agent in lower case that is the gateway's, of whatever version. Its requests are
/// no visits, or a webhook that leads to a page would call itself for ever.
pub(super) fn is_own(agent: &str) -> bool {
    ["unified-tool-gateway/", "unifiedtoolgateway-"].iter().any(|own| agent.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visitor::{Agent, BotClass};

    #[test]
    fn each_of_the_gateways_own_agents_is_a_bot() {
        for agent in [WEBHOOKS_AGENT, PRODUCT_SYNC_AGENT, "unified-tool-gateway/99.0.0 (alerts)"] {
            assert_eq!(Agent::read(Some(agent)).bot, Some(BotClass::Other), "{agent}");
        }
    }
}
