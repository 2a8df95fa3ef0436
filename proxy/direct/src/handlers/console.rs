//! First request of the console.

use serde_json::json;
use shared::response::Response;

use config::{Authority, DirectConfig};

/// The path at which the console asks.
pub(crate) const SESSION_PATH: &str = "/console/session";

/// Returns the response to `GET /console/session`: no cookie signs anyone in, and the views are those of direct mode.
///
/// Why: docs/decisions/direct-mode.md, "The console keeps the key in its tab".
pub(super) fn session(config: &DirectConfig) -> Response {
    let (issues_keys, has_admin) = match &config.authority {
        Authority::Here { admin, .. } => (true, admin.is_some()),
        Authority::Edge(_) => (false, false),
    };
    let direct = json!({ "issues_keys": issues_keys, "has_admin": has_admin });
    Response::json(json!({ "signed_in": false, "direct": direct }).to_string())
}
