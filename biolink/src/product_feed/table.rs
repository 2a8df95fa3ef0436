//! Google Merchant Center's table: TSV, or CSV with commas, semicolons or bars.

use csv_core::{ReadRecordResult, ReaderBuilder};

use super::{
    FeedFormat,
    character_references::decode,
    feed::Feed,
    feed_error::FeedError,
    price::PriceRules,
    product::{Cost, Draft, availability},
};

/// The delimiters of tables. The first of them that a header has is that of the table.
pub(super) const DELIMITERS: [char; 4] = ['\t', ';', ',', '|'];

/// The names of the columns, as Merchant Center spells them.
struct Columns(Vec<String>);

/// Reads the products of a table.
pub(super) fn read(text: &str, rules: &PriceRules<'_>) -> Result<Feed, FeedError> {
    let mut feed = Feed::new(FeedFormat::MerchantTable);
    let (delimiter, text) = begin(text);
    let header = text.lines().next().unwrap_or_default();
    let found = || DELIMITERS.into_iter().find(|delimiter| header.contains(*delimiter));
    let delimiter = delimiter.or_else(found).unwrap_or(',');
    let mut columns = None;
    records(text, delimiter, |record| {
        match &columns {
            None => columns = Some(Columns::of(record)?),
            // Spreadsheets end a table with rows of nothing but delimiters.
            Some(columns) if record.iter().any(|cell| !cell.trim().is_empty()) => {
                feed.add(columns.draft(record), rules);
            }
            Some(_) => {}
        }
        Ok(())
    })?;
    Ok(feed)
}

/// Returns a table from its header on, and the delimiter that Excel names before it (`sep=;`). Meta's
/// template has notes there, in lines that begin with `#`.
pub(super) fn begin(text: &str) -> (Option<char>, &str) {
    let (mut delimiter, mut rest) = (None, text);
    while let Some((line, after)) = rest.split_once('\n') {
        let line = line.trim().trim_start_matches('"');
        match line.get(..4).filter(|start| start.eq_ignore_ascii_case("sep=")) {
            Some(_) => delimiter = line.chars().nth(4).filter(char::is_ascii).or(delimiter),
            None if line.starts_with('#') => {}
            None => break,
        }
        rest = after;
    }
    (delimiter, rest)
}

/// Calls `each` with the cells of each record.
fn records(
    text: &str,
    delimiter: char,
    mut each: impl FnMut(&[&str]) -> Result<(), FeedError>,
) -> Result<(), FeedError> {
    let mut reader = ReaderBuilder::new().delimiter(u8::try_from(delimiter).unwrap_or(b',')).build();
    // No cell is longer than the text, and the parser only takes quotation marks away.
    let (mut cells, mut ends) = (vec![0; text.len()], vec![0; 512]);
    let mut input = text.as_bytes();
    loop {
        let (mut written, mut ended) = (0, 0);
        let is_end = loop {
            let space = cells.get_mut(written..).unwrap_or_default();
            let (result, read, out, more) =
                reader.read_record(input, space, ends.get_mut(ended..).unwrap_or_default());
            input = input.get(read..).unwrap_or_default();
            written = written.saturating_add(out);
            ended = ended.saturating_add(more);
            match result {
                // Called again without input, it ends the last record.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => break false,
                // Further columns than there are places for are no columns of a product.
                ReadRecordResult::OutputEndsFull | ReadRecordResult::OutputFull => {
                    return Err(FeedError::Unknown);
                }
                ReadRecordResult::End => break true,
            }
        };
        if is_end {
            return Ok(());
        }
        let mut begin = 0;
        let record: Vec<&str> = ends
            .iter()
            .take(ended)
            .map(|end| {
                let cell = cells.get(begin..*end).unwrap_or_default();
                begin = *end;
                // Cells are cut at ASCII bytes, so they stay UTF-8.
                std::str::from_utf8(cell).unwrap_or_default()
            })
            .collect();
        each(&record)?;
    }
}

impl Columns {
    fn of(header: &[&str]) -> Result<Self, FeedError> {
        let names: Vec<String> = header.iter().map(|name| name_of(name)).collect();
        let is_missing = |name: &&'static str| !names.iter().any(|other| other == name);
        match ["id", "title", "link"].into_iter().find(is_missing) {
            Some(name) => Err(FeedError::Column { name }),
            None => Ok(Self(names)),
        }
    }

    fn draft(&self, record: &[&str]) -> Draft {
        let text = |cell: &&str| (!cell.trim().is_empty()).then(|| (*cell).to_owned());
        let cell = |name: &str| {
            let at = self.0.iter().position(|other| other == name)?;
            record.get(at).and_then(text)
        };
        let tags = self.0.iter().zip(record).filter(|(name, _)| is_tag(name));
        Draft {
            id: cell("id"),
            group: cell("item_group_id"),
            title: cell("title").map(|text| decode(&text)),
            description: cell("description").map(|text| decode(&text)),
            url: cell("link"),
            image: cell("image_link"),
            price: cell("price").map_or(Cost::None, Cost::of_text),
            sale_price: cell("sale_price").map_or(Cost::None, Cost::of_text),
            sale_dates: cell("sale_price_effective_date"),
            price_varies: false,
            availability: cell("availability").and_then(|text| availability(&text)),
            tags: tags
                .filter_map(|(_, cell)| text(cell))
                .flat_map(|path| path.split('>').map(str::to_owned).collect::<Vec<_>>())
                .collect(),
        }
    }
}

/// Returns true for a column whose cells are tags.
fn is_tag(name: &str) -> bool {
    matches!(name, "product_type" | "brand") || name.starts_with("custom_label_")
}

/// Returns the name of a column as Merchant Center spells it: `Image link` is `image_link`.
fn name_of(header: &str) -> String {
    let name = header.trim().trim_start_matches("g:").to_ascii_lowercase();
    name.replace([' ', '-'], "_")
}
