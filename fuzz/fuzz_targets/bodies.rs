#![no_main]

use biolink::{
    page::{IdSource, Reader},
    webhooks_api::Replay,
};
use fuzz::NOW;
use libfuzzer_sys::fuzz_target;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use shared::{
    fields::Fields,
    keys_api::{IssueRequest, read_change, read_grace},
};

fuzz_target!(|body: &[u8]| check(body));

/// Oracle: serde_json. A body is read if it is one JSON object that has no member twice, and with the
/// same members. Each reader of bodies accepts only such ones, and each of its errors is about a
/// member that the body has or lacks.
fn check(body: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object);
    let is_unique = serde_json::from_slice::<Members>(body).is_ok_and(|members| {
        theirs.as_ref().is_some_and(|value| Some(members.0) == value.as_object().map(Map::len))
    });
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

/// The number of members of an object, with those that come twice.
struct Members(usize);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Counter)
    }
}

struct Counter;

impl<'de> Visitor<'de> for Counter {
    type Value = Members;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Members, A::Error> {
        let mut found = 0;
        while members.next_entry::<String, Value>()?.is_some() {
            found += 1;
        }
        Ok(Members(found))
    }
}
