//! `POST /console/preview`: a page as visitors would see it, before it is stored. Free of charge, like
//! the visits.

use biolink::page::document::Locale;
use biolink::pages_api::{plan_required, preview};
use portal::endpoint::Endpoint;
use portal::route::PortalRoute;
use shared::key::KeyRecord;
use shared::problem::Problem;
use shared::response::Response;

use super::pages_api::read_body;
use crate::caller::{Answer, Found};
use crate::context::RequestContext;
use crate::gateway::key_record;

pub(crate) async fn handle(context: &RequestContext<'_>) -> Answer {
    let Found { value: record, caller } =
        key_record::read(context, Endpoint::Portal(PortalRoute::Preview)).await?;
    caller.answer(shown(context, &record).await)
}

async fn shown(context: &RequestContext<'_>, record: &KeyRecord) -> Result<Response, Problem> {
    plan_required(record.biolink_plan)?;
    let body = read_body(context, true).await?;
    let locale = Locale::preferred(context.request.header("accept-language"));
    preview(&body, &context.pages_url(), locale, context.request.now)
}
