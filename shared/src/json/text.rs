//! The tokens of a JSON text.

use std::borrow::Cow;

use serde_json::Value;

use super::fault::Fault;

/// Most arrays and objects within each other, as in `serde_json`.
const MAX_DEPTH: u8 = 127;

/// A JSON text that is read from its start.
pub(super) struct Text<'de> {
    text: &'de str,
    at: usize,
    depth: u8,
    is_cut_off: bool,
}

impl<'de> Text<'de> {
    pub(super) const fn new(text: &'de str) -> Self {
        Self { text, at: 0, depth: 0, is_cut_off: false }
    }

    /// Returns the number of bytes that were read.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// Checks that nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        if self.peek().is_none() && !self.is_cut_off { Ok(()) } else { Err(Fault::malformed()) }
    }

    /// Returns the next byte after white space, and leaves it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.text.as_bytes().get(self.at).copied()?;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Takes one byte after white space.
    pub(super) fn take(&mut self, byte: u8) -> Result<(), Fault> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            // `null` where an object is expected, and the like.
            Some(_) if matches!(byte, b'{' | b'[' | b'"') => Err(Fault::other_type()),
            _ => Err(Fault::malformed()),
        }
    }

    /// Takes `null`, `true` or `false`.
    pub(super) fn word(&mut self, word: &str) -> Result<(), Fault> {
        self.peek();
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(Fault::other_type());
        }
        self.at += word.len();
        Ok(())
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Fault> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            _ => self.word("false").map(|()| false),
        }
    }

    pub(super) fn string(&mut self) -> Result<Cow<'de, str>, Fault> {
        self.take(b'"')?;
        let start = self.at;
        let mut is_escaped = false;
        loop {
            let byte = self.text.as_bytes().get(self.at).ok_or_else(Fault::malformed)?;
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    is_escaped = true;
                    self.at += 1;
                }
                // Control characters must be escaped (RFC 8259, section 7).
                0..0x20 => return Err(Fault::malformed()),
                _ => {}
            }
        }
        let whole = |from: usize, to: usize| self.text.get(from..to).ok_or_else(Fault::malformed);
        if !is_escaped {
            return whole(start, self.at - 1).map(Cow::Borrowed);
        }
        // Escapes are rare, and their surrogates are easy to get wrong.
        match serde_json::from_str(whole(start - 1, self.at)?) {
            Ok(Value::String(text)) => Ok(Cow::Owned(text)),
            _ => Err(Fault::malformed()),
        }
    }

    /// Takes what looks like a number.
    pub(super) fn number(&mut self) -> &'de str {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length =
            rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let length = length.count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Returns true if a list has one more item, and takes the comma before it.
    pub(super) fn has_item(&mut self, close: u8, is_first: &mut bool) -> Result<bool, Fault> {
        if self.peek() == Some(close) {
            return Ok(false);
        }
        if !std::mem::replace(is_first, false) {
            self.take(b',')?;
            // A comma before the end is not JSON.
            if self.peek() == Some(close) {
                return Err(Fault::malformed());
            }
        }
        Ok(true)
    }

    /// Returns the name of the next member of an object, or `None` at its end, which it takes.
    pub(super) fn member(&mut self, is_first: &mut bool) -> Result<Option<Cow<'de, str>>, Fault> {
        if !self.has_item(b'}', is_first)? {
            self.close(b'}');
            return Ok(None);
        }
        let name = self.string()?;
        self.take(b':')?;
        Ok(Some(name))
    }

    pub(super) fn open(&mut self, byte: u8) -> Result<(), Fault> {
        self.take(byte)?;
        // Each level is a call. A text of brackets alone would use up the stack.
        if self.depth >= MAX_DEPTH {
            return Err(Fault::malformed());
        }
        self.depth += 1;
        Ok(())
    }

    /// Takes the end of a list. If it is not there, the text ends here, and what reads on fails: an error would have each type drop
    /// a value that was read, by its own code.
    pub(super) fn close(&mut self, byte: u8) {
        self.depth -= 1;
        if self.take(byte).is_err() {
            self.is_cut_off = true;
            self.text = self.text.get(..self.at).unwrap_or_default();
        }
    }
}

/// Reads a number without a sign, fraction or exponent, as the gateway writes all that it has.
pub(super) fn unsigned(text: &str) -> Result<u64, Fault> {
    // `parse` takes a leading zero or plus, which is no number of JSON (RFC 8259, section 6).
    let is_canonical = text == "0" || text.starts_with(|c| matches!(c, '1'..='9'));
    if is_canonical { text.parse().map_err(|_| Fault::other_type()) } else { Err(Fault::other_type()) }
}
