//! The guides of bio-link pages.

use maud::{Markup, html};

use super::{Source, written};

pub(super) fn pages(source: &Source<'_>) -> Markup {
    html! {
        p { "The API needs a key with the bio-link plan " code { "business" } ". Create a page and publish it with one call. Visitors open it at " code { "/ada" } "." }
        (source.example("create_page"))
        ul {
            li { b { "Draft and live." } " Changes of a published page are not shown until it is " a href="/docs/pages#publish_page" { "published" } " again. " code { "status" } " in a write does it immediately." }
            li { b { "Concurrency." } " Send a page's " code { "ETag" } " back as " code { "If-Match" } ". If the page was changed since, the response is 412 " a href="/problems/revision-mismatch" { code { "revision-mismatch" } } "." }
            li { b { "Retries." } " " code { "Idempotency-Key" } " makes a POST safe to send again for 24 hours." }
            li { b { "Dry run." } " " code { "?dry_run=true" } " checks a write and stores nothing." }
            li { b { "Limits." } " 25 pages, and 1,000 calls in any hour, for each account." }
        }
        p { "Store an image of your own. The body is the file, and the " code { "url" } " of the response stands wherever a page has an image:" }
        (source.example("upload_image"))
        p { "List your pages:" }
        (source.example("list_pages"))
    }
}

pub(super) fn products(source: &Source<'_>) -> Markup {
    html! {
        p { "Give a page the address of a shop's product feed. Its products appear on the page and stay up to date. The format is found from the content: Google Merchant Center, Shopify, WooCommerce, CSV or JSON." }
        (source.example("create_product_source"))
        p { "The feed is fetched immediately, and then every 6 hours. To change a product within seconds, enable " code { "push" } " and send the change, signed with the secret of the source:" }
        (written([
            include_str!("code/push.sh"),
            include_str!("code/push.mjs"),
            include_str!("code/push.py"),
            include_str!("code/push.rs"),
            include_str!("code/push.go"),
        ]))
    }
}

pub(super) fn analytics(source: &Source<'_>) -> Markup {
    html! {
        p { "One call returns a whole dashboard: totals, a series, and groups. Any key of the account works, on any plan." }
        (source.example("read_analytics"))
        ul {
            li { "Numbers are exact counts, not samples, without cookies and without bots. The response names what is estimated, late or missing." }
            li { code { "format=csv" } " returns one table." }
            li { "Filters are parameters with the name of a group: " code { "country=DE,AT" } ", or " code { "-DE" } " for all others." }
            li { "Visitors are counted by UTC day, so the visitors of hours, links or countries do not add up to the total." }
        }
        p { "The last five minutes:" }
        (source.example("read_live_analytics"))
    }
}

pub(super) fn webhooks(source: &Source<'_>) -> Markup {
    html! {
        p { "Have events of your pages sent to your server. Create a webhook, keep the " code { "secret" } " of the response, have a test event sent, and see how it went. Each step takes the id from the response to the first:" }
        (written([
            include_str!("code/hook.sh"),
            include_str!("code/hook.mjs"),
            include_str!("code/hook.py"),
            include_str!("code/hook.rs"),
            include_str!("code/hook.go"),
        ]))
        ol {
            li { "Verify the signature over the raw bytes. The libraries of " a href="https://www.standardwebhooks.com" { "Standard Webhooks" } " do it, or this code." }
            li { "Store the event, respond with any 2xx within 15 seconds, and process it afterwards." }
            li { "Drop duplicates: the " code { "id" } " of an event is the same on every attempt." }
        }
        (written([
            include_str!("code/verify.sh"),
            include_str!("code/verify.mjs"),
            include_str!("code/verify.py"),
            include_str!("code/verify.rs"),
            include_str!("code/verify.go"),
        ]))
        p { "A receiver behind a firewall reads the event log instead:" }
        (source.example("list_events"))
    }
}

pub(super) fn administration(source: &Source<'_>) -> Markup {
    html! {
        p { "These calls carry the admin secret as " code { "Authorization: Bearer" } ". Read what visitors have reported, then suspend a page or an account. Either can be restored." }
        (source.example("list_reports"))
        (source.example("suspend_page"))
    }
}
