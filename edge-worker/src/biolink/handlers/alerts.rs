//! `GET /v1/keys/me/alerts`: the last alerts of a key and of its account's webhooks, free of charge.

use biolink::webhooks::{AlertEvent, alert_list, describe_alert};
use portal::endpoint::Endpoint;
use shared::key::{BiolinkPlan, KeyRecord, Scope, VerifiedKey};
use shared::meter::Alert;
use shared::response::Response;
use shared::route::KeysEndpoint;

use crate::biolink::webhooks_client;
use crate::caller::{Answer, Found};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_record;
use crate::gateway::meter_client::{SnapshotPart, with_quota};

pub(crate) async fn handle(context: &RequestContext<'_>) -> Answer {
    let key = authenticate(context)?;
    let endpoint = Endpoint::Keys(KeysEndpoint::ReadAlerts);
    let Found { value: (record, snapshot), caller } =
        key_record::read_with(context, &key, SnapshotPart::Alerts, endpoint).await?;
    let described = |alert: Alert| (alert.at, describe_alert(&AlertEvent::Key { id: record.id, alert }));
    let mut alerts: Vec<_> = snapshot.alerts.into_iter().map(described).collect();
    // A key without webhooks must not create an object for them by asking.
    if sees_webhooks(context, &record, &key) {
        alerts.extend(caller.check(webhooks_client::alerts(context, record.account()).await)?);
    }
    caller.answer(Ok(with_quota(Response::json(alert_list(alerts)), &snapshot.response)))
}

/// Returns true if the account can have webhooks, and the secret may read of them.
fn sees_webhooks(context: &RequestContext<'_>, record: &KeyRecord, key: &VerifiedKey) -> bool {
    record.biolink_plan == BiolinkPlan::Business
        && record.permit(key, Some(Scope::BiolinkRead), context.request.now).is_ok()
        && context.biolink().is_ok()
}
