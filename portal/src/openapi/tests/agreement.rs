//! What descriptions say and code has too: limits, enumerations, patterns and names. A row is a place
//! in a document, the keyword there, and the value in the code.

use ::biolink::analytics::{AnalyticsRequest, Filter, GroupBy, Metric};
use ::biolink::fetch_url::FetchUrl;
use ::biolink::page::document::{
    Availability, Background, Buttons, Density, Direction, Font, Layout, LinkType, Mode, Platform, Preset,
    Rel, Shape, Subject,
};
use ::biolink::page::{self, ReportReason, WebUrl};
use ::biolink::pages_api::{DeniedHosts, MAX_REASON, PageStatus};
use ::biolink::policy;
use ::biolink::product_feed::{FeedFormat, Order};
use ::biolink::product_sync::{self, RunOutcome, RunTrigger, SyncStatus};
use ::biolink::webhooks::{self, WebhookKind};
use ::biolink::webhooks_api::{self, DeliveryState};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::action::Action;
use shared::headers::API_KEY;
use shared::key::{BiolinkPlan, NamedSecret};
use shared::keys_api::{ListRequest, MAX_EMAIL, MAX_NAME};
use shared::policy::MAX_MINUTE_LIMIT;
use shared::status::incident::{self, IncidentImpact, IncidentState};
use shared::tier::Tier;

use super::*;

/// A place, a keyword, and the value in the code.
type Row = (&'static str, &'static str, Value);

fn row(place: &'static str, keyword: &'static str, value: impl Serialize) -> Row {
    (place, keyword, serde_json::to_value(value).unwrap())
}

/// Returns the names of an enum without data, which its `Deserialize` lists when it is given none
/// of them: "unknown variant ``, expected one of `auto`, `ltr`, `rtl`".
fn names<T: DeserializeOwned>() -> Vec<String> {
    let error = serde_json::from_value::<T>("".into()).err().unwrap().to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// Returns a place of a document: a parameter as `?name` of its component, else a schema component
/// with members after dots. `[]` are the items of a list, and `{}` the values of a map.
fn find<'a>(document: &'a Value, place: &str) -> &'a Value {
    let components = &document["components"];
    if let Some(parameter) = place.strip_prefix('?') {
        let schema = &components["parameters"][parameter.trim_end_matches("[]")]["schema"];
        return if parameter.ends_with("[]") { &schema["items"] } else { schema };
    }
    if place.starts_with('/') {
        return document.pointer(place).unwrap_or_else(|| panic!("{place}"));
    }
    let mut words = place.split('.');
    let mut schema = &components["schemas"][words.next().unwrap()];
    for word in words {
        schema = &schema["properties"][word.trim_end_matches(['[', ']', '{', '}'])];
        schema = match word {
            _ if word.ends_with("[]") => &schema["items"],
            _ if word.ends_with("{}") => &schema["additionalProperties"],
            _ => schema,
        };
    }
    assert!(schema.is_object(), "{place}");
    schema
}

fn assert_agrees(document: &Value, rows: impl IntoIterator<Item = Row>) {
    for (place, keyword, expected) in rows {
        let mut described = find(document, place)[keyword].clone();
        // In OpenAPI 3.0 an enum must name null.
        if let (Some(names), "enum") = (described.as_array_mut(), keyword) {
            names.retain(|name| !name.is_null());
        }
        assert_eq!(described, expected, "{place} {keyword}");
    }
}

