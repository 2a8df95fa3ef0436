//! `GET /v1/status/history`, `/status.atom`, and the incidents below `/v1/status/incidents`.

use portal::docs::incident_feed;
use portal::route::StatusRoute;
use shared::idempotency::{IDEMPOTENCY_KEY, IdempotencyKey};
use shared::keys_api::MAX_BODY;
use shared::problem::Problem;
use shared::response::Response;
use shared::status::incident::{INCIDENTS_PATH, IncidentId, NewIncident, NewUpdate};
use shared::status::message::IncidentChange;

use crate::context::RequestContext;
use crate::gateway::{authenticate, status_history};
use crate::runtime::{body, entropy};

/// Handles a request for the history or for incidents. Everyone may read them.
pub(crate) async fn handle(context: &RequestContext<'_>, route: StatusRoute) -> Result<Response, Problem> {
    match route {
        StatusRoute::History => {
            let history = &status_history::read(context).await?.history;
            Ok(Response::feed("application/json", history.describe(context.request.now).to_string()))
        }
        StatusRoute::Feed => {
            let incidents = &status_history::read(context).await?.incidents;
            Ok(incident_feed(incidents, context.public_url()))
        }
        StatusRoute::ListIncidents => {
            let incidents = &status_history::read(context).await?.incidents;
            Ok(Response::json(incidents.describe().to_string()))
        }
        StatusRoute::ReadIncident(id) => {
            let incidents = &status_history::read(context).await?.incidents;
            Ok(Response::json(incidents.find(id)?.describe().to_string()))
        }
        StatusRoute::CreateIncident => create(context).await,
        StatusRoute::UpdateIncident(id) => update(context, id).await,
        StatusRoute::DeleteIncident(id) => {
            authenticate::authorize_admin(context).await?;
            status_history::change(context, IncidentChange::Delete { id }).await?;
            Ok(Response::no_content())
        }
    }
}

async fn create(context: &RequestContext<'_>) -> Result<Response, Problem> {
    authenticate::authorize_admin(context).await?;
    let new = NewIncident::read(&body::read(context.request, &context.head, MAX_BODY).await?)?;
    let request = IdempotencyKey::read(context.request.header(IDEMPOTENCY_KEY))?.map(|key| key.name());
    // An id names an incident and is no secret.
    let drawn = entropy::random_of_pool();
    let drawn = drawn.map_err(|error| entropy::unavailable(&error, Some(context.request.id)))?;
    let change = IncidentChange::Create { id: IncidentId::new(drawn), new, request };
    let incident = status_history::change(context, change).await?;
    Ok(Response::created(incident.describe().to_string(), format!("{INCIDENTS_PATH}/{}", incident.id)))
}

async fn update(context: &RequestContext<'_>, id: IncidentId) -> Result<Response, Problem> {
    authenticate::authorize_admin(context).await?;
    let new = NewUpdate::read(&body::read(context.request, &context.head, MAX_BODY).await?)?;
    let incident = status_history::change(context, IncidentChange::Update { id, new }).await?;
    Ok(Response::json(incident.describe().to_string()))
}
