//! The way on which a visitor came.

/// The kind of way on which a visitor came, in the terms of Plausible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

impl Channel {
    /// Every channel.
    pub const ALL: [Self; 18] = [
        Self::Direct,
        Self::Qr,
        Self::Social,
        Self::Search,
        Self::Ai,
        Self::Email,
        Self::Messaging,
        Self::Video,
        Self::Audio,
        Self::Shopping,
        Self::PaidSocial,
        Self::PaidSearch,
        Self::PaidVideo,
        Self::Paid,
        Self::Display,
        Self::Affiliate,
        Self::Push,
        Self::Referral,
    ];

    /// Returns the name in responses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Qr => "qr",
            Self::Social => "social",
            Self::Search => "search",
            Self::Ai => "ai",
            Self::Email => "email",
            Self::Messaging => "messaging",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Shopping => "shopping",
            Self::PaidSocial => "paid-social",
            Self::PaidSearch => "paid-search",
            Self::PaidVideo => "paid-video",
            Self::Paid => "paid",
            Self::Display => "display",
            Self::Affiliate => "affiliate",
            Self::Push => "push",
            Self::Referral => "referral",
        }
    }
}
