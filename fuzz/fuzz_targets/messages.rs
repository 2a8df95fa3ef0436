#![no_main]

use std::fmt::Debug;

use biolink::{
    events::Batch,
    pages_api::{AccountMessage, SlugMessage, Snapshot},
    webhooks::{Health, Subscriptions},
};
use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};
use shared::{json, key::KeyRecord, meter};

fuzz_target!(|text: &str| {
    check::<meter::Message>(text);
    check::<meter::Reply>(text);
    check::<KeyRecord>(text);
    check::<AccountMessage>(text);
    check::<SlugMessage>(text);
    check::<Snapshot>(text);
    check::<Batch>(text);
    check::<Subscriptions>(text);
    check::<Health>(text);
});

/// Oracle: serde_json. What our reader accepts, it accepts too, as the same value, and what it writes of
/// that, both read back. What both refuse is no value for either.
fn check<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) {
    let (ours, theirs) = (json::from_str::<T>(text), serde_json::from_str::<T>(text));
    let value = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs, "{text}");
            ours
        }
        (Ok(ours), Err(error)) => panic!("{text} is {ours:?}, and serde_json says {error}"),
        // It also reads a struct from an array: what it writes of that is for our reader.
        (Err(_), Ok(theirs)) => theirs,
        (Err(_), Err(_)) => return,
    };
    let written = serde_json::to_string(&value).expect("a value");
    assert_eq!(json::from_str::<T>(&written).as_ref(), Ok(&value), "{written}");
    assert_eq!(serde_json::from_str::<T>(&written).ok(), Some(value), "{written}");
}
