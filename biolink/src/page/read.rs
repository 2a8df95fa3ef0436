//! Reading a page from JSON: all faults together, each with its place.

mod hints;
mod invalid_value;
mod parts;
mod texts;

use std::collections::BTreeMap;

use crate::codes;
use serde_json::{Map, Value};
use shared::json;
use shared::{
    fields::{Fields, TypeError, text},
    problem::{FieldError, Problem},
};

pub(crate) use self::{
    invalid_value::InvalidValue,
    parts::{boolean, moment, name_of},
    texts::{is_visible, plain_text},
};
use self::{
    parts::{
        read_avatar, read_code, read_cover, read_gate, read_link, read_product, read_seo, read_social,
        read_theme, read_utm,
    },
    texts::long_text,
};
use super::{
    IdSource, LinkId, PageDocument, ProductId, Slug,
    document::{Direction, Link, Locale, Product, Products},
};

/// The largest document, in bytes of its JSON.
pub const MAX_DOCUMENT: usize = 65_536;
/// Most links on a page.
pub const MAX_LINKS: usize = 100;
/// The page's own products.
pub const MAX_PRODUCTS: usize = 50;
/// Social profiles of a page.
pub const MAX_SOCIALS: usize = 20;
/// Short links and QR codes of a page.
const MAX_CODES: usize = 50;
/// Tags of a page or a link.
pub const MAX_TAGS: usize = 20;
/// Members of a page's metadata.
pub const MAX_METADATA: usize = 50;
/// Members of a page that a response has and a request may repeat.
pub const READ_ONLY: &[&str] = &[
    "id",
    "object",
    "revision",
    "published_revision",
    "has_unpublished_changes",
    "former_slugs",
    "urls",
    "created_at",
    "updated_at",
    "published_at",
    "suspended",
    "previews",
    "warnings",
];

/// The members of a page that a client writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageInput {
    /// The slug; `None` keeps the one there is, and draws one for a new page.
    pub slug: Option<Slug>,
    /// The client's own name for the page.
    pub external_id: Option<String>,
    /// The change of the live page.
    pub status: Option<StatusChange>,
    /// The content that visitors see.
    pub document: PageDocument,
    /// The client's labels.
    pub tags: Vec<String>,
    /// The client's notes.
    pub metadata: BTreeMap<String, String>,
}

/// A write of a page's `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusChange {
    /// The live page stays as it is.
    Keep,
    /// The content that was written goes live.
    Publish,
    /// The live page is taken down.
    Unpublish,
}

/// Reads pages and links. Those of `known` keep their ids; new ones get ids from a seed.
pub struct Reader<'a> {
    known: Option<&'a PageDocument>,
    ids: IdSource,
    faults: Vec<FieldError>,
    links: Vec<LinkId>,
    products: Vec<ProductId>,
    /// The language of a new page that does not name its own.
    usual: Option<Locale>,
}

impl<'a> Reader<'a> {
    /// Returns a reader for a page that has this document, or for a new page.
    pub const fn new(known: Option<&'a PageDocument>, ids: IdSource) -> Self {
        Self { known, ids, faults: Vec::new(), links: Vec::new(), products: Vec::new(), usual: None }
    }

    /// Adds errors that were found in the body before.
    #[must_use]
    pub fn with_faults(self, faults: Vec<FieldError>) -> Self {
        Self { faults, ..self }
    }

    /// Sets the language of a new page that does not name its own.
    #[must_use]
    pub fn with_locale(self, usual: Option<Locale>) -> Self {
        Self { usual, ..self }
    }

