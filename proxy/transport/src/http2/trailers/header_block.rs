//! Reads header blocks (HPACK, RFC 7541) as far as it takes to know which fields are
//! pseudo-headers: the lengths of names and values, for the dynamic table, and no text.

use std::collections::VecDeque;

use super::huffman::CodedText;

/// The header blocks of one connection.
#[derive(Debug, Default)]
pub(super) struct HeaderBlocks {
    table: DynamicTable,
    next: Next,
    /// Whether the current block has a pseudo-header.
    has_pseudo: bool,
}

/// The next bytes of a header block.
#[derive(Clone, Copy, Debug, Default)]
enum Next {
    /// The first byte of a field.
    #[default]
    Field,
    /// The rest of an integer, its value so far, and how far the next byte is shifted.
    Integer(Integer, u64, u32),
    /// The length of a name.
    NameLength(Storing),
    /// The length of a value.
    ValueLength(Field),
    /// So many bytes of a name, and the length of what was decoded.
    Name(Field, u64, Text),
    /// So many bytes of a value, and the length of what was decoded.
    Value(Field, u64, Text),
}

/// The meaning of an integer.
#[derive(Clone, Copy, Debug)]
enum Integer {
    /// The index of a field.
    Field,
    /// The index of a name. A new name follows 0.
    Name(Storing),
    /// The maximum size of the dynamic table.
    TableSize,
    /// The length of a name.
    NameLength(Storing, Coding),
    /// The length of a value.
    ValueLength(Field, Coding),
}

/// Whether a field is added to the dynamic table.
type Storing = bool;

/// Whether a text is coded by Huffman's code.
type Coding = bool;

/// A field whose name is known.
#[derive(Clone, Copy, Debug, Default)]
struct Field {
    is_stored: Storing,
    name: Name,
}

/// Knowledge about a name.
#[derive(Clone, Copy, Debug, Default)]
struct Name {
    is_pseudo: bool,
    length: u64,
}

/// A text that is being read.
#[derive(Clone, Copy, Debug)]
enum Text {
    /// So many characters.
    Plain(u64),
    /// A text in Huffman's code.
    Coded(CodedText),
}

/// The dynamic table (RFC 7541, section 2.3.2): the names of its entries and their sizes, the newest
/// first.
#[derive(Debug)]
struct DynamicTable {
    entries: VecDeque<(Name, u64)>,
    size: u64,
    max: u64,
}

/// The initial maximum size of the dynamic table, which the proxy does not change.
const TABLE_SIZE: u64 = 4_096;
/// The size of an entry beside its name and value.
const ENTRY: u64 = 32;
/// The number of pseudo-headers at the beginning of the static table.
const STATIC_PSEUDO: u64 = 14;
/// The lengths of the names in the static table (RFC 7541, appendix A).
const STATIC_NAMES: [u8; 61] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14, 16, 13,
    12, 6, 4, 4, 6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4, 3,
    16,
];
/// The seven bits of the code of a colon.
const COLON: u8 = 0x5c;

impl HeaderBlocks {
    /// Begins a header block.
    pub(super) fn begin(&mut self) {
        (self.next, self.has_pseudo) = (Next::Field, false);
    }

    /// Returns true if the current block has a pseudo-header.
    pub(super) const fn has_pseudo(&self) -> bool {
        self.has_pseudo
    }

