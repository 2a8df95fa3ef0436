//! What descriptions name and code knows: limits, patterns and the names of enums. A text `{max_links}` in a
//! description stands for the value, in a list for each of the values, and as the name of a member for a member of
//! each name.

use std::collections::BTreeMap;

use biolink::analytics::{AnalyticsRequest, Filter, GroupBy, Metric};
use biolink::codes;
use biolink::fetch_url::FetchUrl;
use biolink::page::document::{
    Availability, Background, Buttons, Density, Direction, Font, Layout, LinkType, Mode, Platform, Preset,
    Rel, Shape, Subject,
};
use biolink::page::{self, ReportReason, WebUrl};
use biolink::pages_api::{DeniedHosts, MAX_REASON, PageStatus};
use biolink::policy;
use biolink::product_feed::{FeedFormat, Order};
use biolink::product_sync::{self, RunOutcome, RunTrigger, SyncStatus};
use biolink::webhooks::{self, WebhookKind};
use biolink::webhooks_api::{self, DeliveryState};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use shared::action::Action;
use shared::key::{BiolinkPlan, NamedSecret};
use shared::keys_api::{ListRequest, MAX_EMAIL, MAX_NAME};
use shared::policy::MAX_MINUTE_LIMIT;
use shared::status::incident::{self, IncidentImpact, IncidentState};
use shared::tier::Tier;
use shared::tool::Tool;

