//! Google Merchant Center's RSS 2.0 and Atom.
//!
//! No document type is read, and no entity but those of XML and HTML: a feed cannot grow while it is
//! read.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesRef, BytesStart, Event},
};

use super::{
    FeedFormat,
    ampersand::{Escaped, escaped},
    character_references::{character, decode},
    feed::Feed,
    feed_error::FeedError,
    price::PriceRules,
    product::{Cost, Draft, availability},
};

/// The namespace of Merchant Center's elements.
const GOOGLE: &str = "http://base.google.com/ns/1.0";
/// Elements that may lie in each other.
const MAX_DEPTH: usize = 32;

/// The state of reading: the elements that are open, and the item among them.
#[derive(Default)]
struct Parser {
    /// The prefix of Merchant Center's namespace.
    prefix: Option<String>,
    depth: usize,
    item: Option<Item>,
    /// Whether the root of a feed was seen.
    is_feed: bool,
}

struct Item {
    draft: Draft,
    depth: usize,
    field: Option<Field>,
    text: String,
    /// Whether an id or link of Merchant Center's namespace was seen, which wins over the feed's own.
    has_own_id: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Id,
    OwnId,
    Group,
    Title,
    Description,
    Url,
    Image,
    Price,
    SalePrice,
    SaleDates,
    Availability,
    Tag,
}

/// Reads the products of a feed in XML. One with bare ampersands is read as it is meant, and says where
/// the first of them is.
pub(super) fn read(text: &str, rules: &PriceRules<'_>) -> Result<Feed, FeedError> {
    let error = match read_strictly(text, rules) {
        // Only then is it read again: most feeds are well-formed, and are read once.
        Err(error @ FeedError::Xml { .. }) => error,
        read => return read,
    };
    let Escaped { text, first: Some(first) } = escaped(text) else { return Err(error) };
    let mut feed = read_strictly(&text, rules)?;
    feed.note_ampersand(first);
    Ok(feed)
}