    /// Reads the next bytes of a header block. h2 closes the connection of a malformed one.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            bytes = match self.take_value(bytes) {
                0 => {
                    self.next = self.take(*first);
                    rest
                }
                taken => bytes.get(taken..).unwrap_or_default(),
            };
        }
    }

    /// Takes bytes of a value, up to its last one. Returns their number.
    fn take_value(&mut self, bytes: &[u8]) -> usize {
        let Next::Value(field, left, text) = &mut self.next else { return 0 };
        let taken = bytes.len().min(usize::try_from(*left - 1).unwrap_or(usize::MAX));
        *left -= taken as u64;
        // The table counts decoded lengths (RFC 7541, section 4.1). Miscounted once, all later
        // indices would name other fields.
        if field.is_stored {
            text.take(bytes.get(..taken).unwrap_or_default());
        }
        taken
    }

    /// Takes a byte. Returns what follows it.
    fn take(&mut self, byte: u8) -> Next {
        match self.next {
            Next::Field if byte & 0x80 != 0 => self.integer(Integer::Field, byte, 7),
            Next::Field if byte & 0x40 != 0 => self.integer(Integer::Name(true), byte, 6),
            Next::Field if byte & 0x20 != 0 => self.integer(Integer::TableSize, byte, 5),
            Next::Field => self.integer(Integer::Name(false), byte, 4),
            Next::Integer(meaning, value, shift) => {
                let part = u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(u64::MAX);
                let value = value.saturating_add(part);
                if byte & 0x80 == 0 {
                    self.after(meaning, value)
                } else {
                    // Saturating throughout: a client may send as many bytes as it likes before h2
                    // closes the connection.
                    Next::Integer(meaning, value, shift.saturating_add(7))
                }
            }
            Next::NameLength(is_stored) => {
                self.integer(Integer::NameLength(is_stored, byte & 0x80 != 0), byte, 7)
            }
            Next::ValueLength(field) => self.integer(Integer::ValueLength(field, byte & 0x80 != 0), byte, 7),
            Next::Name(mut field, left, mut text) => {
                if text.is_empty() {
                    // A colon has seven bits in Huffman's code, so the first byte shows it whatever
                    // follows.
                    field.name.is_pseudo = match text {
                        Text::Plain(_) => byte == b':',
                        Text::Coded(_) => byte >> 1 == COLON,
                    };
                    self.has_pseudo |= field.name.is_pseudo;
                }
                text.take(&[byte]);
                if left > 1 {
                    return Next::Name(field, left - 1, text);
                }
                field.name.length = text.characters();
                Next::ValueLength(field)
            }
            Next::Value(field, left, mut text) => {
                text.take(&[byte]);
                if left > 1 {
                    return Next::Value(field, left - 1, text);
                }
                self.end(field, text.characters())
            }
        }
    }

    /// Reads an integer whose first byte has a prefix of so many bits (RFC 7541, section 5.1).
    fn integer(&mut self, meaning: Integer, byte: u8, bits: u32) -> Next {
        let max = (1 << bits) - 1;
        match u64::from(byte) & max {
            value if value == max => Next::Integer(meaning, value, 0),
            value => self.after(meaning, value),
        }
    }

    /// Returns what follows an integer.
    fn after(&mut self, meaning: Integer, value: u64) -> Next {
        match meaning {
            Integer::Field => {
                self.has_pseudo |= self.table.name(value).is_pseudo;
                Next::Field
            }
            Integer::Name(is_stored) if value == 0 => Next::NameLength(is_stored),
            Integer::Name(is_stored) => {
                let name = self.table.name(value);
                self.has_pseudo |= name.is_pseudo;
                Next::ValueLength(Field { is_stored, name })
            }
            Integer::TableSize => {
                self.table.resize(value);
                Next::Field
            }
            Integer::NameLength(is_stored, is_coded) => match value {
                0 => Next::ValueLength(Field { is_stored, ..Field::default() }),
                length => {
                    let field = Field { is_stored, ..Field::default() };
                    Next::Name(field, length, Text::new(is_coded))
                }
            },
            Integer::ValueLength(field, is_coded) => match value {
                0 => self.end(field, 0),
                length => Next::Value(field, length, Text::new(is_coded)),
            },
        }
    }

    /// Ends a field whose value has this length.
    fn end(&mut self, field: Field, length: u64) -> Next {
        if field.is_stored {
            self.table.add(field.name, length);
        }
        Next::Field
    }
}

impl Text {
    fn new(is_coded: Coding) -> Self {
        if is_coded { Self::Coded(CodedText::default()) } else { Self::Plain(0) }
    }

    /// Returns true before the first byte.
    fn is_empty(&self) -> bool {
        match self {
            Self::Plain(length) => *length == 0,
            Self::Coded(text) => *text == CodedText::default(),
        }
    }

    /// Takes the next bytes.
    fn take(&mut self, bytes: &[u8]) {
        match self {
            Self::Plain(length) => *length += bytes.len() as u64,
            Self::Coded(text) => text.take(bytes),
        }
    }

    /// Returns the number of characters of a complete text.
    fn characters(&self) -> u64 {
        match self {
            Self::Plain(length) => *length,
            Self::Coded(text) => text.characters(),
        }
    }
}

