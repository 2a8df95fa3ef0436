//! The event that a request is.

use std::borrow::Cow;

use shared::{key::KeyId, time::UnixMillis};

use super::event::{Dimension, Event, EventKind};
use crate::{
    page::{PageId, Via},
    visitor::{Agent, Referral, Utm, is_speculative, language, opts_out},
};

/// An act of a visitor, as far as it follows from the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The page's account.
    pub account: KeyId,
    /// The page.
    pub page: PageId,
    /// The kind.
    pub kind: EventKind,
    /// The link or product that was followed.
    pub target: Option<String>,
    /// The QR code that was scanned.
    pub qr_code: Option<String>,
    /// The short link or QR code by which the visitor came, if the path names it.
    pub via: Option<Via>,
    /// The target that was chosen, for a link that has several.
    pub variant: Option<String>,
    /// The number of the single-use image, for [`EventKind::Confirm`].
    pub number: u64,
}

/// The request of a visitor.
#[derive(Clone, Copy)]
pub struct Request<'a, H> {
    /// The method.
    pub method: &'a str,
    /// Returns a header by its name in lower case.
    pub header: H,
    /// The query of the target.
    pub query: Option<&'a str>,
    /// The host that serves pages, without a port.
    pub own_host: Option<&'a str>,
    /// The country, as ISO 3166-1 has it.
    pub country: Option<&'a str>,
    /// The moment.
    pub at: UnixMillis,
}

impl Occurrence {
    /// Returns something that happened on a page.
    pub const fn new(account: KeyId, page: PageId, kind: EventKind) -> Self {
        Self { account, page, kind, target: None, qr_code: None, via: None, variant: None, number: 0 }
    }

    /// Returns the event that is not counted for this reason: with what it happened to, and no more.
    pub fn ignored(&self, at: UnixMillis, reason: impl Into<Cow<'static, str>>) -> Event {
        self.event(at).with(Dimension::Ignored, reason)
    }

    /// Returns the event with what it happened to.
    fn event(&self, at: UnixMillis) -> Event {
        let named = [(Dimension::Target, self.target.clone()), (Dimension::QrCode, self.qr_code.clone())];
        with_some(Event::new(at, self.kind), named)
    }
}

/// Returns the event, and whether the visitor's number may be added to it: not if the visitor objects
/// to that (`Sec-GPC`), and not if the event is not counted.
pub fn observe<'a, H>(occurrence: &Occurrence, request: &Request<'a, H>) -> (Event, bool)
where
    H: Fn(&str) -> Option<&'a str> + Copy,
{
    let header = request.header;
    let agent = Agent::read(header("user-agent"));
    let reason = ignored(occurrence.kind, request, &agent);
    if !reason.is_empty() {
        // Nothing of the visitor: what does not count is not worth a trace of anybody.
        return (occurrence.ignored(request.at, reason), false);
    }
    let event = occurrence.event(request.at);
    if occurrence.kind == EventKind::Confirm {
        // A confirmation is no view: with the values of one, each view would count twice in each
        // dimension.
        return (Event { visitor: occurrence.number, ..event }, !opts_out(header));
    }
    let utm = Utm::read(request.query);
    let via = occurrence.via.or_else(|| Via::of_query(request.query));
    let referral = Referral::read(
        header("referer"),
        request.own_host,
        &agent,
        &utm,
        is_from_code(occurrence, request.query),
    );
    // A click comes from the page. Unless its own address or another site says more, its store gives it
    // the origin of the visitor's last view.
    let has_origin = occurrence.kind != EventKind::Click
        || referral.referrer.is_some()
        || via.is_some()
        || [&utm.source, &utm.medium, &utm.campaign, &utm.term, &utm.content].iter().any(|it| it.is_some());
    let optional = [
        (Dimension::Referrer, referral.referrer),
        (Dimension::Source, referral.source.filter(|_| has_origin)),
        (Dimension::Country, request.country.and_then(country)),
        (Dimension::Language, language(header("accept-language"))),
        (Dimension::UtmSource, utm.source),
        (Dimension::UtmMedium, utm.medium),
        (Dimension::UtmCampaign, utm.campaign),
        (Dimension::UtmTerm, utm.term),
        (Dimension::UtmContent, utm.content),
        (Dimension::Via, via.map(|via| via.to_string())),
        (Dimension::Variant, occurrence.variant.clone()),
    ];
    let known = [
        (Dimension::Channel, if has_origin { referral.channel.as_str() } else { "" }),
        (Dimension::Device, agent.device.as_str()),
        (Dimension::Browser, agent.browser.unwrap_or_default()),
        (Dimension::Os, agent.os.unwrap_or_default()),
    ];
    let event = known.into_iter().fold(event, |event, (dimension, value)| event.with(dimension, value));
    (with_some(event, optional), !opts_out(header))
}

