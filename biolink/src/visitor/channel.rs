//! The way on which a visitor came.

use strum::{EnumString, IntoStaticStr, VariantArray};

/// The kind of way on which a visitor came, in the terms of Plausible.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Channel {
    /// No referrer, no campaign and no app: typed, bookmarked, or hidden by the site before.
    Direct,
    /// A QR code.
    Qr,
    /// A social network.
    Social,
    /// A search engine.
    Search,
    /// An AI assistant.
    Ai,
    /// A mail program or newsletter.
    Email,
    /// A messenger, or an SMS.
    Messaging,
    /// A video site.
    Video,
    /// A podcast or music service.
    Audio,
    /// A shop or marketplace.
    Shopping,
    /// A paid placement on a social network.
    PaidSocial,
    /// A paid placement on a search engine.
    PaidSearch,
    /// A paid placement on a video site.
    PaidVideo,
    /// Another paid placement.
    Paid,
    /// A banner or another displayed advertisement.
    Display,
    /// An affiliate's link.
    Affiliate,
    /// A push notification.
    Push,
    /// A link on another site.
    Referral,
}

shared::named!(Channel);

impl Channel {
    /// Every channel.
    pub const ALL: [Self; 18] = *Self::VARIANTS.as_array().unwrap();
}
