//! Reports of pages by visitors: what is kept of them, and how many are taken.
//!
//! One object keeps all of them. It stores nothing about who sent one but a [`bucket`] that the
//! address falls into on that day, which thousands of other addresses share.

use crate::codes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::{
    caller::{bucket, network_bucket},
    key::KeyId,
    problem::Problem,
    query::{self, not_a_cursor, parameters},
    response::Response,
    secret::MacKeys,
    time::UnixMillis,
};

use super::list::read_limit;
use crate::{
    page::{AbuseReport, PageId, Slug},
    route::VisitPart,
};

/// The largest body of a report, in bytes: its details with every byte percent-encoded.
pub const MAX_REPORT_BODY: usize = 16_384;
/// Reports of one page that are taken from one bucket of addresses in [`REPORT_WINDOW_MS`].
pub const REPORTS_PER_SENDER: u64 = 3;
/// The window of [`REPORTS_PER_SENDER`], in milliseconds: a day.
pub const REPORT_WINDOW_MS: u64 = 86_400_000;
/// Reports of one page by one network, a /24 or a /48, that are kept. A new one replaces the oldest.
pub const REPORTS_PER_NETWORK: u64 = 3;
/// Reports of one page that are kept. A new one replaces the oldest but [`FIRST_REPORTS`].
pub const REPORTS_PER_PAGE: u64 = 100;
/// The first reports of a page, which no later one replaces: a flood cannot erase what was said before.
pub const FIRST_REPORTS: u64 = 20;
/// Reports of all pages that are kept. A new one replaces the oldest that the operator has read. If
/// none was read, it is not kept.
pub const MAX_REPORTS: u64 = 50_000;
/// Time for which a report is kept, in milliseconds: 180 days.
pub const REPORT_KEEP_MS: u64 = 180 * 86_400_000;

/// A message to the object that keeps the reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportsMessage {
    /// Keep a report. The reply is `true`, or `false` if the sender has sent too many.
    Add {
        /// The page.
        page: PageId,
        /// The bucket of the sender: its upper byte is the network's, its lower byte the address's.
        sender: u16,
        /// Reports of the page that an isolate has only counted before this one.
        #[serde(default)]
        more: u32,
        /// The report as JSON, without `id`.
        report: String,
    },
    /// List reports, the newest first. The reply is a JSON array of objects with `id`, `at`,
    /// `account`, `page`, `slug`, `reason`, `details` and `more`. All but one in excess count as read.
    List {
        /// Reports of this page only.
        page: Option<PageId>,
        /// Reports with a lower `id` only.
        before: Option<u64>,
        /// Reports at most.
        limit: u64,
    },
}

/// Who sends a report, as the isolate knows it.
#[derive(Clone, Copy, Debug)]
pub struct ReportSender<'a> {
    /// The address of the client, if it is known.
    pub address: Option<&'a str>,
    /// Reports of the page that the isolate has only counted before.
    pub more: u32,
}

impl ReportsMessage {
    /// Returns the message that has a report kept.
    pub fn add(
        (account, page): (KeyId, PageId),
        slug: &Slug,
        report: &AbuseReport,
        sender: ReportSender<'_>,
        keys: &MacKeys,
        now: UnixMillis,
    ) -> Self {
        // With page and day, so that a bucket cannot be followed from one page or day to the next.
        let scope = format!("report {page} {:?}", now.day());
        let kept = json!({
            "at": now.to_rfc3339(),
            "account": account,
            "page": page,
            "slug": slug,
            "reason": report.reason.as_str(),
            "details": report.details,
        });
        Self::Add {
            page,
            sender: network_bucket(sender.address, &scope, keys) & 0xff00
                | bucket(sender.address, &scope, keys) & 0x00ff,
            more: sender.more,
            report: kept.to_string(),
        }
    }
}

/// A request of the operator for a part of the reports, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportsQuery {
    page: Option<PageId>,
    before: Option<u64>,
    limit: usize,
}

impl ReportsQuery {
    /// Reads the query: `limit` (1 to 100), `cursor` and `page`.
    ///
    /// # Errors
    /// Returns `fields-invalid`.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut read = Self { page: None, before: None, limit: 50 };
        for (name, value) in parameters(query)? {
            match name {
                "cursor" if value.is_empty() => {}
                "cursor" => {
                    let before = value.parse().ok().filter(|before| *before < 1 << 53);
                    read.before = Some(before.ok_or_else(not_a_cursor)?);
                }
                "page" => {
                    let page = PageId::parse(&value);
                    read.page = Some(page.ok_or_else(|| query::invalid("page must be the id of a page"))?);
                }
                "limit" => read.limit = read_limit(&value)?,
                _ => {
                    return Err(query::unknown_parameter(name, "cursor, limit and page"));
                }
            }
        }
        Ok(read)
    }

    /// Returns the message for it. It asks for one report more, which shows whether there is a next
    /// page.
    #[must_use]
    pub fn message(&self) -> ReportsMessage {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX).saturating_add(1);
        ReportsMessage::List { page: self.page, before: self.before, limit }
    }

    /// Returns the response, given the reply to the message.
    ///
    /// # Errors
    /// Returns `internal` if the reply is not a list.
    pub fn response(&self, reply: &str) -> Result<Response, Problem> {
        let unreadable = |_| Problem::new(codes::INTERNAL, "the stored reports cannot be read");
        let mut reports: Vec<Value> = serde_json::from_str(reply).map_err(unreadable)?;
        let has_more = reports.len() > self.limit;
        reports.truncate(self.limit);
        let last = reports.last().filter(|_| has_more).and_then(|report| report.get("id")?.as_u64());
        let cursor = last.map(|id| id.to_string());
        Ok(Response::json(json!({ "reports": reports, "cursor": cursor }).to_string()))
    }
}