/// Returns why the request does not count; an empty text if it does. The first reason wins.
fn ignored<'a, H: Fn(&str) -> Option<&'a str> + Copy>(
    kind: EventKind,
    request: &Request<'a, H>,
    agent: &Agent,
) -> String {
    // Programs that check links send it, and no visitor.
    if request.method == "HEAD" {
        return "head".to_owned();
    }
    if is_speculative(request.header) {
        return "prefetch".to_owned();
    }
    if is_own_visit(request.query) {
        return "own".to_owned();
    }
    if is_embedded(kind, request) {
        return "embed".to_owned();
    }
    agent.bot.map(|class| format!("bot:{}", class.as_str())).unwrap_or_default()
}

/// Returns true if a page has the request sent, and no visitor: a page of any site can have an image or a
/// script of these addresses. A browser that opens one says `document` (Fetch Metadata), and with a ping
/// it sends the page's own origin.
fn is_embedded<'a, H: Fn(&str) -> Option<&'a str> + Copy>(kind: EventKind, request: &Request<'a, H>) -> bool {
    let header = request.header;
    if request.method == "POST" {
        let origin = header("origin").map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
        let host = origin.map(|origin| origin.rsplit_once(':').map_or(origin, |(host, _)| host));
        // A ping without an origin is of a browser that does not send one, and counts.
        return host.is_some_and(|host| request.own_host.is_none_or(|own| !own.eq_ignore_ascii_case(host)));
    }
    // The image of a confirmation is meant to be embedded. Browsers without the header are
    // believed.
    kind != EventKind::Confirm && header("sec-fetch-dest").is_some_and(|to| to != "document")
}

/// Returns true if the owner of the page made the request, and it is not to count.
pub fn is_own_visit(query: Option<&str>) -> bool {
    has_parameter(query, "notrack")
}

/// Returns the event with those values that there are.
fn with_some<const N: usize>(event: Event, values: [(Dimension, Option<String>); N]) -> Event {
    values.into_iter().fold(event, |event, (dimension, value)| match value {
        Some(value) => event.with(dimension, value),
        None => event,
    })
}

fn is_from_code(occurrence: &Occurrence, query: Option<&str>) -> bool {
    occurrence.kind == EventKind::Scan
        || query.is_some_and(|query| query.split('&').any(|pair| pair == "via=qr"))
}

fn has_parameter(query: Option<&str>, name: &str) -> bool {
    let names = query.into_iter().flat_map(|query| query.split('&'));
    names.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name)).any(|other| other == name)
}

