//! What a request counts as.

use super::event::{Dimension, Event, EventKind};
use crate::{
    key::KeyId,
    page::PageId,
    time::UnixMillis,
    visitor::{Agent, Referral, Utm, is_speculative, language, opts_out},
};

/// What a visitor did, as the response tells it.
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
    #[must_use]
    pub const fn new(account: KeyId, page: PageId, kind: EventKind) -> Self {
        Self { account, page, kind, target: None, qr_code: None, number: 0 }
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
    let event = Event::new(request.at, occurrence.kind);
    let reason = ignored(request, &agent);
    if !reason.is_empty() {
        return (event.with(Dimension::Ignored, reason), false);
    }
    if occurrence.kind == EventKind::Confirm {
        return (Event { visitor: occurrence.number, ..event }, false);
    }
    let utm = Utm::read(request.query);
    let referral = Referral::read(
        header("referer"),
        request.own_host,
        &agent,
        &utm,
        is_from_code(occurrence, request.query),
    );
    let optional = [
        (Dimension::Target, occurrence.target.clone()),
        (Dimension::QrCode, occurrence.qr_code.clone()),
        (Dimension::Referrer, referral.referrer),
        (Dimension::Source, referral.source),
        (Dimension::Country, request.country.and_then(country)),
        (Dimension::Language, language(header("accept-language"))),
        (Dimension::UtmSource, utm.source),
        (Dimension::UtmMedium, utm.medium),
        (Dimension::UtmCampaign, utm.campaign),
        (Dimension::UtmTerm, utm.term),
        (Dimension::UtmContent, utm.content),
    ];
    let known = [
        (Dimension::Channel, referral.channel.as_str()),
        (Dimension::Device, agent.device.as_str()),
        (Dimension::Browser, agent.browser.unwrap_or_default()),
        (Dimension::Os, agent.os.unwrap_or_default()),
    ];
    let event = known.into_iter().fold(event, |event, (dimension, value)| event.with(dimension, value));
    let event = optional.into_iter().fold(event, |event, (dimension, value)| match value {
        Some(value) => event.with(dimension, value),
        None => event,
    });
    (event, !opts_out(header))
}

/// Returns why the request does not count; an empty text if it does. The first reason wins.
fn ignored<'a, H: Fn(&str) -> Option<&'a str> + Copy>(request: &Request<'a, H>, agent: &Agent) -> String {
    if request.method == "HEAD" {
        return "head".to_owned();
    }
    if is_speculative(request.header) {
        return "prefetch".to_owned();
    }
    if has_parameter(request.query, "notrack") {
        return "own".to_owned();
    }
    agent.bot.map(|class| format!("bot:{}", class.as_str())).unwrap_or_default()
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
    (is_code && text != "XX").then(|| text.to_ascii_uppercase())
}
