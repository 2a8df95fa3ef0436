//! What a campaign says of source and channel, by the rules of Plausible.

use super::sources::Source;
use crate::visitor::{Channel, Utm};

/// The source that `utm_source` names.
#[derive(Clone, Copy)]
pub(super) struct Named {
    pub(super) source: Source,
    /// Whether it names the advertisements of the source: `fb-ads`, `facebook_feed_ad`, `adwords`.
    pub(super) is_ad: bool,
}

impl Named {
    pub(super) fn read(utm_source: &str) -> Option<Self> {
        if let Some(source) = Source::of_name(utm_source) {
            return Some(Self { source, is_ad: utm_source.eq_ignore_ascii_case("adwords") });
        }
        let is_separator = |c: char| matches!(c, '_' | '-' | ' ');
        let stem = stem_of_ads(utm_source)?;
        let name = stem.trim_end_matches(is_separator);
        let first = if name == stem { name } else { stem.split(is_separator).next()? };
        let source = Source::of_name(name).or_else(|| Source::of_name(first))?;
        Some(Self { source, is_ad: true })
    }
}

/// Returns what precedes `ad` or `ads` at the end.
fn stem_of_ads(source: &str) -> Option<&str> {
    ["ads", "ad"].iter().find_map(|end| {
        let (stem, tail) = source.split_at_checked(source.len().checked_sub(end.len())?)?;
        tail.eq_ignore_ascii_case(end).then_some(stem)
    })
}

/// Returns the channel that the campaign decides. `None` if only the source does.
pub(super) fn channel_of(utm: &Utm, source: Option<Source>, is_ad: bool) -> Option<Channel> {
    if utm.source.is_none() && utm.medium.is_none() {
        return None;
    }
    let medium = utm.medium.as_deref().unwrap_or_default().to_ascii_lowercase();
    let named = utm.source.as_deref().unwrap_or_default().to_ascii_lowercase();
    let is_named = |names: &[&str]| names.contains(&named.as_str()) || names.contains(&medium.as_str());
    let known = source.map(|source| source.channel);
    let is_paid = medium.contains("cp")
        || medium.starts_with("paid")
        || matches!(medium.as_str(), "ppc" | "retargeting");
    match (medium.as_str(), known) {
        _ if is_named(&["qr", "qrcode", "qr-code", "qr_code", "qr code"]) => Some(Channel::Qr),
        (_, Some(Channel::Search)) if is_paid || is_ad => Some(Channel::PaidSearch),
        (_, Some(Channel::Social | Channel::Messaging)) if is_paid || is_ad => Some(Channel::PaidSocial),
        (_, Some(Channel::Video)) if is_paid || is_ad => Some(Channel::PaidVideo),
        ("display" | "banner" | "expandable" | "interstitial" | "cpm", _) => Some(Channel::Display),
        ("cross-network", _) => Some(Channel::Paid),
        _ if is_paid || is_ad => Some(Channel::Paid),
        ("social" | "social-network" | "social-media" | "sm" | "social network" | "social media", _) => {
            Some(Channel::Social)
        }
        ("organic", _) => Some(Channel::Search),
        ("affiliate" | "affiliates", _) => Some(Channel::Affiliate),
        ("audio" | "podcast", _) => Some(Channel::Audio),
        ("referral" | "app" | "link", None) => Some(Channel::Referral),
        _ if medium.contains("video") => Some(Channel::Video),
        _ if is_named(&["email", "e-mail", "e_mail", "e mail", "newsletter"]) => Some(Channel::Email),
        _ if is_named(&["sms"]) => Some(Channel::Messaging),
        _ if named == "firebase"
            || matches!(medium.as_str(), "mobile" | "notification")
            || medium.ends_with("push") =>
        {
            Some(Channel::Push)
        }
        _ => None,
    }
}
