//! The requirements of requests: the one table. `docs/security.md` names each operation of the
//! descriptions, and tests compare both with each other and with what the worker does.

#[cfg(feature = "biolink")]
use biolink::route::{PagesEndpoint, WebhooksEndpoint};
use shared::key::Scope;
use shared::route::{KeysEndpoint, ServiceRoute};

use crate::endpoint::Endpoint;
use crate::route::{OAuthRoute, PortalRoute, StatusEndpoint};
#[cfg(feature = "biolink")]
use crate::session::SessionCall;

/// The credential that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Nothing: it is for everyone.
    Nothing,
    /// A secret of a key, whatever its scopes.
    AnySecret,
    /// A secret with a scope.
    Scope(Scope),
    /// A secret with `keys`, and with each scope that the secret has which it makes or changes.
    ScopesOfSecret,
    /// A secret with every scope.
    EveryScope,
    /// The admin secret.
    AdminSecret,
    /// The secret that origins share with the edge.
    GrantSecret,
    /// The signature of a shop.
    Signature,
}

impl Requirement {
    /// Returns the scope that a secret needs by itself, whatever the request is about.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::Scope(scope) => Some(scope),
            Self::Nothing
            | Self::AnySecret
            | Self::ScopesOfSecret
            | Self::EveryScope
            | Self::AdminSecret
            | Self::GrantSecret
            | Self::Signature => None,
        }
    }
}

impl Endpoint {
    /// Returns what a request needs of its caller.
    pub const fn requires(self) -> Requirement {
        match self {
            Self::CallTool(tool, _) => Requirement::Scope(Scope::Tool(tool.label())),
            Self::Keys(endpoint) => of_keys(endpoint),
            #[cfg(feature = "biolink")]
            Self::Admin(_) => Requirement::AdminSecret,
            Self::StatusHistory(endpoint) => of_status(endpoint),
            #[cfg(feature = "biolink")]
            Self::Session(call) => of_session(call),
            Self::Service(ServiceRoute::KeyChanges | ServiceRoute::Meters) => Requirement::GrantSecret,
            // Every message is a separate request.
            Self::Portal(PortalRoute::Mcp) => Requirement::AnySecret,
            Self::Portal(PortalRoute::Preview) => Requirement::Scope(Scope::BiolinkRead),
            Self::OAuth(OAuthRoute::Consent) => Requirement::ScopesOfSecret,
            #[cfg(feature = "biolink")]
            Self::Pages(endpoint) => Requirement::Scope(of_pages(endpoint)),
            #[cfg(feature = "biolink")]
            Self::Webhooks(endpoint) => Requirement::Scope(of_webhooks(endpoint)),
            #[cfg(feature = "biolink")]
            Self::PushProducts => Requirement::Signature,
            Self::Console
            | Self::ConsolePart
            | Self::Service(ServiceRoute::Health | ServiceRoute::Status)
            | Self::Asset(_)
            | Self::ProblemPage
            | Self::Portal(PortalRoute::StatusPage | PortalRoute::ToolsPage)
            | Self::Tools(_)
            | Self::OAuth(_)
            | Self::Site(_)
            | Self::Preflight => Requirement::Nothing,
            #[cfg(feature = "biolink")]
            Self::Image | Self::Visit(_) => Requirement::Nothing,
        }
    }
}

const fn of_keys(endpoint: KeysEndpoint) -> Requirement {
    use KeysEndpoint as E;
    match endpoint {
        // A key can read itself.
        E::ReadOwn => Requirement::AnySecret,
        E::ReadHistory | E::ReadCalls | E::ReadAlerts | E::ListSecrets => Requirement::Scope(Scope::Keys),
        E::CreateSecret | E::ChangeSecret | E::RevokeSecret | E::RotateSecret => Requirement::ScopesOfSecret,
        E::RotateOwn | E::RevokeOwn => Requirement::EveryScope,
        E::Issue | E::List | E::Read | E::Change | E::Revoke | E::Rotate | E::RevokeSecretOf => {
            Requirement::AdminSecret
        }
    }
}

#[cfg(feature = "biolink")]
const fn of_pages(endpoint: PagesEndpoint) -> Scope {
    use PagesEndpoint as E;
    match endpoint {
        E::List
        | E::Read
        | E::Revisions
        | E::ReadRevision
        | E::ListSources
        | E::ReadSource
        | E::SourceRuns
        | E::Analytics
        | E::LiveAnalytics
        | E::ListImages
        | E::ReadImage
        | E::ListDomains
        | E::ReadDomain
        | E::Account => Scope::BiolinkRead,
        E::Create
        | E::Replace
        | E::Patch
        | E::Delete
        | E::Publish
        | E::Unpublish
        | E::Restore
        | E::AddLink
        | E::PatchLink
        | E::DeleteLink
        | E::OrderLinks
        | E::CreateSource
        | E::PatchSource
        | E::DeleteSource
        | E::RefreshSource
        | E::ResetAnalytics
        | E::UploadImage
        | E::DeleteImage
        | E::CreateDomain
        | E::PatchDomain
        | E::DeleteDomain
        | E::VerifyDomain => Scope::BiolinkWrite,
        // The export has the holder, and what was erased is gone.
        E::Export | E::Erase => Scope::BiolinkAdmin,
    }
}

#[cfg(feature = "biolink")]
const fn of_webhooks(endpoint: WebhooksEndpoint) -> Scope {
    use WebhooksEndpoint as E;
    match endpoint {
        E::List
        | E::Read
        | E::Deliveries
        | E::ReadDelivery
        | E::Stats
        | E::Schema
        | E::Samples
        | E::Events
        | E::ReadEvent => Scope::BiolinkRead,
        E::Create | E::Patch | E::Delete | E::Test | E::Retry | E::Replay => Scope::BiolinkWrite,
        // Whoever has the secret sends events in the name of the gateway.
        E::ReadSecret | E::RotateSecret => Scope::BiolinkAdmin,
    }
}

const fn of_status(endpoint: StatusEndpoint) -> Requirement {
    use StatusEndpoint as E;
    match endpoint {
        E::History | E::ListIncidents | E::ReadIncident | E::Feed => Requirement::Nothing,
        E::CreateIncident | E::DeleteIncident | E::UpdateIncident => Requirement::AdminSecret,
    }
}

#[cfg(feature = "biolink")]
const fn of_session(call: SessionCall) -> Requirement {
    match call {
        SessionCall::Read | SessionCall::Begin | SessionCall::End => Requirement::Nothing,
        // They are of other secrets too.
        SessionCall::List | SessionCall::EndAll | SessionCall::EndOne => Requirement::Scope(Scope::Keys),
    }
}

#[cfg(test)]
mod tests;
