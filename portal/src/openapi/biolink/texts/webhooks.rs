//! The texts of webhooks.

use biolink::{route::WebhooksEndpoint, webhooks::WebhookKind};

use super::{Tag, Texts};

pub(in super::super) const fn webhooks_texts(endpoint: WebhooksEndpoint) -> Texts {
    use WebhooksEndpoint as E;
    let (id, summary, about) = match endpoint {
        E::List => ("list_webhooks", "List webhooks", "The oldest first, each with its health and warnings."),
        E::Create => (
            "create_webhook",
            "Create a webhook",
            "The response has the secret that signs deliveries. A dry run responds with 200 and without one.",
        ),
        E::Read => {
            ("read_webhook", "Read a webhook", "With its health and warnings, and without its secret.")
        }
        E::Patch => (
            "patch_webhook",
            "Change a webhook",
            "A JSON Merge Patch (RFC 7396). Another address, or `enabled` after it was disabled, forgets its failures.",
        ),
        E::Delete => {
            ("delete_webhook", "Delete a webhook", "With its deliveries. What waits to be sent is not sent.")
        }
        E::ReadSecret => ("read_webhook_secret", "Read the secret of a webhook", "The one that is current."),
        E::RotateSecret => (
            "rotate_webhook_secret",
            "Rotate the secret of a webhook",
            "Until the grace period ends, the replaced secret signs too. At most three secrets sign at once. The body may be left out.",
        ),
        E::Test => (
            "test_webhook",
            "Send a test event",
            "A sample with `test` true, sent once and at once. It is not in the event log, and a failure of it does not count.",
        ),
        E::Deliveries => (
            "list_deliveries",
            "List the deliveries to a webhook",
            "The newest first, each with its attempts. They are kept for 30 days.",
        ),
        E::ReadDelivery => ("read_delivery", "Read a delivery", "With its attempts."),
        E::Retry => (
            "retry_delivery",
            "Send a delivery again",
            "At once, under the same `webhook-id`, and from the beginning of the schedule.",
        ),
        E::Replay => (
            "replay_deliveries",
            "Send events of a span of time again",
            "`failed` sends deliveries again that have failed or were dropped. `all` makes new deliveries of every event in the log that the webhook wants. It reaches back 14 days, and sends 10,000 at most.",
        ),
        E::Stats => (
            "read_webhook_statistics",
            "Read the statistics of a webhook",
            "Counted since its creation. A batch is one attempt, and each of its events counts.",
        ),
        E::Schema => (
            "read_webhook_schema",
            "Read the schema of a kind of event",
            "JSON Schema (2020-12) of the body, and an example. Free of charge.",
        ),
        E::Events => (
            "list_events",
            "List events",
            "The oldest first, after a sequence. With `wait`, a response without events waits for one. The log has what a webhook wants, for 30 days.",
        ),
        E::ReadEvent => ("read_event", "Read an event", "The body as it is delivered."),
    };
    let tag = match endpoint {
        E::Schema | E::Events | E::ReadEvent => Tag::Events,
        _ => Tag::Webhooks,
    };
    Texts(tag, id, summary, about)
}

/// Returns the texts of a request to a receiver; `None` is a batch.
pub(in super::super) const fn delivered_texts(kind: Option<WebhookKind>) -> Texts {
    let (id, summary, about) = match kind {
        Some(WebhookKind::PageView) => {
            ("on_page_view", "A page was opened", "By a human visitor: bots give no event.")
        }
        Some(WebhookKind::Click) => {
            ("on_click", "A link or a product was followed", "By a human visitor: bots give no event.")
        }
        Some(WebhookKind::QrScan) => (
            "on_qr_scan",
            "A QR code was scanned",
            "The page that is shown then gives a `page_view` too, with `via` `qr`.",
        ),
        Some(WebhookKind::PagePublished) => {
            ("on_page_published", "A revision of a page went live", "With what changed since the one before.")
        }
        None => (
            "on_batch",
            "Several events",
            "For webhooks with `mode` `batch`, and with `auto` above ten events a second.",
        ),
    };
    Texts(Tag::Webhooks, id, summary, about)
}
