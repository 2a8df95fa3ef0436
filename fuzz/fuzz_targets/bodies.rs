#![no_main]

use std::collections::HashSet;

use biolink::{
    page::{IdSource, Reader},
    webhooks_api::Replay,
};
use fuzz::NOW;
use libfuzzer_sys::fuzz_target;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use shared::{
    fields::Fields,
    keys_api::{IssueRequest, read_change, read_grace},
};

fuzz_target!(|body: &[u8]| check(body));

/// Oracle: serde_json. A body is read if it is one JSON object, in which no object has a member twice,
/// and with the same members. Each reader of bodies accepts only such ones, and each of its errors is about a
/// member that the body has or lacks.
fn check(body: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object);
    let is_unique = theirs.is_some() && serde_json::from_slice::<Unique>(body).is_ok_and(|value| value.0);
    let ours = Fields::read(body);
    assert_eq!(ours.is_ok(), is_unique, "{:?}", body.escape_ascii().to_string());
    let accepted = [
        IssueRequest::read(body, None).and_then(|request| request.check(NOW)).is_ok(),
        read_change(body, NOW).is_ok(),
        read_grace(body).is_ok() && !body.is_empty(),
        Replay::read(body, NOW).is_ok(),
    ];
    assert!(is_unique || accepted == [false; 4], "{accepted:?}: {:?}", body.escape_ascii().to_string());
    let Ok(members) = ours.map(Fields::into_members) else { return };
    assert_eq!(Some(Value::Object(members.clone())), theirs);
    if let Err(problem) = Reader::new(None, IdSource::new([5; 16])).page(members) {
        assert!(!problem.detail().is_empty());
    }
}

/// Whether no object within a value has a member twice.
struct Unique(bool);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Unique, E> {
        Ok(Unique(true))
    }

    fn visit_i64<E>(self, _value: i64) -> Result<Unique, E> {
        Ok(Unique(true))
    }

    fn visit_u64<E>(self, _value: u64) -> Result<Unique, E> {
        Ok(Unique(true))
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Unique, E> {
        Ok(Unique(true))
    }

    fn visit_str<E>(self, _value: &str) -> Result<Unique, E> {
        Ok(Unique(true))
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique(true))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        let mut is_unique = true;
        while let Some(item) = items.next_element::<Unique>()? {
            is_unique &= item.0;
        }
        Ok(Unique(is_unique))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unique, A::Error> {
        let (mut names, mut is_unique) = (HashSet::new(), true);
        while let Some((name, value)) = members.next_entry::<String, Unique>()? {
            is_unique &= names.insert(name) && value.0;
        }
        Ok(Unique(is_unique))
    }
}
