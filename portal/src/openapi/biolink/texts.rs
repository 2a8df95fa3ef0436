//! The texts of operations.

mod webhooks;

pub(super) use webhooks::{delivered_texts, webhooks_texts};

use biolink::route::{AdminEndpoint, PagesEndpoint};

/// What operations are listed under.
#[derive(Clone, Copy)]
pub(super) enum Tag {
    Pages,
    Links,
    Revisions,
    Products,
    Analytics,
    Webhooks,
    Events,
    Account,
    Administration,
    Description,
}

impl Tag {
    pub(super) const ALL: [Self; 10] = [
        Self::Pages,
        Self::Links,
        Self::Revisions,
        Self::Products,
        Self::Analytics,
        Self::Webhooks,
        Self::Events,
        Self::Account,
        Self::Administration,
        Self::Description,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Links => "links",
            Self::Revisions => "revisions",
            Self::Products => "products",
            Self::Analytics => "analytics",
            Self::Webhooks => "webhooks",
            Self::Events => "events",
            Self::Account => "account",
            Self::Administration => "administration",
            Self::Description => "description",
        }
    }

    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Pages => "Pages: drafts, and what visitors see.",
            Self::Links => "Single links of a page. They share the page's ETag and revisions.",
            Self::Revisions => "The last 10 revisions of a page, and the live one.",
            Self::Products => "Product sources: shops whose products appear on a page and stay up to date.",
            Self::Analytics => "What visitors do, counted without cookies and without bots.",
            Self::Webhooks => {
                "Your addresses that get events, by Standard Webhooks, and the deliveries to them."
            }
            Self::Events => {
                "The log of events that webhooks want, for receivers behind firewalls and for recovery."
            }
            Self::Account => "The account: its plan, what it has used, and all that it has stored.",
            Self::Administration => "The operator's calls against abuse, with the admin secret.",
            Self::Description => "The API's own description.",
        }
    }
}

/// The texts of an operation: its id, its summary, and more about it.
pub(super) struct Texts(
    pub(super) Tag,
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
);