fn read_strictly(text: &str, rules: &PriceRules<'_>) -> Result<Feed, FeedError> {
    let mut feed = Feed::new(FeedFormat::MerchantXml);
    let mut reader = Reader::from_str(text);
    let mut parser = Parser::default();
    loop {
        let event = reader.read_event().map_err(|error| FeedError::Xml {
            at: reader.error_position(),
            reason: error.to_string().chars().take(100).collect(),
        })?;
        match event {
            Event::Start(start) => parser.open(&start)?,
            Event::Empty(start) => {
                parser.open(&start)?;
                feed.extend(parser.close(), rules);
            }
            Event::End(_) => feed.extend(parser.close(), rules),
            Event::Text(text) => parser.add(&text.xml_content(XmlVersion::Implicit1_0)),
            // What is escaped here is encoded twice in other elements.
            Event::CData(text) => parser.add(&decode(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::GeneralRef(reference) => parser.add(&resolve(&reference)?.to_string()),
            Event::DocType(_) => return Err(FeedError::DocumentType),
            // Half of a feed is well-formed up to its end. Taken, it would remove the other products.
            Event::Eof if parser.depth > 0 => {
                let reason = "it ends before its elements do; was the response cut off?".to_owned();
                return Err(FeedError::Xml { at: reader.buffer_position(), reason });
            }
            Event::Eof if parser.is_feed => return Ok(feed),
            Event::Eof => return Err(FeedError::Unknown),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// Returns the character that a reference stands for.
fn resolve(reference: &BytesRef<'_>) -> Result<char, FeedError> {
    let name: &str = reference;
    let error = || FeedError::Entity { name: name.chars().take(40).collect() };
    if let Some(character) = reference.resolve_char_ref().map_err(|_| error())? {
        return Ok(character);
    }
    character(name).ok_or_else(error)
}

impl Parser {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), FeedError> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return Err(FeedError::TooDeep { max: MAX_DEPTH });
        }
        let (prefix, local) = split(start.name().into_inner());
        if self.depth == 1 {
            self.is_feed = matches!(local, "rss" | "feed" | "RDF");
        }
        if self.item.is_none() {
            self.prefix = self.prefix.take().or_else(|| google_prefix(start));
            if matches!(local, "item" | "entry") {
                self.item = Some(Item::new(self.depth));
            }
            return Ok(());
        }
        // Many feeds use `g:` and forget to bind it.
        let is_own = prefix.is_some() && prefix == Some(self.prefix.as_deref().unwrap_or("g"));
        if let Some(item) = &mut self.item
            // Only children of the item: a title within a shipping element is not the product's.
            && self.depth == item.depth.saturating_add(1)
        {
            item.text.clear();
            item.field = field(local, is_own).filter(|_| is_own || prefix.is_none());
            if item.field == Some(Field::Url) {
                item.text.push_str(&atom_link(start).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str) {
        if let Some(item) = self.item.as_mut().filter(|item| item.field.is_some()) {
            item.text.push_str(text);
        }
    }

    /// Closes an element. Returns the item that ends with it.
    fn close(&mut self) -> Option<Draft> {
        let depth = self.depth;
        self.depth = depth.saturating_sub(1);
        if let Some(item) = &mut self.item
            && depth == item.depth.saturating_add(1)
        {
            item.end_field();
        }
        if self.item.as_ref().is_some_and(|item| item.depth == depth) {
            return self.item.take().map(|item| item.draft);
        }
        None
    }
}

impl Item {
    fn new(depth: usize) -> Self {
        Self { draft: Draft::default(), depth, field: None, text: String::new(), has_own_id: false }
    }

    fn end_field(&mut self) {
        let (Some(field), text) = (self.field.take(), std::mem::take(&mut self.text)) else { return };
        let draft = &mut self.draft;
        let first = |place: &mut Option<String>, text: String| {
            if place.is_none() && !text.trim().is_empty() {
                *place = Some(text);
            }
        };
        match field {
            Field::OwnId => {
                draft.id = Some(text);
                self.has_own_id = true;
            }
            Field::Id if !self.has_own_id => draft.id = Some(text),
            Field::Id => {}
            Field::Group => first(&mut draft.group, text),
            Field::Title => first(&mut draft.title, text),
            Field::Description => first(&mut draft.description, text),
            Field::Url => first(&mut draft.url, text),
            Field::Image => first(&mut draft.image, text),
            Field::Price => draft.price = Cost::of_text(text),
            Field::SalePrice => draft.sale_price = Cost::of_text(text),
            Field::SaleDates => first(&mut draft.sale_dates, text),
            Field::Availability => draft.availability = availability(&text),
            // A path such as `Home > Mugs` has a tag for each step.
            Field::Tag => draft.tags.extend(text.split('>').map(|tag| tag.trim().to_owned())),
        }
    }
}

impl Feed {
    fn extend(&mut self, draft: Option<Draft>, rules: &PriceRules<'_>) {
        if let Some(draft) = draft {
            self.add(draft, rules);
        }
    }
}

fn split(name: &str) -> (Option<&str>, &str) {
    name.split_once(':').map_or((None, name), |(prefix, local)| (Some(prefix), local))
}

/// Returns the prefix that an element binds to Merchant Center's namespace.
fn google_prefix(start: &BytesStart<'_>) -> Option<String> {
    let mut attributes = start.attributes().filter_map(Result::ok);
    attributes.find_map(|attribute| {
        let prefix = attribute.key.into_inner().strip_prefix("xmlns:")?;
        (attribute.value == GOOGLE).then(|| prefix.to_owned())
    })
}

/// Returns the `href` of a link of Atom that leads to the product.
fn atom_link(start: &BytesStart<'_>) -> Option<String> {
    let value = |name: &str| {
        let mut attributes = start.attributes().filter_map(Result::ok);
        let found = attributes.find(|attribute| attribute.key.into_inner() == name)?;
        found.normalized_value(XmlVersion::Implicit1_0).ok().map(|value| value.into_owned())
    };
    value("rel").is_none_or(|rel| rel == "alternate").then(|| value("href"))?
}

fn field(local: &str, is_own: bool) -> Option<Field> {
    Some(match local {
        "id" if is_own => Field::OwnId,
        "id" | "guid" => Field::Id,
        "item_group_id" => Field::Group,
        "title" => Field::Title,
        "description" | "summary" | "content" => Field::Description,
        "link" => Field::Url,
        "image_link" => Field::Image,
        "price" => Field::Price,
        "sale_price" => Field::SalePrice,
        "sale_price_effective_date" => Field::SaleDates,
        "availability" => Field::Availability,
        "product_type" | "category" | "brand" => Field::Tag,
        _ if local.starts_with("custom_label_") => Field::Tag,
        _ => return None,
    })
}
