//! The routes for those who run the service, and for its parts.

use crate::endpoints;

endpoints! {
    /// A request for the state of the service, or of one part of it to another.
    ServiceRoute
    Health: Get "/healthz",
    Status: Get "/v1/status",
    KeyChanges: Get "/internal/keys/changes",
    Meters: Post "/internal/meter",
}
