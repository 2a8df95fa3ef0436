//! The format of a JSON text for serde.
//!
//! Fields and variants are found by their place in the list of names that the derived reader hands over, by one function for all
//! types: the derived comparisons with each name would be in each reader. In that list an alias has its own place, which is
//! no field's, so no type has aliases.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::fault::{Fault, FaultKind};
use super::text::{Text, unsigned};

impl<'de> Deserializer<'de> for &mut Text<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.peek() {
            Some(b'{') => object(self, visitor),
            Some(b'[') => array(self, visitor),
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
        array(self, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Fault> {
        array(self, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        array(self, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        object(self, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        fields_of(self, fields, visitor)
    }

    /// `"name"`, or `{"name": content}`.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let has_content = self.peek() == Some(b'{');
        if has_content {
            self.open(b'{')?;
        }
        let value = visitor.visit_enum(Variant { text: self, names, has_content });
        if has_content && value.is_ok() {
            self.close(b'}');
        }
        value
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

/// Reads an array.
// As the two below: inlined, they double what reads a meter's state to 12 KB, which V8 optimizes first in a new isolate.
#[inline(never)]
fn array<'de, V: Visitor<'de>>(text: &mut Text<'de>, visitor: V) -> Result<V::Value, Fault> {
    text.open(b'[')?;
    let value = visitor.visit_seq(Items { text, is_first: true });
    if value.is_ok() {
        text.close(b']');
    }
    value
}

/// Reads an object, whose end is taken where no member follows.
#[inline(never)]
fn object<'de, V: Visitor<'de>>(text: &mut Text<'de>, visitor: V) -> Result<V::Value, Fault> {
    text.open(b'{')?;
    visitor.visit_map(Items { text, is_first: true })
}

/// Reads an object that has fields of these names.
#[inline(never)]
fn fields_of<'de, V: Visitor<'de>>(
    text: &mut Text<'de>,
    names: &'static [&'static str],
    visitor: V,
) -> Result<V::Value, Fault> {
    text.open(b'{')?;
    visitor.visit_map(Fields { text, names, next: 0, is_first: true })
}

/// The items of an array or the members of an object.
struct Items<'a, 'de> {
    text: &'a mut Text<'de>,
    is_first: bool,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        if !self.text.has_item(b']', &mut self.is_first)? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.text).map(Some)
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        match self.text.member(&mut self.is_first)? {
            Some(name) => seed.deserialize(Name(&name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        seed.deserialize(&mut *self.text)
    }
}

/// The members of an object whose names are known.
struct Fields<'a, 'de> {
    text: &'a mut Text<'de>,
    names: &'static [&'static str],
    /// The place after the last one: fields are written in their order.
    next: usize,
    is_first: bool,
}

impl Fields<'_, '_> {
    /// Returns the place of the next member's name, or `None` at the end. Not generic, so that the worker has it once.
    fn next_place(&mut self) -> Result<Option<usize>, Fault> {
        let Some(name) = self.text.member(&mut self.is_first)? else { return Ok(None) };
        let (before, after) = self.names.split_at_checked(self.next).unwrap_or_default();
        let at = match position(after, &name) {
            Some(at) => Some(self.next + at),
            None => position(before, &name),
        };
        if let Some(at) = at {
            self.next = at + 1;
        }
        Ok(Some(at.unwrap_or(UNKNOWN)))
    }
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        match self.next_place()? {
            Some(at) => seed.deserialize(Place { at, names: self.names }).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        seed.deserialize(&mut *self.text)
    }
}

fn position(names: &[&str], name: &str) -> Option<usize> {
    names.iter().position(|known| *known == name)
}

/// The place of a name that is none of those of a type.
const UNKNOWN: usize = usize::MAX;

/// The place of a name among those of the fields or the variants of a type.
struct Place {
    at: usize,
    names: &'static [&'static str],
}

impl<'de> Deserializer<'de> for Place {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // A visitor refuses no other place than one beyond its names, if it does not ignore that.
        visitor.visit_u64(self.at as u64).map_err(|_: Fault| Fault::new(FaultKind::UnknownName(self.names)))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The name of a member: a text, or a number that is written as one.
pub(super) struct Name<'a>(pub(super) &'a str);

impl<'de> Deserializer<'de> for Name<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_u64(unsigned(self.0)?)
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

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(Place { at: position(names, self.0).unwrap_or(UNKNOWN), names })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant without content.
impl<'de> EnumAccess<'de> for Place {
    type Error = Fault;
    type Variant = NoContent;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, NoContent), Fault> {
        Ok((seed.deserialize(self)?, NoContent))
    }
}

/// What a variant has that is a name alone.
struct NoContent;

impl<'de> VariantAccess<'de> for NoContent {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _seed: T) -> Result<T::Value, Fault> {
        Err(Fault::other_type())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, _visitor: V) -> Result<V::Value, Fault> {
        Err(Fault::other_type())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Fault> {
        Err(Fault::other_type())
    }
}

/// A variant of an enum: its name, and its content if it has any.
struct Variant<'a, 'de> {
    text: &'a mut Text<'de>,
    names: &'static [&'static str],
    has_content: bool,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a, 'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Self), Fault> {
        let place = Place { at: self.place()?, names: self.names };
        Ok((seed.deserialize(place)?, self))
    }
}

impl<'a, 'de> Variant<'a, 'de> {
    fn place(&mut self) -> Result<usize, Fault> {
        let name = self.text.string()?;
        if self.has_content {
            self.text.take(b':')?;
        }
        Ok(position(self.names, &name).unwrap_or(UNKNOWN))
    }

    fn content(self) -> Result<&'a mut Text<'de>, Fault> {
        if self.has_content { Ok(self.text) } else { Err(Fault::other_type()) }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        if self.has_content { self.text.word("null") } else { Ok(()) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self.content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Fault> {
        array(self.content()?, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        fields_of(self.content()?, fields, visitor)
    }
}