    /// Reads a page. Without a `locale` it keeps the one that it has.
    ///
    /// # Errors
    /// Returns `fields-invalid` with every fault, or `body-too-large` if the document is.
    pub fn page(mut self, members: Map<String, Value>) -> Result<PageInput, Problem> {
        let mut fields = Fields::of(members);
        // Faults of the query come in the same response as those of the body.
        fields.add_errors(std::mem::take(&mut self.faults));
        fields.hint(hints::PAGE);
        fields.ignore(READ_ONLY);
        let slug = fields.nullable("slug", |value| Ok::<_, InvalidValue>(Slug::parse(text(value)?)?));
        let external_id = fields.nullable("external_id", |value| plain_text(value, 1, 128));
        let status = fields.nullable("status", parse_status);
        let title = fields.required("title", |value| plain_text(value, 1, 80));
        let locale = self.known.map(|page| page.locale.clone()).or_else(|| self.usual.take());
        let document = PageDocument {
            title: title.unwrap_or_default(),
            bio: fields.nullable("bio", |value| long_text(value, 300, 5)).unwrap_or_default(),
            avatar: fields.nullable_object("avatar", read_avatar).flatten(),
            cover: fields.nullable_object("cover", read_cover).flatten(),
            locale: fields.nullable("locale", parse_locale).or(locale).unwrap_or_default(),
            dir: fields.nullable("dir", name_of::<Direction>).unwrap_or_default(),
            theme: fields.nullable_object("theme", read_theme).unwrap_or_default(),
            socials: fields.nullable_list("socials", MAX_SOCIALS, read_social).unwrap_or_default(),
            links: fields
                .nullable_list("links", MAX_LINKS, |link| self.link_with_id(link))
                .unwrap_or_default(),
            products: fields
                .nullable_object("products", |products| self.products(products))
                .unwrap_or_default(),
            seo: fields.nullable_object("seo", read_seo).unwrap_or_default(),
            gate: fields.nullable_object("gate", read_gate).flatten(),
            utm: fields.nullable_object("utm", read_utm),
            codes: fields.nullable_list("codes", MAX_CODES, read_code).unwrap_or_default(),
        };
        check_codes(&document, &mut fields);
        let tags = fields.nullable("tags", parse_tags).unwrap_or_default();
        let metadata = fields.nullable("metadata", parse_metadata).unwrap_or_default();
        fields.finish()?;
        // After the fields: a document of the right shape, whose parts are each within their
        // bounds, may still be too large to be stored as one row.
        check_size(&document)?;
        Ok(PageInput { slug, external_id, status, document, tags, metadata })
    }

    /// Reads a single link. Its id is `id`, or a new one.
    ///
    /// # Errors
    /// Returns `fields-invalid` with every fault.
    pub fn link(mut self, members: Map<String, Value>, id: Option<LinkId>) -> Result<Link, Problem> {
        let mut fields = Fields::of(members);
        fields.add_errors(std::mem::take(&mut self.faults));
        fields.ignore(&["id"]);
        let id = id.unwrap_or_else(|| LinkId::new(self.ids.draw()));
        let link = read_link(&mut fields, id);
        fields.finish()?;
        // `finish` has refused already if there is none.
        link.ok_or_else(|| Problem::invalid_fields(&[]))
    }

    fn link_with_id(&mut self, fields: &mut Fields) -> Option<Link> {
        let known = self.known.map(|page| page.links.iter().map(|link| link.id).collect::<Vec<_>>());
        let given = fields.nullable("id", |value| {
            // Ids are drawn here. One that a client made up could be that of another page, and mix
            // their counts.
            let id = LinkId::parse(text(value)?).filter(|id| known.iter().flatten().any(|known| known == id));
            check_once(id, &self.links, "link")
        });
        let id = given.unwrap_or_else(|| LinkId::new(self.ids.draw()));
        self.links.push(id);
        read_link(fields, id)
    }

    fn products(&mut self, fields: &mut Fields) -> Products {
        let usual = Products::default();
        Products {
            enabled: fields.nullable("enabled", boolean).unwrap_or(usual.enabled),
            title: fields.nullable("title", |value| plain_text(value, 0, 80)).unwrap_or_default(),
            layout: fields.nullable("layout", name_of).unwrap_or_default(),
            items: fields
                .nullable_list("items", MAX_PRODUCTS, |item| self.product_with_id(item))
                .unwrap_or_default(),
        }
    }

