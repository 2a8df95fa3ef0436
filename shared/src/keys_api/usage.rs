//! What a key's holder reads of it: `GET /v1/keys/me`.

use serde_json::{Value, json};

use crate::{
    key::KeyRecord, keys_api::describe, meter::MeterSnapshot, quota::WindowStatus, time::UnixMillis,
};

/// Returns the key as [`describe`] does, with its usage. `None` when the meter holds no record of
/// it.
#[must_use]
pub fn describe_usage(reading: &MeterSnapshot, now: UnixMillis) -> Option<Value> {
    let record = reading.record.as_ref()?;
    let standing = reading.answer.standing.as_ref()?;
    let mut answer = describe(record);
    let members = answer.as_object_mut()?;
    let minute_resets_at = now.plus(standing.minute.reset_ms);
    let usage = json!({
        "minute": window(Some(standing.minute), reading.minute_used, reading.reserved, minute_resets_at),
        "day": window(standing.day, reading.day_used, reading.reserved, now.day().end()),
    });
    members.insert("usage".to_owned(), usage);
    let today = json!({ "by_tool": reading.tally.by_tool, "by_status": reading.tally.by_status });
    members.insert("today".to_owned(), today);
    members.insert("last_used_at".to_owned(), json!(reading.last_used.map(UnixMillis::to_rfc3339)));
    members.insert("rotation".to_owned(), rotation(record, now));
    Some(answer)
}

/// What is `held` is lent to the gateway's locations, which give back what they do not use within seconds.
fn window(left: Option<WindowStatus>, used: u32, held: u32, resets_at: UnixMillis) -> Value {
    json!({
        "limit": left.map(|left| left.limit),
        "used": used,
        "held": held,
        "remaining": left.map(|left| left.remaining),
        "resets_at": resets_at.to_rfc3339(),
    })
}

fn rotation(record: &KeyRecord, now: UnixMillis) -> Value {
    match record.former.filter(|former| now < former.until) {
        Some(former) => json!({ "former_key_valid_until": former.until.to_rfc3339() }),
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        key::{KeyEnv, KeyId, VerifiedKey},
        meter::{Message, Meter, MeterRequest, Reply},
        secret::MacKeys,
        tier::Tier,
    };

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn key(tier: Tier) -> VerifiedKey {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        crate::key::ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), tier, NOW, [2; 16], &keys).1
    }

    fn reading(tier: Tier, calls: u32) -> MeterSnapshot {
        let key = key(tier);
        let mut meter = Meter::default();
        let mut ask = MeterRequest {
            holder: 1,
            seq: 0,
            key,
            want: true,
            rate: 0,
            record: None,
            version: 0,
            reports: Vec::new(),
            batch: None,
        };
        for _ in 0..calls {
            ask.seq += 1;
            meter.handle(Message::Ask(ask.clone()), NOW);
        }
        ask.seq += 1;
        match meter.handle(Message::Read(ask), NOW) {
            Reply::Read(reading) => reading,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_called_is_what_is_told() {
        let told = describe_usage(&reading(Tier::Free, 3), NOW).unwrap();
        assert_eq!(told["usage"]["minute"]["used"], 3);
        assert_eq!(told["usage"]["minute"]["remaining"], 7);
        assert_eq!(told["usage"]["day"]["remaining"], 97);
        assert_eq!(told["usage"]["day"]["resets_at"], "2025-11-22T00:00:00Z");
        assert_eq!(told["last_used_at"], "2025-11-21T08:00:00Z");
        assert_eq!(told["rotation"], Value::Null);
    }

    #[test]
    fn a_day_without_limit_is_told_as_such() {
        let told = describe_usage(&reading(Tier::Enterprise, 2), NOW).unwrap();
        assert_eq!(
            (&told["usage"]["day"]["limit"], &told["usage"]["day"]["used"]),
            (&Value::Null, &json!(2))
        );
    }

    #[test]
    fn nothing_told_of_a_key_holds_its_secret() {
        let text = describe_usage(&reading(Tier::Pro, 1), NOW).unwrap().to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}
