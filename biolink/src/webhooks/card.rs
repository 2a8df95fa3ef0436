//! The details of a page that envelopes have.

use serde::{Deserialize, Serialize};

use crate::page::{
    PageDocument, PageId, Slug,
    document::{DEFAULT, LinkType},
};

/// The details of a page. The account sends them to the store of webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The page.
    pub id: PageId,
    /// Its slug; `None` for a page that was deleted before its events were sent.
    pub slug: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The owner's name for it.
    pub external_id: Option<String>,
    /// The live revision; 0 if there is none.
    #[serde(default)]
    pub revision: u64,
    /// Its links.
    #[serde(default)]
    pub links: Vec<LinkCard>,
    /// The other destinations of its links: the link, the name of the variant, and the address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<(String, String, String)>,
    /// Its products.
    #[serde(default)]
    pub products: Vec<ProductCard>,
}

/// A link, as envelopes show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCard {
    /// Its id.
    pub id: String,
    /// Its type; `None` for a link that is not on the page any more.
    #[serde(default, rename = "type")]
    pub kind: Option<LinkType>,
    /// Its text.
    pub title: Option<String>,
    /// Its destination.
    pub url: Option<String>,
    /// Its place among the entries of the page, from 1.
    pub position: Option<u32>,
}

/// A product, as envelopes show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductCard {
    /// Its id.
    pub id: String,
    /// Its title; `None` for a product that is not on the page any more.
    pub title: Option<String>,
    /// The address at which it is sold.
    pub url: Option<String>,
}

impl Card {
    /// Returns the card of a page. `base` is the address below which pages are served.
    pub fn new(
        id: PageId,
        slug: &Slug,
        base: &str,
        external_id: Option<&str>,
        revision: u64,
        document: &PageDocument,
    ) -> Self {
        let has_destination =
            |kind: LinkType| !matches!(kind, LinkType::Heading | LinkType::Text | LinkType::Divider);
        // Numbered before they are filtered: the position is the one that the page shows.
        let links = document.links.iter().zip(1..).filter(|(link, _)| has_destination(link.kind));
        Self {
            id,
            slug: Some(slug.to_string()),
            url: Some(format!("{base}/{slug}")),
            title: Some(document.title.clone()),
            external_id: external_id.map(str::to_owned),
            revision,
            links: links
                .map(|(link, position)| LinkCard {
                    id: link.id.to_string(),
                    kind: Some(link.kind),
                    title: Some(link.title.clone()),
                    url: link.url.clone(),
                    position: Some(position),
                })
                .collect(),
            variants: document
                .links
                .iter()
                .flat_map(|link| {
                    let named =
                        |(variant, url): (String, &str)| (link.id.to_string(), variant, url.to_owned());
                    link.variants().map(named)
                })
                .collect(),
            products: document
                .products
                .items
                .iter()
                .map(|product| ProductCard {
                    id: product.id.to_string(),
                    title: Some(product.title.clone()),
                    url: Some(product.url.as_str().to_owned()),
                })
                .collect(),
        }
    }

    /// Returns the card of a page of which only the id is known.
    pub const fn unknown(id: PageId) -> Self {
        Self {
            id,
            slug: None,
            url: None,
            title: None,
            external_id: None,
            revision: 0,
            links: Vec::new(),
            variants: Vec::new(),
            products: Vec::new(),
        }
    }

    /// Returns the link with this id, or what is known of it.
    pub(super) fn link(&self, id: &str) -> LinkCard {
        let unknown = || LinkCard { id: id.to_owned(), kind: None, title: None, url: None, position: None };
        self.links.iter().find(|link| link.id == id).cloned().unwrap_or_else(unknown)
    }

    /// Returns the address to which a variant of a link leads; `None` if it is not known any more.
    pub(super) fn destination(&self, link: &LinkCard, variant: Option<&str>) -> Option<String> {
        match variant {
            None | Some(DEFAULT) => link.url.clone(),
            Some(variant) => {
                let found = self.variants.iter().find(|(id, name, _)| *id == link.id && name == variant);
                found.map(|(.., url)| url.clone())
            }
        }
    }

    /// Returns the product with this id, or what is known of it.
    pub(super) fn product(&self, id: &str) -> ProductCard {
        let unknown = || ProductCard { id: id.to_owned(), title: None, url: None };
        self.products.iter().find(|product| product.id == id).cloned().unwrap_or_else(unknown)
    }
}