#[test]
fn gateway_agrees_with_the_code() {
    const CALL: &str = "/paths/~1v1~1qr~1{action}/get/parameters/0/schema";
    const CODE: &str = "/paths/~1problems~1{code}/get/parameters/0/schema";
    let document = document(SERVER);
    assert_eq!(document["info"]["version"], VERSION);
    assert_agrees(
        &document,
        [
            row("Problem.nearest[]", "enum", Tool::ALL),
            row("IssueRequest.tier", "enum", Tier::ALL),
            row("IssueRequest.email", "maxLength", MAX_EMAIL),
            row("IssueRequest.name", "maxLength", MAX_NAME),
            row("IssueRequest.limits.minute", "maximum", MAX_MINUTE_LIMIT),
            row("IssueRequest.limits.day", "maximum", u32::MAX),
            row("NewSecret.name", "maxLength", MAX_NAME),
            row("SecretList.secrets", "maxItems", NamedSecret::MAX),
            row("Scopes.tools", "maxItems", Tool::ALL.len()),
            row(
                "Scopes.tools[]",
                "enum",
                ["all"].into_iter().chain(Tool::ALL.map(Tool::as_str)).collect::<Vec<_>>(),
            ),
            row("NewIncident.title", "maxLength", incident::MAX_TITLE),
            row("NewIncident.message", "maxLength", incident::MAX_MESSAGE),
            row("NewIncident.impact", "enum", IncidentImpact::ALL),
            row("NewIncident.state", "enum", IncidentState::ALL),
            row("NewIncident.tools[]", "enum", Tool::ALL),
            row("Incident.updates", "maxItems", incident::MAX_UPDATES),
            row("IncidentList.incidents", "maxItems", incident::MAX_INCIDENTS),
            row("Key.tier", "enum", Tier::ALL),
            row("Key.status", "enum", ListRequest::STATUSES),
            row("KeyChange.tier", "enum", Tier::ALL),
            row("KeyChange.holder.email", "maxLength", MAX_EMAIL),
            row("KeyChange.holder.name", "maxLength", MAX_NAME),
            row("KeyChange.limits.minute", "maximum", MAX_MINUTE_LIMIT),
            row("/paths/~1v1~1keys/get/parameters/2/schema", "maxLength", MAX_EMAIL),
            row("/paths/~1v1~1keys/get/parameters/4/schema", "enum", Tier::ALL),
            row("/paths/~1v1~1keys/get/parameters/5/schema", "enum", ListRequest::STATUSES),
            row("/paths/~1v1~1keys/get/parameters/6/schema", "pattern", ListRequest::SORT_PATTERN),
            row(CALL, "maxLength", Action::MAX_LEN),
            row(CALL, "pattern", Action::PATTERN),
        ],
    );
    let tools = &find(&document, "StatusReport.tools[]")["properties"]["tool"]["enum"];
    assert_eq!(tools, &json!(Tool::ALL));
    let codes: BTreeSet<_> = codes::all().map(|code| code.as_str()).collect();
    for place in ["Problem.code", CODE] {
        let described = find(&document, place)["enum"].as_array().unwrap();
        assert_eq!(described.len(), codes.len(), "{place}");
        assert!(described.iter().all(|code| codes.contains(code.as_str().unwrap())), "{place}");
    }
    for document in [document, biolink::document(SERVER)] {
        let name = &document["components"]["securitySchemes"]["ApiKey"]["name"];
        assert_eq!(name.as_str().map(str::to_lowercase).as_deref(), Some(API_KEY));
    }
}