/// The values by name.
pub(super) struct Facts(BTreeMap<&'static str, Value>);

impl Facts {
    /// Returns all that descriptions may name.
    pub(super) fn new() -> Self {
        Self(names().into_iter().chain(limits()).collect())
    }

    /// Puts the values in.
    pub(super) fn fill(&self, value: &mut Value) {
        match value {
            Value::String(_) => {
                if let Some(known) = self.find(value) {
                    *value = known.clone();
                }
            }
            Value::Array(items) => {
                let filled = std::mem::take(items).into_iter().flat_map(|mut item| match self.find(&item) {
                    Some(Value::Array(names)) => names.clone(),
                    Some(known) => vec![known.clone()],
                    None => {
                        self.fill(&mut item);
                        vec![item]
                    }
                });
                *items = filled.collect();
            }
            Value::Object(members) => {
                self.repeat(members);
                members.values_mut().for_each(|member| self.fill(member));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the name of each.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Replaces a member whose name is in braces by one for each of the names, unless there is one.
    fn repeat(&self, members: &mut Map<String, Value>) {
        let in_braces: Vec<_> = members.keys().filter(|name| name.starts_with('{')).cloned().collect();
        for braces in in_braces {
            let Some(Value::Array(names)) = self.find(&braces.as_str().into()) else { continue };
            let Some(template) = members.remove(&braces) else { continue };
            for name in names.iter().filter_map(Value::as_str) {
                let mut member = template.clone();
                if let Some(own) = member.get_mut("name").filter(|own| **own == *braces) {
                    *own = name.into();
                }
                members.entry(name).or_insert(member);
            }
        }
    }

    fn find(&self, value: &Value) -> Option<&Value> {
        self.0.get(value.as_str()?.strip_prefix('{')?.strip_suffix('}')?)
    }
}

/// Returns the names of an enum without data, which its `Deserialize` lists when it is given none
/// of them: "unknown variant ``, expected one of `auto`, `ltr`, `rtl`".
fn variants<T: DeserializeOwned>() -> Value {
    let error = serde_json::from_value::<T>("".into()).err().map(|error| error.to_string());
    error.unwrap_or_default().split('`').skip(3).step_by(2).collect()
}

/// Returns the groups by which a report can be filtered.
fn filters() -> impl Iterator<Item = GroupBy> {
    GroupBy::ALL.into_iter().filter(|group| group.dimension().is_some())
}

/// Returns the lists of names.
fn names() -> [(&'static str, Value); 40] {
    [
        ("kind", json!(WebhookKind::ALL.map(WebhookKind::as_str))),
        ("tool_name", json!(Tool::ALL)),
        ("tier", json!(Tier::ALL)),
        ("key_status", json!(ListRequest::STATUSES)),
        ("plan", json!([BiolinkPlan::None, BiolinkPlan::Standard, BiolinkPlan::Business])),
        ("impact", json!(IncidentImpact::ALL)),
        ("incident_state", json!(IncidentState::ALL)),
        ("problem", codes::all().map(|code| code.as_str()).collect()),
        ("page_status", json!(PageStatus::ALL.map(PageStatus::as_str))),
        ("direction", variants::<Direction>()),
        ("preset", variants::<Preset>()),
        ("mode", variants::<Mode>()),
        ("shape", variants::<Shape>()),
        ("density", variants::<Density>()),
        ("font", variants::<Font>()),
        ("buttons", variants::<Buttons>()),
        ("background", variants::<Background>()),
        ("layout", variants::<Layout>()),
        ("subject", variants::<Subject>()),
        ("rel", variants::<Rel>()),
        ("availability", variants::<Availability>()),
        ("link_type", json!(LinkType::ALL.map(LinkType::as_str))),
        ("platform", Platform::ALL.iter().map(|platform| platform.as_str()).collect()),
        ("feed_format", json!(FeedFormat::ALL.map(FeedFormat::as_str))),
        ("order", json!(Order::ALL.map(Order::as_str))),
        ("sync_status", json!(SyncStatus::ALL.map(SyncStatus::as_str))),
        ("run_trigger", json!(RunTrigger::ALL.map(RunTrigger::as_str))),
        ("run_outcome", json!(RunOutcome::ALL.map(RunOutcome::as_str))),
        ("report_reason", json!(ReportReason::ALL.map(ReportReason::as_str))),
        // `auto` is first, and is not in reports.
        ("granularity", AnalyticsRequest::granularities().into_iter().skip(1).collect()),
        ("interval", json!(AnalyticsRequest::intervals())),
        ("metric", json!(Metric::ALL.map(Metric::as_str))),
        ("group", json!(GroupBy::ALL.map(GroupBy::as_str))),
        ("filter", filters().map(GroupBy::as_str).collect()),
        // Links and products have a title and an address beside their id.
        (
            "value",
            filters().map(GroupBy::as_str).filter(|name| !matches!(*name, "link" | "product")).collect(),
        ),
        ("delivery_state", json!(DeliveryState::ALL.map(DeliveryState::as_str))),
        ("webhook_mode", variants::<webhooks::Mode>()),
        ("event_version", json!(webhooks::API_VERSION)),
        ("action_pattern", json!(Action::PATTERN)),
        ("sort_pattern", json!(ListRequest::SORT_PATTERN)),
    ]
}

/// Returns the limits.
fn limits() -> [(&'static str, Value); 43] {
    let (max_values, usual_values) = AnalyticsRequest::LIMITS;
    [
        ("max_action", json!(Action::MAX_LEN)),
        ("max_tools", json!(Tool::ALL.len())),
        ("max_email", json!(MAX_EMAIL)),
        ("max_name", json!(MAX_NAME)),
        ("max_minute", json!(MAX_MINUTE_LIMIT)),
        ("max_day", json!(u32::MAX)),
        ("max_secrets", json!(NamedSecret::MAX)),
        ("max_incident_title", json!(incident::MAX_TITLE)),
        ("max_incident_message", json!(incident::MAX_MESSAGE)),
        ("max_updates", json!(incident::MAX_UPDATES)),
        ("max_incidents", json!(incident::MAX_INCIDENTS)),
        ("max_socials", json!(page::MAX_SOCIALS)),
        ("max_links", json!(page::MAX_LINKS)),
        ("max_products", json!(page::MAX_PRODUCTS)),
        ("max_tags", json!(page::MAX_TAGS)),
        ("max_metadata", json!(page::MAX_METADATA)),
        ("max_web_url", json!(WebUrl::MAX_LEN)),
        ("max_fetch_url", json!(FetchUrl::MAX_LEN)),
        ("max_pages", json!(policy::PAGES)),
        ("max_calls", json!(policy::CALLS_PER_HOUR)),
        ("max_reason", json!(MAX_REASON)),
        ("max_denied_hosts", json!(DeniedHosts::MAX)),
        ("max_source_items", json!(product_sync::MAX_ITEMS)),
        ("max_source_tags", json!(product_sync::MAX_TAGS)),
        ("max_report_pages", json!(AnalyticsRequest::MAX_PAGES)),
        ("max_metrics", json!(Metric::ALL.len())),
        ("max_groups", json!(AnalyticsRequest::MAX_GROUPS)),
        ("max_values", json!(max_values)),
        ("usual_values", json!(usual_values)),
        ("max_filter_values", json!(Filter::MAX_VALUES)),
        ("max_webhook_description", json!(webhooks::MAX_DESCRIPTION)),
        ("max_webhook_pages", json!(webhooks::MAX_PAGES)),
        ("max_webhook_headers", json!(webhooks::MAX_HEADERS)),
        ("max_webhook_header_value", json!(webhooks::MAX_HEADER_VALUE)),
        ("max_replaced_secrets", json!(webhooks::MAX_LIVE_SECRETS - 1)),
        ("max_webhooks", json!(webhooks::MAX_ENDPOINTS)),
        ("max_grace_seconds", json!(webhooks::MAX_GRACE_S)),
        ("usual_grace_seconds", json!(webhooks::DEFAULT_GRACE_S)),
        ("max_batch_events", json!(webhooks::MAX_BATCH_EVENTS)),
        ("max_deliveries", json!(webhooks_api::MAX_LIMIT)),
        ("usual_deliveries", json!(webhooks_api::DEFAULT_LIMIT)),
        ("max_sequence", json!(webhooks::MAX_NUMBER)),
        ("max_wait_seconds", json!(webhooks_api::MAX_WAIT_S)),
    ]
}
