//! What a visitor did.

use std::borrow::Cow;

use shared::time::UnixMillis;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A page was opened.
    View,
    /// A link or a product of a page was followed.
    Click,
    /// A QR code of a page was scanned.
    Scan,
    /// A page was laid out: its single-use image was fetched. The event's visitor is the number of the
    /// image instead, so that each image counts once.
    Confirm,
}

/// A property of an event by which events are grouped and filtered. Each is a column of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`as_str` says what each one is")]
pub enum Dimension {
    /// The id of the link or the product that was followed.
    Target,
    /// The QR code that was scanned.
    QrCode,
    /// The host that the visitor came from.
    Referrer,
    /// The app or site that the visitor came from, by name.
    Source,
    Channel,
    /// ISO 3166-1, two letters.
    Country,
    Device,
    Browser,
    Os,
    /// A primary language subtag (RFC 5646).
    Language,
    UtmSource,
    UtmMedium,
    UtmCampaign,
    UtmTerm,
    UtmContent,
    /// Why the event is not counted: `head`, `prefetch`, `preview`, `own`, `flood`, or `bot:` and the
    /// class. Empty for one that is counted.
    Ignored,
}

/// The values of an event's dimensions, in the order of [`Dimension::ALL`]. An empty text is none.
pub type Values = [Cow<'static, str>; Dimension::COUNT];

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The moment. Stores keep whole seconds.
    pub at: UnixMillis,
    /// The kind.
    pub kind: EventKind,
    /// The visitor's number on this page and UTC day; 0 is none.
    pub visitor: u64,
    /// The dimensions.
    pub values: Values,
}

impl EventKind {
    /// Every kind once, in the order of the codes.
    pub const ALL: [Self; 4] = [Self::View, Self::Click, Self::Scan, Self::Confirm];

    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::View => "page_view",
            Self::Click => "click",
            Self::Scan => "qr_scan",
            Self::Confirm => "view_confirmed",
        }
    }

    /// Returns the code, which is stored.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::View => 0,
            Self::Click => 1,
            Self::Scan => 2,
            Self::Confirm => 3,
        }
    }

    /// Returns the kind with this code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::View),
            1 => Some(Self::Click),
            2 => Some(Self::Scan),
            3 => Some(Self::Confirm),
            _ => None,
        }
    }
}

impl Dimension {
    /// The number of dimensions.
    pub const COUNT: usize = 16;
    /// Every dimension once, in the order of the columns.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Target,
        Self::QrCode,
        Self::Referrer,
        Self::Source,
        Self::Channel,
        Self::Country,
        Self::Device,
        Self::Browser,
        Self::Os,
        Self::Language,
        Self::UtmSource,
        Self::UtmMedium,
        Self::UtmCampaign,
        Self::UtmTerm,
        Self::UtmContent,
        Self::Ignored,
    ];

    /// Returns the name of its column.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::QrCode => "qr_code",
            Self::Referrer => "referrer",
            Self::Source => "source",
            Self::Channel => "channel",
            Self::Country => "country",
            Self::Device => "device",
            Self::Browser => "browser",
            Self::Os => "os",
            Self::Language => "language",
            Self::UtmSource => "utm_source",
            Self::UtmMedium => "utm_medium",
            Self::UtmCampaign => "utm_campaign",
            Self::UtmTerm => "utm_term",
            Self::UtmContent => "utm_content",
            Self::Ignored => "ignored",
        }
    }

    /// Returns its place in [`Dimension::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl Event {
    /// Returns an event without a visitor and without values.
    #[must_use]
    pub const fn new(at: UnixMillis, kind: EventKind) -> Self {
        Self { at, kind, visitor: 0, values: [const { Cow::Borrowed("") }; Dimension::COUNT] }
    }

    /// Returns the event with a value. At most 100 characters of it are kept.
    #[must_use]
    pub fn with(mut self, dimension: Dimension, value: impl Into<Cow<'static, str>>) -> Self {
        let value = value.into();
        if let Some(place) = self.values.get_mut(dimension.index()) {
            *place = match value.char_indices().nth(MAX_VALUE) {
                Some((end, _)) => value.get(..end).unwrap_or_default().to_owned().into(),
                None => value,
            };
        }
        self
    }

    /// Returns the value of a dimension; an empty text is none.
    #[must_use]
    pub fn value(&self, dimension: Dimension) -> &str {
        self.values.get(dimension.index()).map_or("", |value| value)
    }

    /// Returns the event with the number of its visitor. A confirmed view keeps that of its image.
    #[must_use]
    pub fn with_visitor(self, visitor: u64) -> Self {
        match self.kind {
            EventKind::Confirm => self,
            EventKind::View | EventKind::Click | EventKind::Scan => Self { visitor, ..self },
        }
    }

    /// Returns true if it counts.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.value(Dimension::Ignored).is_empty()
    }
}

/// The longest value of a dimension, in characters.
const MAX_VALUE: usize = 100;