#[test]
fn pages_agree_with_the_code() {
    let statuses = PageStatus::ALL.map(PageStatus::as_str);
    let platforms: Vec<_> = Platform::ALL.iter().map(|platform| platform.as_str()).collect();
    let document = biolink::document(SERVER);
    assert_eq!(document["info"]["version"], VERSION);
    assert_agrees(
        &document,
        [
            row("PageInput.status", "enum", statuses),
            row("PageInput.dir", "enum", names::<Direction>()),
            row("PageInput.theme.preset", "enum", names::<Preset>()),
            row("PageInput.theme.mode", "enum", names::<Mode>()),
            row("PageInput.theme.shape", "enum", names::<Shape>()),
            row("PageInput.theme.density", "enum", names::<Density>()),
            row("PageInput.theme.font", "enum", names::<Font>()),
            row("PageInput.theme.buttons", "enum", names::<Buttons>()),
            row("PageInput.theme.background", "enum", names::<Background>()),
            row("PageInput.products.layout", "enum", names::<Layout>()),
            row("PageInput.seo.type", "enum", names::<Subject>()),
            row("PageInput.socials", "maxItems", page::MAX_SOCIALS),
            row("PageInput.links", "maxItems", page::MAX_LINKS),
            row("PageInput.products.items", "maxItems", page::MAX_PRODUCTS),
            row("PageInput.tags", "maxItems", page::MAX_TAGS),
            row("PageInput.metadata", "maxProperties", page::MAX_METADATA),
            row("PageInput.avatar.url", "maxLength", WebUrl::MAX_LEN),
            row("Page.status", "enum", statuses),
            row("Page.dir", "enum", names::<Direction>()),
            row("Page.theme.preset", "enum", names::<Preset>()),
            row("Page.theme.mode", "enum", names::<Mode>()),
            row("Page.theme.shape", "enum", names::<Shape>()),
            row("Page.theme.density", "enum", names::<Density>()),
            row("Page.theme.font", "enum", names::<Font>()),
            row("Page.theme.buttons", "enum", names::<Buttons>()),
            row("Page.theme.background", "enum", names::<Background>()),
            row("Page.products.layout", "enum", names::<Layout>()),
            row("Page.seo.type", "enum", names::<Subject>()),
            row("Page.socials", "maxItems", page::MAX_SOCIALS),
            row("Page.links", "maxItems", page::MAX_LINKS),
            row("Page.products.items", "maxItems", page::MAX_PRODUCTS),
            row("Page.avatar.url", "maxLength", WebUrl::MAX_LEN),
            row("Link.type", "enum", LinkType::ALL.map(LinkType::as_str)),
            row("Link.url", "maxLength", WebUrl::MAX_LEN),
            row("Link.rel[]", "enum", names::<Rel>()),
            row("LinkInput.type", "enum", LinkType::ALL.map(LinkType::as_str)),
            row("LinkOrder.order", "maxItems", page::MAX_LINKS),
            row("Product.availability", "enum", names::<Availability>()),
            row("ProductInput.availability", "enum", names::<Availability>()),
            row("ProductInput.url", "maxLength", WebUrl::MAX_LEN),
            row("SocialInput.platform", "enum", platforms),
            row("SocialInput.url", "maxLength", WebUrl::MAX_LEN),
            row("?status", "enum", statuses),
            row("Account.plan", "enum", [BiolinkPlan::None, BiolinkPlan::Standard, BiolinkPlan::Business]),
            row("Account.pages.used", "maximum", policy::PAGES),
            row("Account.calls.remaining", "maximum", policy::CALLS_PER_HOUR),
            row("SuspensionInput.reason", "maxLength", MAX_REASON),
            row("DeniedHostsInput.hosts", "maxItems", DeniedHosts::MAX),
        ],
    );
    let reasons = &find(&document, "ReportList.reports[]")["properties"]["reason"]["enum"];
    assert_eq!(reasons, &json!(ReportReason::ALL.map(ReportReason::as_str)));
    assert_read_only(&document, &["PageInput", "PagePatch"], page::READ_ONLY);
}

/// Fails if other members of these schemas are described as read-only.
fn assert_read_only(document: &Value, schemas: &[&str], names: &[&str]) {
    for schema in schemas {
        let properties = document["components"]["schemas"][schema]["properties"].as_object().unwrap();
        let ignored =
            properties.iter().filter(|(_, own)| **own == json!({ "description": "Read-only, and ignored." }));
        let ignored: BTreeSet<_> = ignored.map(|(name, _)| name.as_str()).collect();
        assert_eq!(ignored, names.iter().copied().collect(), "{schema}");
    }
}

#[test]
fn product_sources_agree_with_the_code() {
    let formats = FeedFormat::ALL.map(FeedFormat::as_str);
    let own_formats: Vec<_> = ["auto"].into_iter().chain(formats).collect();
    let document = biolink::document(SERVER);
    for schema in ["ProductSource", "ProductSourceInput", "ProductSourcePatch"] {
        let rows = [
            ("url", "maxLength", json!(FetchUrl::MAX_LEN)),
            ("format", "enum", json!(own_formats)),
            ("sort", "enum", json!(Order::ALL.map(Order::as_str))),
            ("max_items", "maximum", json!(product_sync::MAX_ITEMS)),
            ("max_items", "default", json!(product_sync::MAX_ITEMS)),
            ("filter.tags", "maxItems", json!(product_sync::MAX_TAGS)),
            ("filter.availability[]", "enum", json!(names::<Availability>())),
        ];
        let place = |(member, keyword, value)| (&*format!("{schema}.{member}").leak(), keyword, value);
        assert_agrees(&document, rows.map(place));
    }
    let run = &find(&document, "ProductSourceRunList.data[]")["properties"];
    assert_eq!(run["trigger"]["enum"], json!(RunTrigger::ALL.map(RunTrigger::as_str)));
    assert_eq!(run["outcome"]["enum"], json!(RunOutcome::ALL.map(RunOutcome::as_str)));
    let statuses = SyncStatus::ALL.map(SyncStatus::as_str);
    assert_agrees(&document, [row("ProductSource.sync.status", "enum", statuses)]);
}

