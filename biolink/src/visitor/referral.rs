//! Where a visit came from.

mod campaign;
mod sources;

use super::{Agent, Channel, Utm};
use campaign::Named;
use sources::Source;

/// The origin of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referral {
    /// The host of the page before, in lower case and without `www.`, or the package of an app on
    /// Android.
    pub referrer: Option<String>,
    /// The name of the site, app or campaign, for example `Instagram`. The host if it has no name.
    pub source: Option<String>,
    /// The kind of way.
    pub channel: Channel,
}

impl Referral {
    /// Reads the `Referer` header, the campaign and the app. A referrer on the page's host does not count.
    ///
    /// The campaign comes before the referrer, and the referrer before the app, as in Plausible. A
    /// visit by QR code (`via_qr`) has that channel whatever else it says.
    ///
    /// ```
    /// use biolink::visitor::{Agent, Channel, Referral, Utm};
    ///
    /// let agent = Agent::read(Some("Mozilla/5.0 (Windows NT 10.0; rv:127.0) Gecko/20100101 Firefox/127.0"));
    /// let referral = Referral::read(Some("https://www.google.de/"), None, &agent, &Utm::default(), false);
    /// assert_eq!(referral.referrer.as_deref(), Some("google.de"));
    /// assert_eq!(referral.source.as_deref(), Some("Google"));
    /// assert_eq!(referral.channel, Channel::Search);
    /// ```
    pub fn read(
        referer: Option<&str>,
        own_host: Option<&str>,
        agent: &Agent,
        utm: &Utm,
        via_qr: bool,
    ) -> Self {
        let own = own_host.and_then(host_of);
        let referrer =
            referer.and_then(Referrer::parse).filter(|referrer| Some(&referrer.host) != own.as_ref());
        let campaign = utm.source.as_deref().map(|named| (named, Named::read(named)));
        let is_ad = matches!(campaign, Some((_, Some(Named { is_ad: true, .. }))));
        let (name, known) = match (campaign, &referrer) {
            (Some((text, named)), _) => (Some(text), named.map(|named| named.source)),
            (None, Some(referrer)) => (Some(referrer.host.as_str()), referrer.source()),
            (None, None) => (agent.app, agent.app.map(Source::of_app)),
        };
        let source = known.map(|source| source.name).or(name).map(str::to_owned);
        let channel = match (via_qr, campaign::channel_of(utm, known, is_ad), known, name) {
            (true, ..) => Channel::Qr,
            (false, Some(channel), ..) => channel,
            (false, None, Some(source), _) => source.channel,
            (false, None, None, Some(_)) => Channel::Referral,
            (false, None, None, None) => Channel::Direct,
        };
        Self { referrer: referrer.map(|referrer| referrer.host), source, channel }
    }
}

/// A `Referer` header.
struct Referrer {
    host: String,
    is_app: bool,
}

impl Referrer {
    fn parse(referer: &str) -> Option<Self> {
        let (scheme, rest) = referer.trim().split_once("://")?;
        let is_app = scheme.eq_ignore_ascii_case("android-app");
        if !is_app && !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?;
        Some(Self { host: host_of(host)?, is_app })
    }

    fn source(&self) -> Option<Source> {
        if self.is_app { Source::of_package(&self.host) } else { Source::of_host(&self.host) }
    }
}

/// Returns a host in lower case, without `www.`, the port and a dot at its end. `None` if it is not
/// a name or IPv4 address.
fn host_of(authority: &str) -> Option<String> {
    let host = authority.split(':').next()?.trim_end_matches('.').to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    ((1..=253).contains(&host.len()) && host.bytes().all(is_host)).then(|| host.to_owned())
}

#[cfg(test)]
mod tests;