/// Returns what a visit gets, given its `Sec-Fetch-Site`. A report that a page of another site sends
/// gets the form, because otherwise any site could have its visitors report a page.
#[must_use]
pub fn report_part(part: VisitPart, site: Option<&str>) -> VisitPart {
    match (part, site) {
        (VisitPart::Report, Some("cross-site" | "same-site")) => VisitPart::ReportForm,
        (part, _) => part,
    }
}

/// Returns the refusal of a sender who has reported a page too often.
pub fn reports_exceeded() -> Problem {
    let detail = "this page was reported several times from your network today; the reports are kept";
    Problem::new(codes::TOO_MANY_REQUESTS, detail).retry_after(REPORT_WINDOW_MS / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ReportsQuery, Problem> {
        ReportsQuery::read(Some(query))
    }

    #[test]
    fn list_is_asked_for_by_cursor_limit_and_page() {
        let page = PageId::new([1; 12]);
        let asked = read(&format!("limit=7&cursor=42&page={page}")).unwrap().message();
        assert_eq!(asked, ReportsMessage::List { page: Some(page), before: Some(42), limit: 8 });
        let all = ReportsMessage::List { page: None, before: None, limit: 51 };
        assert_eq!(ReportsQuery::read(None).unwrap().message(), all);
        assert_eq!(read("cursor=").unwrap().message(), all);
        for query in
            ["limit=0", "limit=101", "cursor=x", "cursor=-1", "cursor=9007199254740992", "page=ada", "q=a"]
        {
            assert_eq!(read(query).unwrap_err().code(), codes::FIELDS_INVALID, "{query}");
        }
    }

    #[test]
    fn report_is_kept_without_its_sender() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let (account, page, slug) = (KeyId::new([1; 12]), PageId::new([2; 12]), Slug::parse("ada").unwrap());
        let report = AbuseReport::parse("reason=phishing&details=see+it").unwrap();
        let now = UnixMillis(1_795_000_000_000);
        let added = |address, now| {
            let sender = ReportSender { address, more: 3 };
            match ReportsMessage::add((account, page), &slug, &report, sender, &keys, now) {
                ReportsMessage::Add { sender, more: 3, report, .. } => (sender, report),
                other => panic!("{other:?}"),
            }
        };
        let (sender, kept) = added(Some("192.0.2.7"), now);
        let expected = json!({"at": now.to_rfc3339(), "account": account, "page": page, "slug": "ada", "reason": "phishing", "details": "see it"});
        assert_eq!(kept.parse::<Value>().unwrap(), expected);
        let (neighbor, next_day) =
            (added(Some("192.0.2.8"), now).0, added(Some("192.0.2.7"), now.plus(REPORT_WINDOW_MS)).0);
        assert_eq!(
            (neighbor & 0xff00, neighbor & 0xff == sender & 0xff),
            (sender & 0xff00, false),
            "one network"
        );
        assert_ne!(next_day, sender, "another day has other buckets");
        let refused = reports_exceeded();
        assert_eq!((refused.status(), refused.code()), (429, codes::TOO_MANY_REQUESTS));
    }

    #[test]
    fn report_from_another_site_gets_the_form() {
        for (site, part) in [
            (Some("cross-site"), VisitPart::ReportForm),
            (Some("same-site"), VisitPart::ReportForm),
            (Some("same-origin"), VisitPart::Report),
            (None, VisitPart::Report),
        ] {
            assert_eq!(report_part(VisitPart::Report, site), part, "{site:?}");
        }
        assert_eq!(report_part(VisitPart::Page, Some("cross-site")), VisitPart::Page);
    }

    #[test]
    fn cursor_is_given_while_there_is_more() {
        let query = read("limit=2").unwrap();
        let body = |reply: &str| query.response(reply).map(|response| response.body);
        let more = body(r#"[{"id":9},{"id":7},{"id":3}]"#).unwrap();
        assert_eq!(more, r#"{"cursor":"7","reports":[{"id":9},{"id":7}]}"#);
        assert_eq!(
            body(r#"[{"id":9},{"id":7}]"#).unwrap(),
            r#"{"cursor":null,"reports":[{"id":9},{"id":7}]}"#
        );
        assert!(body("{").is_err());
    }
}
