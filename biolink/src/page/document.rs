//! The document of a page: what its visitors see, and no more. The published snapshot holds one.
//!
//! The JSON form of these types is the one of the REST API and the one that is stored. Fields are
//! only ever added, with a default, because stored documents outlive the program that wrote them.

mod color;
mod link;
mod locale;
mod moment;
mod product;
mod social;
mod target;
mod theme;
mod utm;

use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use strum::IntoStaticStr;

pub use color::Color;
pub use link::{Chosen, Link, LinkType, LinkUrlError, Rel};
pub(crate) use link::{DEFAULT, FALLBACK};
pub use locale::Locale;
pub use product::{Availability, Layout, Price, Product, Products};
pub use social::{Platform, Social};
pub use target::{DeviceClass, Fallback, Follower, LinkTarget};
pub use theme::{
    Background, Buttons, Colors, ContrastError, Density, Font, Look, Mode, Palette, Preset, Shape, Theme,
};
pub use utm::{UtmTemplate, UtmValues};

use super::{ImageUrl, Via};

/// The content of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageDocument {
    /// The heading: 1 to 80 characters without line breaks.
    pub title: String,
    /// A text of at most 300 characters and 5 lines, separated by `\n`; empty for none.
    pub bio: String,
    /// The portrait or logo.
    pub avatar: Option<Image>,
    /// A picture above all, three times as wide as it is high.
    pub cover: Option<Image>,
    /// The language of the page (BCP 47), such as `en` or `ar-EG`.
    pub locale: Locale,
    /// The direction of the text.
    pub dir: Direction,
    /// Colors and shapes.
    pub theme: Theme,
    /// Profiles elsewhere, at most 20, in the order in which they are shown.
    pub socials: Vec<Social>,
    /// The links, at most 100, in the order in which they are shown.
    pub links: Vec<Link>,
    /// The products, at most 50.
    pub products: Products,
    /// The texts that search engines and previews show.
    pub seo: Seo,
    /// A question that visitors must confirm before they see the page.
    pub gate: Option<Gate>,
    /// The campaign parameters of all destinations.
    pub utm: Option<UtmTemplate>,
    /// The short links and QR codes that lead to a link instead of the page, at most 50.
    pub codes: Vec<PageCode>,
}

/// Returns true from one moment to before another.
pub(crate) fn is_within(from: Option<UnixMillis>, until: Option<UnixMillis>, now: UnixMillis) -> bool {
    from.is_none_or(|from| from <= now) && until.is_none_or(|until| now < until)
}

/// An image: one of the account's own, or one on another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its address.
    pub url: ImageUrl,
    /// Its description for those who do not see it, at most 150 characters.
    #[serde(default)]
    pub alt: String,
}

/// A short link and QR code with its own name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCode {
    /// Its name, by which it is counted.
    pub via: Via,
    /// The owner's note of at most 80 characters.
    pub title: Option<String>,
    /// The link that it leads to; `None` for the page.
    pub link: Option<super::LinkId>,
}

/// The direction of a page's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// As the page's language is written.
    #[default]
    Auto,
    /// Left to right.
    Ltr,
    /// Right to left.
    Rtl,
}

shared::named!(Direction);

/// The texts that search engines and link previews show of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seo {
    /// In place of the page's title, at most 70 characters.
    pub title: Option<String>,
    /// In place of the page's bio, at most 200 characters.
    pub description: Option<String>,
    /// The image of previews, in place of the avatar.
    pub image: Option<Image>,
    /// Whether search engines are asked to leave the page out.
    pub noindex: bool,
    /// The subject of the page.
    #[serde(rename = "type")]
    pub kind: Subject,
}

/// The subject of a page (schema.org).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A person.
    #[default]
    Person,
    /// A company, a band, a club.
    Organization,
}

/// A question that a visitor confirms first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", try_from = "StoredGate")]
pub enum Gate {
    /// The visitor is at least this old.
    Age {
        /// Years, from 13 to 25.
        min: u8,
    },
    /// The visitor wants to see sensitive content.
    Sensitive,
}

/// A gate as it is stored. serde's own reader of a tagged enum buffers each of its fields.
#[derive(Deserialize)]
struct StoredGate {
    kind: GateKind,
    min: Option<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum GateKind {
    Age,
    Sensitive,
}

impl TryFrom<StoredGate> for Gate {
    type Error = &'static str;

    fn try_from(stored: StoredGate) -> Result<Self, Self::Error> {
        match stored.kind {
            GateKind::Age => Ok(Self::Age { min: stored.min.ok_or("the age is missing")? }),
            GateKind::Sensitive => Ok(Self::Sensitive),
        }
    }
}

impl PageDocument {
    /// Returns the direction in which the page is laid out: never [`Direction::Auto`].
    pub fn direction(&self) -> Direction {
        match self.dir {
            Direction::Auto if self.locale.is_right_to_left() => Direction::Rtl,
            Direction::Auto => Direction::Ltr,
            given => given,
        }
    }

    /// Returns the parameters that are added to the destination of a link that has these itself.
    pub fn utm_of(&self, own: Option<&UtmTemplate>) -> Option<UtmTemplate> {
        match (own, &self.utm) {
            (Some(own), Some(usual)) => Some(own.or(usual)),
            (Some(one), None) => Some(one.clone()),
            (None, usual) => usual.clone(),
        }
    }

    /// Returns the destination of a link as the page or a redirect has it. A parameter that it has comes
    /// before one that the visitor brings, and that before the campaign parameters of the page.
    pub fn outgoing<'a>(
        &self,
        link: &Link,
        url: &str,
        slug: &super::Slug,
        via: &str,
        passed_on: impl Iterator<Item = &'a str>,
    ) -> String {
        if !matches!(link.kind, LinkType::Link | LinkType::File) {
            return url.to_owned();
        }
        let url = super::with_parameters(url, passed_on);
        match self.utm_of(link.utm.as_ref()) {
            Some(utm) => {
                let (id, slug) = (link.id.to_string(), slug.as_str());
                utm.add_to(&url, &UtmValues { slug, link: &id, title: &link.title, via })
            }
            None => url,
        }
    }

    /// Returns the images that the page shows.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let items = self.products.items.iter().filter(|_| self.products.enabled);
        let links = self.links.iter().filter_map(|link| link.image.as_ref());
        let decoration = self.cover.iter().chain(&self.theme.image);
        self.avatar.iter().chain(decoration).chain(links).chain(items.filter_map(|item| item.image.as_ref()))
    }

    /// Returns the ids of the links.
    pub fn link_ids(&self) -> impl Iterator<Item = super::LinkId> {
        self.links.iter().map(|link| link.id)
    }

    /// Returns the ids of the products.
    pub fn product_ids(&self) -> impl Iterator<Item = super::ProductId> {
        self.products.items.iter().map(|item| item.id)
    }

    /// Returns the link with this id.
    pub fn link(&self, id: &super::LinkId) -> Option<&Link> {
        self.links.iter().find(|link| link.id == *id)
    }
}
