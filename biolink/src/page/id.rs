//! The names of pages, links and products.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use shared::{base62, key::KeyId, secret::sha256, time::UnixMillis};

/// Defines an id: a prefix, and a number of bytes in base62. Users import what it names.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident $prefix:literal $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// Returns the id with these bytes.
            pub const fn new(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            /// Reads what `Display` writes; `None` for anything else.
            pub fn parse(text: &str) -> Option<Self> {
                let mut bytes = [0; $bytes];
                base62::decode(text.strip_prefix($prefix)?.as_bytes(), &mut bytes)?;
                Some(Self(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = String::with_capacity($prefix.len() + base62::encoded_len($bytes));
                text.push_str($prefix);
                base62::encode(&self.0, &mut text);
                f.write_str(&text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| D::Error::custom(concat!("not an id that begins with ", $prefix)))
            }
        }
    };
}

pub(crate) use id;

id! {
    /// The name of a page: `pg_` and 17 of `[0-9A-Za-z]`. Its first six bytes are the moment of
    /// creation, so that ids sort by age.
    PageId "pg_" 12
}
id! {
    /// The name of a link, `lnk_` and 17 of `[0-9A-Za-z]`. No other link of its page has it.
    LinkId "lnk_" 12
}
id! {
    /// The name of a product, `prd_` and 17 of `[0-9A-Za-z]`. No other product of its page has it.
    ProductId "prd_" 12
}

id! {
    /// The name of a source of products, `src_` and 17 of `[0-9A-Za-z]`. No other source has it.
    SourceId "src_" 12
}

id! {
    /// The name of an uploaded image, `img_` and 17 of `[0-9A-Za-z]`: a digest of its bytes and its
    /// account.
    ImageId "img_" 12
}

id! {
    /// The name of a domain of an account, `dom_` and 17 of `[0-9A-Za-z]`.
    DomainId "dom_" 12
}

impl ImageId {
    /// Returns the id of an account's image. The same bytes have the same id, so that an image is stored
    /// once.
    pub fn of(account: &KeyId, bytes: &[u8]) -> Self {
        let digest = sha256(&[b"utg.image-id.v1", account.to_string().as_bytes(), bytes]);
        Self(digest.first_chunk().copied().unwrap_or_default())
    }
}

impl ProductId {
    /// Returns the id of a product that comes from a source. A product that disappears from its feed
    /// and comes back has the same one.
    pub fn of_source(source: &SourceId, external_id: &str) -> Self {
        let digest = sha256(&[b"utg.product-id.v1", &source.0, external_id.as_bytes()]);
        Self(digest.first_chunk().copied().unwrap_or_default())
    }
}

impl PageId {
    /// Returns the id of a page that is created now.
    pub fn at(now: UnixMillis, drawn: [u8; 12]) -> Self {
        let [_, _, a, b, c, d, e, f] = now.0.to_be_bytes();
        let [g, h, i, j, k, l, ..] = drawn;
        Self([a, b, c, d, e, f, g, h, i, j, k, l])
    }
}

/// Ids from 16 random bytes. The same bytes give the same ids in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdSource {
    seed: [u8; 16],
    drawn: u32,
}

impl IdSource {
    /// Returns a source with this seed.
    pub const fn new(seed: [u8; 16]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Returns the next 12 bytes.
    pub fn draw(&mut self) -> [u8; 12] {
        self.drawn = self.drawn.saturating_add(1);
        let digest = sha256(&[b"utg.page-id.v1", &self.seed, &self.drawn.to_be_bytes()]);
        digest.first_chunk().copied().unwrap_or_default()
    }
}
