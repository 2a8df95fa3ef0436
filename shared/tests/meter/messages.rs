//! The form of messages and state, across versions.

use serde_json::{Value, json};
use shared::key::KeyRecord;
use shared::meter::{HeldShare, LeaseReport, Message, Meter, MeterRequest, MeterResponse, Reply, Verdict};
use shared::policy::LimitOverrides;
use shared::tier::Tier;
use shared::time::UtcDay;
use shared::tool::Tool;

use crate::{NOON, batch, record, request, restarted, send, snapshot};

/// Adds a field that this version does not know to every object in `value`.
fn with_unknown_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(with_unknown_fields);
            // An enum's variant is an object of one field; a second one would be another variant.
            let variant = fields.len() == 1 && fields.values().all(|field| field.is_object());
            let map = fields.keys().all(|name| name.bytes().all(|b| b.is_ascii_digit()));
            if !variant && !map && !fields.contains_key("state") {
                fields.insert("of_tomorrow".to_owned(), json!(1));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(with_unknown_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn messages_and_state_of_a_newer_version_are_read() {
    let mut meter = Meter::default();
    let stored = KeyRecord { limits: LimitOverrides::default(), ..record(Tier::Pro, 1) };
    let sent = Message::Ask(MeterRequest {
        rate: 10_000,
        record: Some(stored),
        batch: Some(batch(1, 1)),
        reports: vec![LeaseReport { lease: 1, spent: vec![(0, 1)], closed: false }],
        ..request(Tier::Pro, 1, 1)
    });
    let mut text = serde_json::to_value(&sent).unwrap();
    // The key's own limits are strict everywhere, since a client writes them.
    text["ask"]["record"].as_object_mut().unwrap().remove("limits");
    with_unknown_fields(&mut text);
    text["ask"]["batch"]["ended"].as_array_mut().unwrap().push(json!(["hologram", 200, 1]));
    assert_eq!(serde_json::from_value::<Message>(text).unwrap(), sent);

    let reply = meter.handle(sent, NOON);
    let mut text = serde_json::to_value(&reply).unwrap();
    text["ask"]["record"].as_object_mut().unwrap().remove("limits");
    with_unknown_fields(&mut text);
    assert_eq!(serde_json::from_value::<Reply>(text).unwrap(), reply);

    let mut text = serde_json::to_value(&meter).unwrap();
    text["record"].as_object_mut().unwrap().remove("limits");
    with_unknown_fields(&mut text);
    assert_eq!(serde_json::from_value::<Meter>(text).unwrap(), meter);
}

#[test]
fn optional_fields_of_messages_and_state_have_defaults() {
    let sent = request(Tier::Free, 1, 1);
    let mut text = serde_json::to_value(Message::Ask(sent.clone())).unwrap();
    let fields = text["ask"].as_object_mut().unwrap();
    for optional in ["rate", "record", "version", "reports", "batch"] {
        fields.remove(optional);
    }
    assert_eq!(serde_json::from_value::<Message>(text).unwrap(), Message::Ask(sent));

    let response: MeterResponse = serde_json::from_value(json!({"verdict": "allow"})).unwrap();
    assert_eq!((response.batch, response.day, response.recheck_ms), (0, UtcDay(0), None));
    assert_eq!(serde_json::from_value::<Meter>(json!({})).unwrap(), Meter::default());
}

#[test]
fn message_reads_back_with_every_field() {
    let sent = MeterRequest {
        tool: Some(Tool::Qr.label()),
        admit_within_ms: 5_000,
        retry: true,
        unread: true,
        withdrawn: vec![1],
        budget: HeldShare { heard: 2, calls: 3 },
        ..request(Tier::Free, 1, 1)
    };
    let mut text = serde_json::to_value(&sent).unwrap();
    assert_eq!(serde_json::from_value::<MeterRequest>(text.clone()).unwrap(), sent);
    text["tool"] = json!("hologram");
    let unknown = serde_json::from_value::<MeterRequest>(text).unwrap();
    assert_eq!(unknown, MeterRequest { tool: None, ..sent }, "a tool of another version");
    let mut reply = send(&mut Meter::default(), &request(Tier::Free, 1, 1), NOON);
    reply.tallied = true;
    let text = serde_json::to_value(&reply).unwrap();
    assert_eq!(serde_json::from_value::<MeterResponse>(text).unwrap(), reply);
}

/// Each message and each key's state would be longer by them.
#[test]
fn usual_values_are_left_out_of_messages_and_state() {
    let sent = serde_json::to_value(request(Tier::Free, 1, 1)).unwrap();
    for field in ["tool", "admit_within_ms", "retry", "unread", "withdrawn", "record", "batch", "budget"] {
        assert_eq!(sent.get(field), None, "{field}");
    }
    let refused = send(&mut Meter::default(), &request(Tier::Free, 1, 1), NOON.plus(4_000_000));
    let reply = serde_json::to_value(refused).unwrap();
    for field in ["quota", "lease", "record", "tallied", "recheck_ms", "budget"] {
        assert_eq!(reply.get(field), None, "{field}");
    }
    let state = serde_json::to_value(Meter::default()).unwrap();
    assert_eq!((state.get("budget"), state.get("issue")), (None, None));
}

/// Of 400 calls that ask at the same time, 100 are admitted. A second copy of any of them is counted as one.
#[test]
fn second_copies_of_a_burst_are_counted_once() {
    let mut meter = Meter::default();
    let ask = |seq| request(Tier::Pro, u64::from(seq % 8), seq);
    let verdicts: Vec<_> = (0..400).map(|seq| send(&mut meter, &ask(seq), NOON).verdict).collect();
    for (seq, first) in (0..100).zip(verdicts) {
        let again = MeterRequest { retry: true, ..ask(seq) };
        assert_eq!(
            (first, send(&mut meter, &again, NOON.plus(1_000)).verdict),
            (Verdict::Allow, Verdict::Allow)
        );
    }
    assert_eq!(snapshot(&meter, Tier::Pro, NOON.plus(1_000)).day_used, 100);
}

#[test]
fn state_of_the_busiest_key_takes_a_few_kilobytes() {
    let mut meter = Meter::default();
    let limits = LimitOverrides { minute: 100_000.try_into().ok(), ..LimitOverrides::NONE };
    let stored = KeyRecord { limits, ..record(Tier::Enterprise, 1) };
    send(&mut meter, &MeterRequest { record: Some(stored), ..request(Tier::Enterprise, 1, 0) }, NOON);
    for seq in 1..6_000u32 {
        let now = NOON.plus(u64::from(seq) * 20);
        // Leases of 24 isolates at a time, each reporting its latest spends.
        let holder = u64::MAX - u64::from(seq % 24);
        let rate = if seq % 100 < 24 { 10_000 } else { 0 };
        send(&mut meter, &MeterRequest { rate, ..request(Tier::Enterprise, holder, seq) }, now);
    }
    let size = serde_json::to_string(&meter).unwrap().len();
    assert!(size < 32_000, "{size} bytes");
}

#[test]
fn message_that_only_reads_changes_nothing_that_is_stored() {
    let mut meter = Meter::default();
    let (_, is_changed) = meter.step(Message::Ask(request(Tier::Free, 1, 1)), NOON);
    assert!(is_changed, "a call is counted");
    for (passes, seq) in [(0, 2), (400, 3), (6_000, 4), (61_000, 5), (90_000_000, 6)] {
        let (mut stored, now) = (restarted(&meter), NOON.plus(passes));
        let read = Message::Read(request(Tier::Free, 1, seq));
        let (reply, is_changed) = meter.step(read.clone(), now);
        assert!(!is_changed, "{passes}");
        assert_eq!(stored.handle(read, now), reply, "the state before gives the same reply");
        assert!(!meter.step(Message::Show { record: None }, now).1);
    }
    let now = NOON.plus(90_000_000);
    let nothing = MeterRequest { want: false, ..request(Tier::Free, 1, 7) };
    assert!(!meter.step(Message::Ask(nothing), now).1, "no call, no lease");
    let ended = MeterRequest { batch: Some(batch(1, 1)), ..request(Tier::Free, 1, 7) };
    assert!(meter.step(Message::Read(ended.clone()), now).1, "a report is counted");
    assert!(!meter.step(Message::Read(ended), now).1, "once");
    assert!(
        meter.step(Message::Show { record: Some(record(Tier::Pro, 9)) }, now).1,
        "a newer record is kept"
    );
}