#[allow(clippy::too_many_lines, reason = "a table with a row for each route")]
pub(super) const fn texts(endpoint: PagesEndpoint) -> Texts {
    use PagesEndpoint as E;
    match endpoint {
        E::List => Texts(
            Tag::Pages,
            "list_pages",
            "List pages",
            "The newest first, without their content. Filters are combined.",
        ),
        E::Create => Texts(
            Tag::Pages,
            "create_page",
            "Create a page",
            "Without `slug`, one is drawn. With `status` `published` visitors see the page at once. A dry run responds with 200.",
        ),
        E::Read => Texts(
            Tag::Pages,
            "read_page",
            "Read a page",
            "The page with the content of its newest revision, which visitors see once it is published.",
        ),
        E::Replace => Texts(
            Tag::Pages,
            "replace_page",
            "Replace a page",
            "What is left out gets its default. The slug stays if it is left out. A page may be sent back as it was read: read-only fields are ignored.",
        ),
        E::Patch => Texts(
            Tag::Pages,
            "patch_page",
            "Change a page",
            "A JSON Merge Patch (RFC 7396): what is left out stays, null resets a field, and an array replaces the one there is.",
        ),
        E::Delete => Texts(
            Tag::Pages,
            "delete_page",
            "Delete a page",
            "Visitors get 410. The slug is reserved for the account for 30 days.",
        ),
        E::Publish => Texts(
            Tag::Pages,
            "publish_page",
            "Publish a page",
            "Visitors see the newest revision. Nothing changes if they see it already.",
        ),
        E::Unpublish => Texts(
            Tag::Pages,
            "unpublish_page",
            "Take a page down",
            "Visitors get 410 until the page is published again.",
        ),
        E::Revisions => Texts(
            Tag::Revisions,
            "list_revisions",
            "List the revisions of a page",
            "The last 10 revisions and the live one, the newest first.",
        ),
        E::ReadRevision => {
            Texts(Tag::Revisions, "read_revision", "Read a revision", "The content as it was then.")
        }
        E::Restore => Texts(
            Tag::Revisions,
            "restore_revision",
            "Restore a revision",
            "Its content becomes the newest revision. The live page stays until the next publish.",
        ),
        E::AddLink => Texts(Tag::Links, "add_link", "Add a link", "The link comes last."),
        E::PatchLink => Texts(
            Tag::Links,
            "patch_link",
            "Change a link",
            "A JSON Merge Patch (RFC 7396): what is left out stays, and null resets a field.",
        ),
        E::DeleteLink => Texts(Tag::Links, "delete_link", "Delete a link", "The other links stay in order."),
        E::OrderLinks => Texts(
            Tag::Links,
            "order_links",
            "Order the links",
            "Takes the id of every link of the page once.",
        ),
        E::ListSources => Texts(
            Tag::Products,
            "list_product_sources",
            "List the product sources of a page",
            "A page has at most 3.",
        ),
        E::CreateSource => Texts(
            Tag::Products,
            "create_product_source",
            "Add a product source",
            "The feed is fetched at once, and then every 6 hours. Its products appear on the page, and a live page is published again. With `push`, the response shows the secret, once. A dry run responds with 200.",
        ),
        E::ReadSource => Texts(
            Tag::Products,
            "read_product_source",
            "Read a product source",
            "Its settings, and in `sync` how it is.",
        ),
        E::PatchSource => Texts(
            Tag::Products,
            "patch_product_source",
            "Change a product source",
            "A JSON Merge Patch (RFC 7396). The feed is fetched at once unless only `push` changed. A new secret is shown once.",
        ),
        E::DeleteSource => Texts(
            Tag::Products,
            "delete_product_source",
            "Delete a product source",
            "Its products leave the page, which is published again if it is live. With `keep_products` they stay, as if they were made by hand.",
        ),
        E::RefreshSource => Texts(
            Tag::Products,
            "refresh_product_source",
            "Fetch a feed now",
            "At most once in 15 minutes, and once a minute for a source with push. Applies a feed that was held, and restores products that were removed by hand.",
        ),
        E::SourceRuns => Texts(
            Tag::Products,
            "list_product_source_runs",
            "List the runs of a product source",
            "The last 50, the newest first: what the feed had, what could not be read, and what changed on the page.",
        ),
        E::Analytics => Texts(
            Tag::Analytics,
            "read_analytics",
            "Read analytics",
            "Totals, a series and groups of the pages' events, over at most the window of the plan. One call can have a whole dashboard. Lists are repeated, or have commas. For keys of every plan.",
        ),
        E::LiveAnalytics => Texts(
            Tag::Analytics,
            "read_live_analytics",
            "Read the last five minutes",
            "Views, visitors, clicks and scans, in total and minute by minute. For keys of every plan.",
        ),
        E::ResetAnalytics => Texts(
            Tag::Analytics,
            "reset_analytics",
            "Reset the analytics of a page",
            "Drops the page's events so far, for good. May be repeated.",
        ),
        E::Account => Texts(
            Tag::Account,
            "read_account",
            "Read the account",
            "Plan, pages and calls left. Free of charge, and for keys of every plan.",
        ),
        E::Export => Texts(
            Tag::Account,
            "export_account",
            "Export the account",
            "All that is stored, as one JSON object on each line: the account, the key, each page with its revisions. Without the last line, `{\"object\":\"end\"}`, it is not complete. For keys of every plan.",
        ),
        E::Erase => Texts(
            Tag::Account,
            "erase_account",
            "Erase what the account has stored",
            "All pages, revisions and stored responses, for good. Keys stay. Free of charge, and for keys of every plan.",
        ),
    }
}

pub(super) const fn admin_texts(endpoint: AdminEndpoint) -> Texts {
    use AdminEndpoint as E;
    let (id, summary, about) = match endpoint {
        E::ReadPage => ("admin_read_page", "Read a page as its operator", "A slug may stand for the id."),
        E::SuspendPage => (
            "suspend_page",
            "Suspend a page",
            "Links stop at once, and within 60 seconds visitors get 410 everywhere. The owner can read and edit the page.",
        ),
        E::RestorePage => (
            "restore_page",
            "End the suspension of a page",
            "The page is as it was. A page of a suspended account stays hidden.",
        ),
        E::ReadAccount => ("admin_read_account", "Read an account as its operator", "With all of its pages."),
        E::SuspendAccount => {
            ("suspend_account", "Suspend an account", "As each of its pages. It cannot publish others.")
        }
        E::RestoreAccount => (
            "restore_account",
            "End the suspension of an account",
            "Pages that are suspended themselves stay hidden.",
        ),
        E::ReadDeniedHosts => ("read_denied_hosts", "Read the deny list", "Hosts that no page may lead to."),
        E::ReplaceDeniedHosts => (
            "replace_denied_hosts",
            "Replace the deny list",
            "New links to these hosts, and to all below them, are refused. Links that exist lead to 410.",
        ),
        E::ListReports => (
            "list_reports",
            "List the reports of visitors",
            "The newest first. They are kept for 180 days and hold nothing about who sent them.",
        ),
    };
    Texts(Tag::Administration, id, summary, about)
}
