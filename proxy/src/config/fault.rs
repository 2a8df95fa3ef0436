//! What is wrong with a configuration file, and where.

use std::{cell::RefCell, fmt, ops::Range};

/// One mistake: where it is, which key it concerns, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line and column, both from 1; `None` for something that is not there at all.
    pub place: Option<(usize, usize)>,
    /// The key's path, such as `pools.qr.upstreams[0]`; empty for the file as a whole.
    pub key: String,
    /// What is wrong and what would be right.
    pub detail: String,
}

/// Every mistake of one file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The file, as it was named.
    pub file: String,
    /// At least one.
    pub list: Vec<Fault>,
}

/// Where mistakes are gathered while a file is read.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    text: &'a str,
    list: RefCell<Vec<(usize, Fault)>>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, list: RefCell::default() }
    }

    pub(crate) fn add(&self, span: Option<Range<usize>>, key: &str, detail: impl Into<String>) {
        let order = span.as_ref().map_or(usize::MAX, |span| span.start);
        let place = span.map(|span| position(self.text, span.start));
        let fault = Fault { place, key: key.to_owned(), detail: detail.into() };
        self.list.borrow_mut().push((order, fault));
    }

    /// `value` when nothing was wrong, else everything that was.
    pub(crate) fn into_result<T>(self, file: &str, value: T) -> Result<T, Faults> {
        let mut list = self.list.into_inner();
        if list.is_empty() {
            return Ok(value);
        }
        list.sort_by_key(|(order, _)| *order);
        Err(Faults { file: file.to_owned(), list: list.into_iter().map(|(_, fault)| fault).collect() })
    }
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).unwrap_or("").chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.list {
            match fault.place {
                Some((line, column)) => write!(f, "{}:{line}:{column}: ", self.file)?,
                None => write!(f, "{}: ", self.file)?,
            }
            match fault.key.as_str() {
                "" => writeln!(f, "{}", fault.detail)?,
                key => writeln!(f, "{key}: {}", fault.detail)?,
            }
        }
        let count = self.list.len();
        write!(f, "{count} fault{} found", if count == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_characters_from_one() {
        assert_eq!(position("a\nüb = 1", 0), (1, 1));
        assert_eq!(position("a\nüb = 1", 4), (2, 2));
        assert_eq!(position("a\nb", 99), (2, 2));
    }
}
