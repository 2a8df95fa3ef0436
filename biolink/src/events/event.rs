//! What a visitor did.

use std::borrow::Cow;

use strum::{FromRepr, IntoStaticStr, VariantArray};

use shared::time::UnixMillis;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray, FromRepr)]
#[repr(u8)]
#[strum(serialize_all = "snake_case")]
pub enum EventKind {
    /// A page was opened.
    #[strum(serialize = "page_view")]
    View = 0,
    /// A link or a product of a page was followed.
    Click = 1,
    /// A QR code of a page was scanned.
    #[strum(serialize = "qr_scan")]
    Scan = 2,
    /// A page was laid out: its single-use image was fetched. The event's visitor is the number of the
    /// image instead, so that each image counts once.
    #[strum(serialize = "view_confirmed")]
    Confirm = 3,
}

/// A property of an event by which events are grouped and filtered. Each is a column of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "the names say what each one is")]
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
    /// The reason why the event is not counted: `head`, `prefetch`, `preview`, `own`, `embed`,
    /// `flood`, or `bot:` and the class. Empty for one that is counted.
    Ignored,
    /// The short link or QR code of the page by which the visitor came: its `via`.
    Via,
    /// The target that was chosen for a link that has several.
    Variant,
}

shared::named!(EventKind, Dimension);

/// The values of an event's dimensions, in the order of [`Dimension::ALL`]. An empty text means none.
pub type Values = [Cow<'static, str>; Dimension::COUNT];

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The moment. Stores keep whole seconds.
    pub at: UnixMillis,
    /// The kind.
    pub kind: EventKind,
    /// The visitor's number on this page and UTC day; 0 means none.
    pub visitor: u64,
    /// The dimensions.
    pub values: Values,
}

impl EventKind {
    /// Every kind once, in the order of the codes.
    pub const ALL: [Self; Self::VARIANTS.len()] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the code, which is stored.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the kind with this code.
    pub const fn from_code(code: u8) -> Option<Self> {
        Self::from_repr(code)
    }
}

impl Dimension {
    /// The number of dimensions.
    pub const COUNT: usize = 18;
    /// Every dimension once, in the order of the columns.
    pub const ALL: [Self; Self::COUNT] = *Self::VARIANTS.as_array().unwrap();

    /// Returns its place in [`Dimension::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl Event {
    /// Returns an event without a visitor and without values.
    pub const fn new(at: UnixMillis, kind: EventKind) -> Self {
        Self { at, kind, visitor: 0, values: [const { Cow::Borrowed("") }; Dimension::COUNT] }
    }

    /// Returns the event with a value. At most 100 characters of it are kept.
    #[must_use]
    pub fn with(mut self, dimension: Dimension, value: impl Into<Cow<'static, str>>) -> Self {
        let value = value.into();
        if let Some(place) = self.values.get_mut(dimension.index()) {
            // A value comes from a header or a query. One long text would be stored with each
            // event.
            *place = match value.char_indices().nth(MAX_VALUE) {
                // By characters, or a cut within one would leave no text at all.
                Some((end, _)) => value.get(..end).unwrap_or_default().to_owned().into(),
                None => value,
            };
        }
        self
    }

    /// Returns the value of a dimension; an empty text means none.
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
    pub fn is_counted(&self) -> bool {
        self.value(Dimension::Ignored).is_empty()
    }
}

/// The longest value of a dimension, in characters.
const MAX_VALUE: usize = 100;
