//! The names of pages, of their parts, and of what an account has beside them.

use std::fmt;

use shared::{base62, id, key::KeyId, secret::sha256, time::UnixMillis};

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

/// An id of a part of a page. The addresses of the page have its last six characters, because a hundred whole
/// ids are a tenth of a page.
///
/// An abbreviated id has zeros in place of what its address leaves out.
pub trait PartId: Copy + PartialEq + fmt::Display {
    /// Returns the id without what an address leaves out.
    fn abbreviated(self) -> Self;

    /// Reads a whole id or the end of one.
    fn parse_in_path(text: &str) -> Option<Self>;

    /// Returns the text that an address has: the end of an abbreviated id, or the whole one.
    fn in_path(self) -> String {
        let text = self.to_string();
        let end = text.len().saturating_sub(base62::encoded_len(END));
        let end = if self == self.abbreviated() { text.get(end..) } else { None };
        end.map(str::to_owned).unwrap_or(text)
    }

    /// Returns the shortest text in an address that means this one of the parts of a page.
    fn shortest_in_path(self, parts: impl Iterator<Item = Self>) -> String {
        let short = self.abbreviated();
        let is_unique = parts.filter(|part| part.abbreviated() == short).nth(1).is_none();
        if is_unique { short.in_path() } else { self.in_path() }
    }

    /// Returns the one of the parts of a page that an abbreviated id means. Any other id stays as it is.
    fn whole(self, parts: impl Iterator<Item = Self>) -> Self {
        let mut alike = parts.filter(|part| self == self.abbreviated() && part.abbreviated() == self);
        match (alike.next(), alike.next()) {
            (Some(part), None) => part,
            _ => self,
        }
    }
}

/// Bytes of an id that the addresses of a page have.
const END: usize = 4;

macro_rules! part_id {
    ($($name:ident)*) => {$(
        impl PartId for $name {
            fn abbreviated(self) -> Self {
                let [.., a, b, c, d] = self.0;
                Self([0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d])
            }

            fn parse_in_path(text: &str) -> Option<Self> {
                let mut end = [0; END];
                let Some(()) = base62::decode(text.as_bytes(), &mut end) else { return Self::parse(text) };
                let [a, b, c, d] = end;
                Some(Self([0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]))
            }
        }
    )*};
}

part_id! { LinkId ProductId }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_the_end_of_an_id_unless_two_have_the_same() {
        let link = |first, last| LinkId::new([first, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, last]);
        let (one, twin, other) = (link(1, 1), link(2, 1), link(3, 2));
        let alone = [one, other];
        let text = one.shortest_in_path(alone.into_iter());
        assert_eq!((text.len(), one.to_string().ends_with(&text)), (6, true), "{text}");
        let read = LinkId::parse_in_path(&text).unwrap();
        assert_eq!((read.in_path(), read.whole(alone.into_iter())), (text.clone(), one));
        let both = [one, twin, other];
        assert_eq!(one.shortest_in_path(both.into_iter()), one.to_string());
        assert_eq!(read.whole(both.into_iter()), read, "it could be either");
        assert_eq!(LinkId::parse_in_path(&one.to_string()).unwrap().whole(both.into_iter()), one);
        assert_eq!(link(4, 4).whole(both.into_iter()), link(4, 4), "a whole id is no part of the page");
        for text in ["", "abcde", "abcdefg", "zzzzzz", "lnk_ab", "prd_00000000000000001"] {
            assert_eq!(LinkId::parse_in_path(text), None, "{text}");
        }
    }
}
