//! `GET /v1/keys/me`: the state of the key's meter, free of charge.

use shared::json;
use shared::keys_api::describe_own;
use shared::problem::Problem;
use shared::response::Response;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_store;
use crate::gateway::meter_client::{self, SnapshotPart};
use crate::runtime::clock;
use crate::runtime::outline::{boxed, outlined};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = outlined(|| authenticate(context))?;
    access.record_key(&key);
    let snapshot = boxed(meter_client::read(context, &key, SnapshotPart::State)).await?;
    access.tier = snapshot.record.as_ref().map(|record| record.tier);
    let usage =
        outlined(|| describe_own(&snapshot, &key, clock::now())).ok_or_else(key_store::unavailable)?;
    outlined(|| {
        let body = json::to_string(&usage).unwrap_or_default();
        Ok(meter_client::with_quota(Response::json(body), &snapshot.response))
    })
}