/// Returns two letters. The platform's codes for an unknown country and for Tor are none.
fn country(text: &str) -> Option<String> {
    let is_code = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_code && !text.eq_ignore_ascii_case("XX")).then(|| text.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visitor::BotClass;

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
    const PERSON: (&str, &str) = (
        "user-agent",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
         Version/17.5 Mobile/15E148 Safari/604.1",
    );
    const BOT: (&str, &str) =
        ("user-agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)");

    fn occurrence(kind: EventKind) -> Occurrence {
        Occurrence::new(KeyId::new([1; 12]), PageId::new([2; 12]), kind)
    }

    /// Observes a request on `ada.example` from Nepal.
    fn observed(
        occurrence: &Occurrence,
        method: &str,
        query: Option<&str>,
        headers: &[(&'static str, &'static str)],
    ) -> (Event, bool) {
        let request = Request {
            method,
            header: |name: &str| headers.iter().find(|(own, _)| *own == name).map(|(_, value)| *value),
            query,
            own_host: Some("ada.example"),
            country: Some("NP"),
            at: NOW,
        };
        observe(occurrence, &request)
    }

    #[test]
    fn request_that_a_page_has_sent_does_not_count() {
        let ping = |origin: &'static str| {
            observed(&occurrence(EventKind::Click), "POST", None, &[PERSON, ("origin", origin)]).0
        };
        for kind in [EventKind::View, EventKind::Click, EventKind::Scan] {
            for (to, reason) in
                [("image", "embed"), ("empty", "embed"), ("iframe", "embed"), ("document", "")]
            {
                let (event, _) = observed(&occurrence(kind), "GET", None, &[PERSON, ("sec-fetch-dest", to)]);
                assert_eq!(event.value(Dimension::Ignored), reason, "{to}");
            }
        }
        let seen =
            observed(&occurrence(EventKind::Confirm), "GET", None, &[PERSON, ("sec-fetch-dest", "image")]);
        assert!(seen.0.is_counted(), "the page's own image");
        for (origin, reason) in [
            ("https://ada.example", ""),
            ("https://ADA.example:8443", ""),
            ("https://evil.example", "embed"),
            ("https://ada.example.evil.example", "embed"),
            ("null", "embed"),
        ] {
            assert_eq!(ping(origin).value(Dimension::Ignored), reason, "{origin}");
        }
    }

    fn viewed(query: Option<&str>, headers: &[(&'static str, &'static str)]) -> (Event, bool) {
        observed(&occurrence(EventKind::View), "GET", query, headers)
    }

    /// Returns the values that an event has.
    fn values(event: &Event) -> Vec<(&'static str, &str)> {
        let values = Dimension::ALL.iter().map(|dimension| (dimension.as_str(), event.value(*dimension)));
        values.filter(|(_, value)| !value.is_empty()).collect()
    }

    #[test]
    fn view_has_a_value_in_each_of_its_dimensions() {
        let query =
            "utm_source=Spring+letter&utm_medium=email&utm_campaign=may&utm_term=shoes&utm_content=top";
        let headers = [
            PERSON,
            ("referer", "https://news.example.org/a/secret?token=1"),
            ("accept-language", "ne-NP,en;q=0.5"),
        ];
        let (event, is_numbered) = viewed(Some(query), &headers);
        assert_eq!((event.at, event.kind, event.visitor, is_numbered), (NOW, EventKind::View, 0, true));
        let expected = [
            ("referrer", "news.example.org"),
            ("source", "Spring letter"),
            ("channel", "email"),
            ("country", "NP"),
            ("device", "mobile"),
            ("browser", "Safari"),
            ("os", "iOS"),
            ("language", "ne"),
            ("utm_source", "Spring letter"),
            ("utm_medium", "email"),
            ("utm_campaign", "may"),
            ("utm_term", "shoes"),
            ("utm_content", "top"),
        ];
        assert_eq!(values(&event), expected);
    }

    #[test]
    fn request_that_says_little_has_few_values() {
        let (event, is_numbered) = viewed(None, &[("user-agent", "Mozilla/5.0 Something/1.0")]);
        assert_eq!(values(&event), [("channel", "direct"), ("country", "NP"), ("device", "other")]);
        assert!(is_numbered);
    }

    #[test]
    fn referrer_on_the_own_host_is_none() {
        let (event, _) = viewed(None, &[PERSON, ("referer", "https://ada.example/ada")]);
        let read = (event.value(Dimension::Referrer), event.value(Dimension::Channel));
        assert_eq!(read, ("", "direct"));
    }

    #[test]
    fn click_names_its_target_and_scan_its_code() {
        let click = Occurrence { target: Some("lnk_1".to_owned()), ..occurrence(EventKind::Click) };
        let (event, _) = observed(&click, "GET", None, &[PERSON]);
        assert_eq!((event.kind, event.value(Dimension::Target)), (EventKind::Click, "lnk_1"));
        let scan = Occurrence { qr_code: Some("k7f2".to_owned()), ..occurrence(EventKind::Scan) };
        let (event, _) = observed(&scan, "GET", None, &[PERSON]);
        let read = [Dimension::QrCode, Dimension::Channel].map(|dimension| event.value(dimension));
        assert_eq!((event.kind, read), (EventKind::Scan, ["k7f2", "qr"]));
    }

    #[test]
    fn view_after_a_scan_has_the_channel_qr() {
        let channel = |query| viewed(Some(query), &[PERSON]).0.value(Dimension::Channel).to_owned();
        assert_eq!(channel("utm_source=google&via=qr"), "qr");
        assert_eq!(channel("via=qrx"), "direct");
    }

    /// A request has every reason at first. Each step takes the one away that wins.
    #[test]
    fn first_reason_to_ignore_wins() {
        let reason = |method: &str, query, headers: &[_]| {
            let (event, is_numbered) = observed(&occurrence(EventKind::Click), method, query, headers);
            assert!(event.is_counted() || !is_numbered, "what is ignored has no number");
            event.value(Dimension::Ignored).to_owned()
        };
        let (prefetch, own) = (("sec-purpose", "prefetch"), Some("a=1&notrack"));
        assert_eq!(reason("HEAD", own, &[BOT, prefetch]), "head");
        assert_eq!(reason("GET", own, &[BOT, prefetch]), "prefetch");
        assert_eq!(reason("GET", own, &[BOT]), "own");
        assert_eq!(reason("GET", None, &[BOT]), "bot:search-engine");
        assert_eq!(reason("GET", None, &[]), "bot:library");
        assert_eq!(reason("GET", None, &[PERSON]), "");
        assert_eq!(reason("POST", None, &[PERSON]), "", "a ping");
    }

    #[test]
    fn parameter_notrack_is_found_by_its_whole_name() {
        let is_own = |query| viewed(Some(query), &[PERSON]).0.value(Dimension::Ignored) == "own";
        assert!(["notrack", "notrack=1", "a&notrack="].into_iter().all(is_own));
        assert!(!["", "notracking", "a=notrack", "NOTRACK"].into_iter().any(is_own));
    }

    #[test]
    fn speculative_request_is_ignored_by_any_of_its_headers() {
        for header in [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch"), ("x-moz", "prefetch")]
        {
            assert_eq!(viewed(None, &[PERSON, header]).0.value(Dimension::Ignored), "prefetch", "{header:?}");
        }
    }

    /// So a report can say how often programs followed each link.
    #[test]
    fn ignored_event_has_its_target_and_the_reason() {
        let click = Occurrence { target: Some("lnk_1".to_owned()), ..occurrence(EventKind::Click) };
        let headers = [BOT, ("referer", "https://news.example.org/"), ("accept-language", "ne")];
        let (event, _) = observed(&click, "GET", Some("utm_source=x"), &headers);
        let expected = format!("bot:{}", BotClass::SearchEngine.as_str());
        assert_eq!(values(&event), [("target", "lnk_1"), ("ignored", expected.as_str())]);
    }

    /// The number of the image takes the visitor's place, so that nothing else is known of it.
    #[test]
    fn confirmed_view_has_the_number_of_its_image_only() {
        let seen = Occurrence { number: 42, ..occurrence(EventKind::Confirm) };
        let (event, is_numbered) =
            observed(&seen, "GET", None, &[PERSON, ("referer", "https://ada.example/ada")]);
        assert_eq!((event.visitor, is_numbered, values(&event)), (42, true, Vec::new()));
        assert_eq!(event.with_visitor(7).visitor, 42);
        let (event, _) = observed(&seen, "GET", None, &[BOT]);
        assert_eq!((event.visitor, event.value(Dimension::Ignored)), (0, "bot:search-engine"));
    }

    #[test]
    fn visitor_who_opts_out_counts_without_a_number() {
        let (event, is_numbered) = viewed(None, &[PERSON, ("sec-gpc", "1")]);
        assert_eq!((event.is_counted(), is_numbered), (true, false));
        assert_eq!(event.value(Dimension::Browser), "Safari");
        assert!(viewed(None, &[PERSON, ("sec-gpc", "0")]).1);
    }

    #[test]
    fn country_is_two_letters_that_name_one() {
        let read = [("DE", Some("DE")), ("de", Some("DE")), ("XX", None), ("xx", None), ("T1", None)];
        let wrong = [("", None), ("D", None), ("DEU", None), ("\u{df}", None)];
        for (text, expected) in read.into_iter().chain(wrong) {
            assert_eq!(country(text).as_deref(), expected, "{text}");
        }
    }
}