impl DynamicTable {
    /// Returns what is known of the name of an entry, of the static or the dynamic table.
    fn name(&self, index: u64) -> Name {
        let place = |offset: u64| usize::try_from(index.checked_sub(offset)?).ok();
        match place(1).and_then(|place| STATIC_NAMES.get(place)) {
            Some(length) => Name { is_pseudo: index <= STATIC_PSEUDO, length: u64::from(*length) },
            None => {
                // The dynamic table follows the 61 entries of the static one (RFC 7541, section
                // 2.3.3).
                let entry = place(62).and_then(|place| self.entries.get(place));
                entry.map(|(name, _)| *name).unwrap_or_default()
            }
        }
    }

    fn add(&mut self, name: Name, value: u64) {
        let size = name.length.saturating_add(value).saturating_add(ENTRY);
        // An entry that is too large empties the table (RFC 7541, section 4.4).
        self.evict(self.max.saturating_sub(size));
        if size <= self.max {
            self.size += size;
            self.entries.push_front((name, size));
        }
    }

    fn resize(&mut self, max: u64) {
        // A client may ask for less, and not for more than was announced (RFC 7541, section 4.2).
        self.max = max.min(TABLE_SIZE);
        self.evict(self.max);
    }

    /// Removes the oldest entries until the table has at most this size.
    fn evict(&mut self, max: u64) {
        while self.size > max {
            let Some((_, size)) = self.entries.pop_back() else { break };
            self.size = self.size.saturating_sub(size);
        }
    }
}

impl Default for DynamicTable {
    fn default() -> Self {
        Self { entries: VecDeque::new(), size: 0, max: TABLE_SIZE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blocks: &mut HeaderBlocks, bytes: &[u8]) -> bool {
        blocks.begin();
        blocks.read(bytes);
        assert!(matches!(blocks.next, Next::Field), "{:?}", blocks.next);
        blocks.has_pseudo()
    }

    /// The examples of RFC 7541, appendices C.3 and C.4: requests, plain and in Huffman's code.
    #[test]
    fn table_is_that_of_the_examples() {
        let plain: [&[u8]; 3] = [
            b"\x82\x86\x84\x41\x0fwww.example.com",
            b"\x82\x86\x84\xbe\x58\x08no-cache",
            b"\x82\x87\x85\xbf\x40\x0acustom-key\x0ccustom-value",
        ];
        let coded: [&[u8]; 3] = [
            b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
            b"\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf",
            b"\x82\x87\x85\xbf\x40\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf",
        ];
        for requests in [plain, coded] {
            let mut blocks = HeaderBlocks::default();
            for (request, size) in requests.into_iter().zip([57, 110, 164]) {
                assert!(read(&mut blocks, request));
                assert_eq!(blocks.table.size, size);
            }
            // custom-key, cache-control and :authority.
            assert!(!read(&mut blocks, b"\xbe") && !read(&mut blocks, b"\xbf") && read(&mut blocks, b"\xc0"));
            // A maximum of 0 and the old one again.
            assert!(!read(&mut blocks, b"\x20\x3f\xe1\x1f"));
            assert_eq!((blocks.table.entries.len(), blocks.table.max), (0, 4_096));
        }
    }

    #[test]
    fn pseudo_header_is_known_by_index_and_by_name() {
        let mut blocks = HeaderBlocks::default();
        for (block, has_pseudo) in [
            (&b"\x53\x01a"[..], false),
            (b"\x83", true),
            (b"\x8e", true),
            (b"\x8f", false),
            (b"\x08\x03200", true),
            (b"\x0f\x00\x01a", false),
            (b"\x00\x07:custom\x01a", true),
            (b"\x00\x06custom\x02:a", false),
            (b"\x10\x01a\x00\x10\x07:custom\x00", true),
            // `:path` in Huffman's code.
            (b"\x00\x84\xb9\x58\xd3\x3f\x01/", true),
            // A field that is stored, and then named by its index.
            (b"\x40\x05:path\x02/a", true),
            (b"\xbe", true),
            (b"\x40\x01a\x01b", false),
            (b"\xbe", false),
            (b"\xbf", true),
            (b"", false),
        ] {
            assert_eq!(read(&mut blocks, block), has_pseudo, "{block:x?}");
        }
    }
}
