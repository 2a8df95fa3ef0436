//! The reader of one JSON text, as serde's data format.

mod access;

use std::borrow::Cow;

use serde::{
    de::{Deserializer, Visitor},
    forward_to_deserialize_any,
};
use serde_json::Value;

use self::access::{Items, Variant};
use super::Fault;

/// Most arrays and objects within each other, as in `serde_json`.
const MAX_DEPTH: u8 = 127;

/// A position in a JSON text.
pub(super) struct Reader<'de> {
    text: &'de str,
    at: usize,
    depth: u8,
}

impl<'de> Reader<'de> {
    pub(super) const fn new(text: &'de str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Returns the number of bytes that were read.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// Checks that nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        if self.peek().is_none() { Ok(()) } else { Err(Fault::malformed()) }
    }

    /// Returns the next byte after white space, and leaves it.
    #[inline(never)]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.text.as_bytes().get(self.at).copied()?;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Takes one byte after white space.
    #[inline(never)]
    fn take(&mut self, byte: u8) -> Result<(), Fault> {
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
    #[inline(never)]
    fn word(&mut self, word: &str) -> Result<(), Fault> {
        self.peek();
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(Fault::other_type());
        }
        self.at += word.len();
        Ok(())
    }

    fn boolean(&mut self) -> Result<bool, Fault> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            _ => self.word("false").map(|()| false),
        }
    }

    #[inline(never)]
    fn string(&mut self) -> Result<Cow<'de, str>, Fault> {
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
                0..0x20 => return Err(Fault::malformed()),
                _ => {}
            }
        }
        let whole = |from: usize, to: usize| self.text.get(from..to).ok_or_else(Fault::malformed);
        if !is_escaped {
            return whole(start, self.at - 1).map(Cow::Borrowed);
        }
        match serde_json::from_str(whole(start - 1, self.at)?) {
            Ok(Value::String(text)) => Ok(Cow::Owned(text)),
            _ => Err(Fault::malformed()),
        }
    }

    /// Takes what looks like a number.
    #[inline(never)]
    fn number(&mut self) -> &'de str {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length =
            rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let length = length.count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Returns true if a list has one more item, and takes the comma before it.
    #[inline(never)]
    fn has_item(&mut self, close: u8, is_first: &mut bool) -> Result<bool, Fault> {
        if self.peek() == Some(close) {
            return Ok(false);
        }
        if !std::mem::replace(is_first, false) {
            self.take(b',')?;
            if self.peek() == Some(close) {
                return Err(Fault::malformed());
            }
        }
        Ok(true)
    }

    #[inline(never)]
    fn open(&mut self, byte: u8) -> Result<(), Fault> {
        self.take(byte)?;
        if self.depth >= MAX_DEPTH {
            return Err(Fault::malformed());
        }
        self.depth += 1;
        Ok(())
    }

    #[inline(never)]
    fn close(&mut self, byte: u8) -> Result<(), Fault> {
        self.depth -= 1;
        self.take(byte)
    }

    fn array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        self.open(b'[')?;
        let value = visitor.visit_seq(Items { reader: self, is_first: true })?;
        self.close(b']').map(|()| value)
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        self.open(b'{')?;
        let value = visitor.visit_map(Items { reader: self, is_first: true })?;
        self.close(b'}').map(|()| value)
    }
}

/// Reads a number without a sign, fraction or exponent, as the gateway writes all of its own.
#[inline(never)]
fn unsigned(text: &str) -> Result<u64, Fault> {
    let is_canonical = text == "0" || text.starts_with(|c| matches!(c, '1'..='9'));
    if is_canonical { text.parse().map_err(|_| Fault::other_type()) } else { Err(Fault::other_type()) }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.peek() {
            Some(b'{') => self.object(visitor),
            Some(b'[') => self.array(visitor),
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(_) => self.deserialize_u64(visitor),
            None => Err(Fault::malformed()),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bool(self.boolean()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_u64(unsigned(self.number())?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_str(&text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.peek() == Some(b'n') {
            self.word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.array(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.array(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.object(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.object(visitor)
    }

    /// `"name"`, or `{"name": content}`.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let has_content = self.peek() == Some(b'{');
        if has_content {
            self.open(b'{')?;
        }
        let value = visitor.visit_enum(Variant { reader: self, has_content })?;
        if has_content {
            self.close(b'}')?;
        }
        Ok(value)
    }

    /// Another version may have written what is ignored, with numbers of any form.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            return self.deserialize_any(visitor);
        }
        match serde_json::from_str(self.number()) {
            Ok(Value::Number(_)) => visitor.visit_unit(),
            _ => Err(Fault::malformed()),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 f64 char bytes byte_buf unit_struct identifier
    }
}
