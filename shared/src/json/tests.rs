use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sample {
    number: u64,
    small: u8,
    text: String,
    #[serde(default)]
    maybe: Option<Box<Self>>,
    kinds: Vec<Kind>,
    by_number: BTreeMap<u16, bool>,
    by_name: BTreeMap<Name, Wide>,
    pair: (u32, String),
    unit: (),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Name(Size);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Size {
    Small,
    Large,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Wide(u16, BTreeMap<u8, Narrow>, BTreeMap<u32, ()>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Narrow(u8);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Bare,
    One(String),
    Two(u32, bool),
    Named { at: u64, inner: Option<u32> },
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Bare),
        any::<String>().prop_map(Kind::One),
        any::<(u32, bool)>().prop_map(|(a, b)| Kind::Two(a, b)),
        any::<(u64, Option<u32>)>().prop_map(|(at, inner)| Kind::Named { at, inner }),
    ]
}

fn wide() -> impl Strategy<Value = Wide> {
    let by_byte = prop::collection::btree_map(any::<u8>(), any::<u8>().prop_map(Narrow), 0..3);
    (any::<u16>(), by_byte, prop::collection::btree_map(any::<u32>(), Just(()), 0..3))
        .prop_map(|(number, by_byte, by_number)| Wide(number, by_byte, by_number))
}

fn sample() -> impl Strategy<Value = Sample> {
    let flat = || {
        (
            any::<(u64, u8, String)>(),
            prop::collection::vec(kind(), 0..4),
            prop::collection::btree_map(any::<u16>(), any::<bool>(), 0..3),
            prop::collection::btree_map(
                prop_oneof![Just(Size::Small), Just(Size::Large)].prop_map(Name),
                wide(),
                0..3,
            ),
            any::<(u32, String)>(),
        )
            .prop_map(|((number, small, text), kinds, by_number, by_name, pair)| Sample {
                number,
                small,
                text,
                kinds,
                by_number,
                by_name,
                pair,
                ..Sample::default()
            })
    };
    (flat(), prop::option::of(flat()))
        .prop_map(|(outer, inner)| Sample { maybe: inner.map(Box::new), ..outer })
}

fn foreign() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read_back(sample in sample()) {
        for text in [serde_json::to_string(&sample), serde_json::to_string_pretty(&sample)] {
            let text = text.unwrap();
            let read = from_str::<Sample>(&text);
            prop_assert_eq!(read.as_ref(), Ok(&sample));
        }
    }

    #[test]
    fn written_text_is_that_of_serde_json(sample in sample(), other in foreign()) {
        prop_assert_eq!(to_string(&sample).unwrap(), serde_json::to_string(&sample).unwrap());
        prop_assert_eq!(to_string(&other).unwrap(), other.to_string());
    }

    #[test]
    fn unknown_member_of_any_form_is_ignored(sample in sample(), other in foreign()) {
        let mut value = serde_json::to_value(&sample).unwrap();
        value["other"] = other;
        prop_assert_eq!(from_str::<Sample>(&value.to_string()), Ok(sample));
    }

    /// One byte of a text is replaced: what is read even so is what `serde_json` reads.
    #[test]
    fn damaged_text_is_read_as_serde_json_reads_it(
        sample in sample(), other in foreign(), at in any::<prop::sample::Index>(), byte in 0u8..128,
    ) {
        let mut value = serde_json::to_value(&sample).unwrap();
        value["other"] = other;
        let mut text = value.to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(text) = std::str::from_utf8(&text)
            && let Ok(read) = from_str::<Sample>(text)
        {
            prop_assert_eq!(read, serde_json::from_str::<Sample>(text).unwrap());
        }
    }

    #[test]
    fn cut_text_is_an_error(sample in sample(), at in any::<prop::sample::Index>()) {
        let text = serde_json::to_string(&sample).unwrap();
        let cut = at.index(text.len());
        prop_assert!(text.get(..cut).is_none_or(|cut| from_str::<Sample>(cut).is_err()));
    }
}

#[test]
fn error_names_the_field_and_the_place_and_never_the_value() {
    let value = json!({"number": 1, "small": 2, "text": "hush", "kinds": [], "by_number": {}, "by_name": {}, "pair": [1, "x"], "unit": null});
    let failed = |name: &str, value: Option<Value>, sample: &Value| {
        let mut sample = sample.clone();
        match value {
            Some(value) => sample[name] = value,
            None => drop(sample.as_object_mut().unwrap().remove(name)),
        }
        from_str::<Sample>(&sample.to_string()).unwrap_err().to_string()
    };
    assert!(failed("number", None, &value).starts_with("the field `number` is missing at byte "));
    assert!(
        failed("kinds", Some(json!(["bar"])), &value)
            .starts_with("unknown name; there are bare, one, two, named")
    );
    assert!(
        failed("by_name", Some(json!({"hush": null})), &value)
            .starts_with("unknown name; there are small, large")
    );
    let twice = value.to_string().replacen('{', r#"{"number":1,"#, 1);
    assert!(
        from_str::<Sample>(&twice).unwrap_err().to_string().starts_with("the field `number` is there twice")
    );
    for (name, other) in [
        ("number", json!("hush")),
        ("number", json!(-1)),
        ("number", json!(1.5)),
        ("small", json!(256)),
        ("text", json!(7)),
        ("text", Value::Null),
        ("pair", json!([1])),
        ("pair", json!({"hush": 1})),
        ("kinds", json!([{"one": 7}])),
        ("kinds", json!(["one"])),
        ("by_number", json!({"hush": true})),
        ("by_name", json!({"small": [1, {"hush": 1}, {}]})),
    ] {
        let error = failed(name, Some(other), &value);
        assert!(
            error.contains("another type or is out of range at byte ") && !error.contains("hush"),
            "{error}"
        );
    }
}

#[test]
fn malformed_text_is_an_error() {
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1",
        "[1]]",
        "[01]",
        "[+1]",
        "[1]x",
        "[18446744073709551616]",
    ] {
        assert!(from_str::<Vec<u64>>(text).is_err(), "{text}");
    }
    for text in ["\"", "\"\\\"", "\"\\x\"", "\"\\ud800\"", "\"\n\""] {
        assert!(from_str::<String>(text).is_err(), "{text}");
    }
    assert_eq!(from_str::<String>(r#" "a\u00e9\n\ud83d\ude00\"" "#).unwrap(), "a\u{e9}\n\u{1f600}\"");
    assert_eq!(from_str::<Vec<u64>>(" [ 0 , 18446744073709551615 ] ").unwrap(), [0, u64::MAX]);
}

/// The stack of a worker is small.
#[test]
fn deep_text_is_an_error() {
    let nested = |depth: usize| format!(r#"{{"other":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    #[derive(Debug, Deserialize)]
    struct Empty {}
    assert!(from_str::<Empty>(&nested(126)).is_ok());
    assert!(from_str::<Empty>(&nested(127)).is_err());
    assert!(from_str::<Empty>(&nested(100_000)).is_err());
}

#[test]
fn unknown_variant_gets_the_names() {
    #[derive(Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Way {
        In,
        OutOf,
    }
    assert_eq!(variant("out_of"), Ok(Way::OutOf));
    assert_eq!(variant::<Way>("off"), Err(["in", "out_of"].as_slice()));
}
