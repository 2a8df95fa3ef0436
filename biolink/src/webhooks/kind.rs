//! The kinds of webhooks.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::events::EventKind;

/// A kind of webhook: the `type` of its envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum WebhookKind {
    /// A page was opened.
    PageView,
    /// A link or a product was followed.
    Click,
    /// A QR code was scanned.
    QrScan,
    /// A revision of a page went live.
    PagePublished,
    /// A part of a key's calls of the day is used.
    QuotaThreshold,
    /// A call of a key was refused for want of quota.
    QuotaExceeded,
    /// A key or a secret of it expires soon.
    KeyExpiring,
    /// An endpoint fails, or was disabled because it failed.
    WebhookFailing,
}

shared::named!(WebhookKind);

/// The subject of a kind, which decides how its deliveries are treated.
#[derive(Clone, Copy)]
enum Subject {
    Visit,
    Page,
    Account,
}

/// A set of kinds. In JSON it is an array of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<WebhookKind>", into = "Vec<WebhookKind>")]
pub struct KindSet(Bits);

/// A bit for each kind.
type Bits = u16;

// A shift by too many bits is checked in debug builds only: a kind too many would be taken for another.
const _: () = assert!(WebhookKind::ALL.len() <= Bits::BITS as usize, "KindSet needs a bit for each kind");

impl WebhookKind {
    /// Every kind once, in the order of the codes.
    pub const ALL: [Self; Self::VARIANTS.len()] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the kind of what a visitor did; `None` if it gives no webhook.
    pub const fn of(kind: EventKind) -> Option<Self> {
        match kind {
            EventKind::View => Some(Self::PageView),
            EventKind::Click => Some(Self::Click),
            EventKind::Scan => Some(Self::QrScan),
            EventKind::Confirm => None,
        }
    }

    /// Returns true if a visitor causes it, not the owner. Visits are dropped first when too many
    /// deliveries wait.
    pub const fn is_visit(self) -> bool {
        matches!(self.subject(), Subject::Visit)
    }

    /// Returns true if it is about the account, and not about a page.
    pub const fn is_alert(self) -> bool {
        matches!(self.subject(), Subject::Account)
    }

    /// Returns the names of all kinds, as errors list them.
    pub fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    const fn subject(self) -> Subject {
        match self {
            Self::PageView | Self::Click | Self::QrScan => Subject::Visit,
            Self::PagePublished => Subject::Page,
            Self::QuotaThreshold | Self::QuotaExceeded | Self::KeyExpiring | Self::WebhookFailing => {
                Subject::Account
            }
        }
    }

    const fn bit(self) -> Bits {
        1 << self as u32
    }
}

impl KindSet {
    /// The set without a kind.
    pub const EMPTY: Self = Self(0);

    /// Returns the set of every kind.
    pub fn all() -> Self {
        WebhookKind::ALL.into_iter().collect()
    }

    /// Returns the set with one more kind.
    #[must_use]
    pub const fn with(self, kind: WebhookKind) -> Self {
        Self(self.0 | kind.bit())
    }

    /// Returns the kinds of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if it has the kind.
    pub const fn has(self, kind: WebhookKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Returns true if it has no kind.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns its kinds that pages cause.
    #[must_use]
    pub fn of_pages(self) -> Self {
        self.iter().filter(|kind| !kind.is_alert()).collect()
    }

    /// Returns its kinds.
    pub fn iter(self) -> impl Iterator<Item = WebhookKind> {
        WebhookKind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }
}

impl FromIterator<WebhookKind> for KindSet {
    fn from_iter<I: IntoIterator<Item = WebhookKind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl From<Vec<WebhookKind>> for KindSet {
    fn from(kinds: Vec<WebhookKind>) -> Self {
        kinds.into_iter().collect()
    }
}

impl From<KindSet> for Vec<WebhookKind> {
    fn from(kinds: KindSet) -> Self {
        kinds.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use shared::json;

    use super::*;

    #[test]
    fn kind_has_the_name_of_its_event() {
        for kind in EventKind::ALL {
            let webhook = WebhookKind::of(kind);
            assert_eq!(webhook.is_none(), kind == EventKind::Confirm);
            assert!(webhook.is_none_or(|webhook| webhook.as_str() == kind.as_str() && webhook.is_visit()));
        }
        for kind in WebhookKind::ALL {
            assert_eq!(kind.as_str().parse::<WebhookKind>(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert_eq!("view_confirmed".parse::<WebhookKind>().ok(), None);
    }

    #[test]
    fn set_is_an_array_of_names() {
        let set = KindSet::EMPTY.with(WebhookKind::QrScan).with(WebhookKind::Click);
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(text, r#"["click","qr_scan"]"#);
        assert_eq!(json::from_str::<KindSet>(&text), Ok(set));
        assert!(json::from_str::<KindSet>(r#"["clicks"]"#).is_err());
        assert!(set.has(WebhookKind::Click) && !set.has(WebhookKind::PageView));
        assert_eq!(KindSet::all().iter().collect::<Vec<_>>(), WebhookKind::ALL);
        let of_pages = KindSet::all().of_pages();
        assert!(of_pages.has(WebhookKind::PagePublished) && !of_pages.has(WebhookKind::WebhookFailing));
        assert!(KindSet::EMPTY.is_empty() && !set.is_empty());
        assert_eq!(set.union(KindSet::EMPTY.with(WebhookKind::PageView)).iter().count(), 3);
    }
}