    fn product_with_id(&mut self, fields: &mut Fields) -> Option<Product> {
        let known = self.known.map(|page| page.products.items.iter().map(|item| item.id).collect::<Vec<_>>());
        let given = fields.nullable("id", |value| {
            let id =
                ProductId::parse(text(value)?).filter(|id| known.iter().flatten().any(|known| known == id));
            check_once(id, &self.products, "product")
        });
        let id = given.unwrap_or_else(|| ProductId::new(self.ids.draw()));
        self.products.push(id);
        fields.ignore(&["source"]);
        let items = self.known.map(|page| page.products.items.as_slice()).unwrap_or_default();
        // From the stored page and never from the request: it says which source may change the
        // product.
        let source = items.iter().find(|item| item.id == id).and_then(|item| item.source);
        read_product(fields, id, source)
    }
}

/// Checks that a document is not larger than [`MAX_DOCUMENT`].
///
/// # Errors
/// Returns `body-too-large`.
pub(crate) fn check_size(document: &PageDocument) -> Result<(), Problem> {
    let size = json::to_string(document).map_or(usize::MAX, |text| text.len());
    if size <= MAX_DOCUMENT {
        return Ok(());
    }
    let detail = format!("the page has {size} bytes as JSON; the limit is {MAX_DOCUMENT}");
    Err(Problem::new(codes::BODY_TOO_LARGE, detail))
}

/// Checks that short links and QR codes have different names. The link of one may be gone: it was
/// printed perhaps, and leads to the page then.
fn check_codes(document: &PageDocument, fields: &mut Fields) {
    for (at, code) in document.codes.iter().enumerate() {
        if document.codes.iter().take(at).any(|other| other.via == code.via) {
            let detail = format!("is {}, which another code of the page has", code.via);
            fields.add_errors(vec![FieldError { pointer: format!("#/codes/{at}/via"), detail }]);
        }
    }
}

fn check_once<T: Copy + PartialEq>(id: Option<T>, seen: &[T], what: &str) -> Result<T, InvalidValue> {
    match id {
        None => Err(format!("names no {what} of this page; leave `id` out for a new {what}").into()),
        Some(id) if seen.contains(&id) => Err(format!("names a {what} that is in the list already").into()),
        Some(id) => Ok(id),
    }
}

fn parse_status(value: &Value) -> Result<StatusChange, InvalidValue> {
    match text(value)? {
        "draft" => Ok(StatusChange::Keep),
        "published" => Ok(StatusChange::Publish),
        "unpublished" => Ok(StatusChange::Unpublish),
        _ => Err("must be one of draft, published, unpublished".into()),
    }
}

fn parse_locale(value: &Value) -> Result<Locale, InvalidValue> {
    Locale::parse(text(value)?)
        .ok_or_else(|| "must be a language tag such as en, pt-BR or ar (BCP 47)".into())
}

fn parse_tags(value: &Value) -> Result<Vec<String>, InvalidValue> {
    let expected = || format!("must be an array of at most {MAX_TAGS} strings");
    let tags = value.as_array().filter(|tags| tags.len() <= MAX_TAGS).ok_or_else(expected)?;
    tags.iter().map(|tag| plain_text(tag, 1, 60)).collect()
}

/// Returns notes of a client: at most [`MAX_METADATA`] texts by name.
///
/// # Errors
/// Returns what would be right.
pub(crate) fn parse_metadata(value: &Value) -> Result<BTreeMap<String, String>, InvalidValue> {
    let members = value.as_object().ok_or_else(|| TypeError::new("an object", value))?;
    if members.len() > MAX_METADATA {
        return Err(format!("has {} members; at most {MAX_METADATA} are allowed", members.len()).into());
    }
    let mut metadata = BTreeMap::new();
    for (name, value) in members {
        if !(1..=40).contains(&name.chars().count()) {
            return Err("must have names of 1 to 40 characters".into());
        }
        // The name is the client's own, and must not bring control characters into a problem.
        let shown: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let text = plain_text(value, 0, 500).map_err(|error| format!("`{shown}` {error}"))?;
        metadata.insert(name.clone(), text);
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests;