#[test]
fn analytics_agree_with_the_code() {
    let (most, usual) = AnalyticsRequest::LIMITS;
    let granularities = AnalyticsRequest::granularities();
    let document = biolink::document(SERVER);
    assert_agrees(
        &document,
        [
            row("Analytics.meta.granularity", "enum", &granularities[1..]),
            row("?granularity", "enum", &granularities),
            row("?interval", "enum", AnalyticsRequest::intervals()),
            row("?page_ids", "maxItems", AnalyticsRequest::MAX_PAGES),
            row("?metrics", "maxItems", Metric::ALL.len()),
            row("?metrics[]", "enum", Metric::ALL.map(Metric::as_str)),
            row("?group_by", "maxItems", AnalyticsRequest::MAX_GROUPS),
            row("?group_by[]", "enum", GroupBy::ALL.map(GroupBy::as_str)),
            row("?limit_values", "maximum", most),
            row("?limit_values", "default", usual),
        ],
    );
    for group in GroupBy::ALL.into_iter().filter(|group| group.dimension().is_some()) {
        let place = &*format!("?{}", group.as_str()).leak();
        assert_agrees(&document, [row(place, "maxItems", Filter::MAX_VALUES)]);
    }
    let members = |place: &str| {
        let members = find(&document, place)["properties"].as_object().unwrap();
        members.keys().map(String::as_str).collect::<BTreeSet<_>>()
    };
    let metrics: BTreeSet<_> = Metric::ALL.map(Metric::as_str).into();
    assert_eq!(members("Analytics.totals"), metrics);
    for schema in ["AnalyticsSeriesRow", "AnalyticsValueRow", "AnalyticsLinkRow", "AnalyticsPageRow"] {
        assert!(metrics.is_subset(&members(schema)), "{schema}");
    }
    assert_eq!(members("Analytics.groups"), GroupBy::ALL.map(GroupBy::as_str).into());
}

#[test]
fn webhooks_agree_with_the_code() {
    let kinds = WebhookKind::ALL.map(WebhookKind::as_str);
    let states = DeliveryState::ALL.map(DeliveryState::as_str);
    let delivered: Vec<_> = kinds.into_iter().chain(["batch", "test"]).collect();
    let modes = [webhooks::Mode::Auto, webhooks::Mode::Single, webhooks::Mode::Batch];
    let document = biolink::document(SERVER);
    assert_agrees(
        &document,
        [
            row("WebhookInput.description", "maxLength", webhooks::MAX_DESCRIPTION),
            row("WebhookInput.page_ids", "maxItems", webhooks::MAX_PAGES),
            row("WebhookInput.events[]", "enum", kinds),
            row("WebhookInput.mode", "enum", modes.map(webhooks::Mode::as_str)),
            row("WebhookInput.headers", "maxProperties", webhooks::MAX_HEADERS),
            row("WebhookInput.headers{}", "maxLength", webhooks::MAX_HEADER_VALUE),
            row("Webhook.secret_expirations", "maxItems", webhooks::MAX_LIVE_SECRETS - 1),
            row("WebhookList.data", "maxItems", webhooks::MAX_ENDPOINTS),
            row("WebhookRotation.grace_period_seconds", "maximum", webhooks::MAX_GRACE_S),
            row("WebhookRotation.grace_period_seconds", "default", webhooks::DEFAULT_GRACE_S),
            row("WebhookTest.type", "enum", kinds),
            row("WebhookDelivery.type", "enum", delivered),
            row("WebhookDelivery.status", "enum", states),
            row("EventBatch.data.events", "maxItems", webhooks::MAX_BATCH_EVENTS),
            row("EventBatch.api_version", "enum", [webhooks::API_VERSION]),
            row("?schema_type", "enum", kinds),
            row("?event_type", "enum", kinds),
            row("?delivery_status", "enum", states),
            row("?limit_webhooks", "maximum", webhooks_api::MAX_LIMIT),
            row("?limit_webhooks", "default", webhooks_api::DEFAULT_LIMIT),
            row("?after", "maximum", webhooks::MAX_NUMBER),
            row("?wait", "maximum", webhooks_api::MAX_WAIT_S),
        ],
    );
    assert_read_only(&document, &["WebhookInput", "WebhookPatch"], webhooks::READ_ONLY);
    let parameters = &document["components"]["parameters"];
    for (parameter, header) in [
        ("sent_webhook_id", webhooks::HEADER_ID),
        ("sent_webhook_timestamp", webhooks::HEADER_TIMESTAMP),
        ("sent_webhook_signature", webhooks::HEADER_SIGNATURE),
        ("sent_webhook_attempt", webhooks_api::HEADER_ATTEMPT),
    ] {
        assert_eq!(parameters[parameter]["name"], header);
    }
}
