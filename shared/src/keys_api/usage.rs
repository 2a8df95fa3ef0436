//! A key with its usage: `GET /v1/keys/me`.

use serde_json::{Map, Value, json};

use super::secrets;
use crate::key::{KeyRecord, Scope, VerifiedKey};
use crate::keys_api::describe;
use crate::meter::{MeterSnapshot, RefusedCalls};
use crate::quota::{SpentUnits, UnitsStatus, WindowStatus};
use crate::time::UnixMillis;

/// The members of a key that each of its secrets sees.
const SEEN_BY_ALL: [&str; 2] = ["id", "secret"];
/// Those that a secret sees too whose calls of tools share them.
const SEEN_BY_CALLERS: [&str; 5] = ["tier", "status", "limits", "expires_at", "usage"];

/// Returns the key for one of its secrets: what the secret is, what its calls share with those of others, and
/// the rest if it manages the key. `None` as [`describe_usage`], and if the secret may not be used.
pub fn describe_own(snapshot: &MeterSnapshot, key: &VerifiedKey, now: UnixMillis) -> Option<Value> {
    let held = snapshot.record.as_ref()?.hold(key, now).ok()?;
    let (mut body, scopes) = (describe_usage(snapshot, now)?, held.scopes());
    let members = body.as_object_mut()?;
    members.insert("secret".to_owned(), held.named.map(secrets::describe).into());
    if scopes.contains(Scope::Keys) {
        return Some(body);
    }
    let mut seen = Map::new();
    for name in SEEN_BY_ALL.into_iter().chain(SEEN_BY_CALLERS.into_iter().filter(|_| scopes.has_tools())) {
        seen.insert(name.to_owned(), members.remove(name)?);
    }
    Some(Value::Object(seen))
}

/// Returns the key as [`describe`] does, with its usage, for an administrator. `None` when the meter holds no
/// record of it.
pub fn describe_usage(snapshot: &MeterSnapshot, now: UnixMillis) -> Option<Value> {
    let record = snapshot.record.as_ref()?;
    let quota = snapshot.response.quota.as_ref()?;
    let mut body = describe(record);
    let members = body.as_object_mut()?;
    let minute_resets_at = now.plus(quota.minute.reset_ms);
    let units = quota.units.zip(snapshot.units).map(|(status, spent)| describe_units(status, spent, now));
    let mut usage = json!({
        "minute": window(Some(quota.minute), snapshot.minute_used, snapshot.reserved, minute_resets_at),
        "day": window(quota.day, snapshot.day_used, snapshot.reserved, now.day().end()),
    });
    if let Some(usage) = usage.as_object_mut() {
        usage.extend(units.map(|units| ("units".to_owned(), units)));
    }
    members.insert("usage".to_owned(), usage);
    let today = json!({ "by_tool": snapshot.tally.by_tool, "by_status": snapshot.tally.by_status });
    members.insert("today".to_owned(), today);
    members.insert("last_used_at".to_owned(), json!(snapshot.last_used.map(UnixMillis::to_rfc3339)));
    members.insert("rotation".to_owned(), rotation(record, now));
    if let Some(refusals) = &snapshot.refusals {
        members.insert("refusals".to_owned(), refusals.iter().map(describe_refused).collect());
    }
    Some(body)
}

/// Returns the usage of one window. `held` calls are lent to the gateway's locations, which return
/// what they do not use within seconds.
fn window(status: Option<WindowStatus>, used: u32, held: u32, resets_at: UnixMillis) -> Value {
    json!({
        "limit": status.map(|status| status.limit),
        "used": used,
        "held": held,
        "remaining": status.map(|status| status.remaining),
        "resets_at": resets_at.to_rfc3339(),
    })
}

/// Returns the units of each window that has a limit. Those that are reserved for calls in flight count
/// as used.
fn describe_units(status: UnitsStatus, spent: SpentUnits, now: UnixMillis) -> Value {
    let window = |status: Option<WindowStatus>, used: u32, resets_at: UnixMillis| {
        status.map(|WindowStatus { limit, remaining, .. }| {
            json!({
                "limit": limit,
                "used": used,
                "remaining": remaining,
                "resets_at": resets_at.to_rfc3339(),
            })
        })
    };
    let minute_resets_at = now.plus(status.minute.map_or(0, |minute| minute.reset_ms));
    // Not the time that is left, which was read off the meter's clock: that is some milliseconds off this one.
    let (day, (_, next_month)) = (now.day(), now.day().month());
    json!({
        "minute": window(status.minute, spent.minute, minute_resets_at),
        "day": window(status.day, spent.day, day.end()),
        "month": window(status.month, spent.month, next_month.start()),
    })
}

fn rotation(record: &KeyRecord, now: UnixMillis) -> Value {
    match record.former.filter(|former| now < former.until) {
        Some(former) => json!({ "former_key_valid_until": former.until.to_rfc3339() }),
        None => Value::Null,
    }
}

fn describe_refused(calls: &RefusedCalls) -> Value {
    json!({
        "code": calls.code,
        "route": calls.route,
        "count": calls.count,
        "last_at": calls.last_at.to_rfc3339(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeyEnv, KeyId, NamedSecret, Scopes, SecretHash, SecretId};
    use crate::meter::{HeldShare, Message, Meter, MeterRequest, Reply};
    use crate::secret::MacKeys;
    use crate::tier::Tier;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn key(tier: Tier) -> VerifiedKey {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        crate::key::ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), tier, NOW, [2; 16], &keys).1
    }

    fn snapshot(tier: Tier, calls: u32) -> MeterSnapshot {
        snapshot_at(tier, calls, 0)
    }

    fn snapshot_at(tier: Tier, calls: u32, rate: u32) -> MeterSnapshot {
        let key = key(tier);
        let mut meter = Meter::default();
        let mut request = MeterRequest {
            holder: 1,
            seq: 0,
            key,
            want: true,
            tool: None,
            units: 0,
            admit_within_ms: 300,
            retry: false,
            unread: false,
            withdrawn: Vec::new(),
            rate,
            record: None,
            version: 0,
            reports: Vec::new(),
            batch: None,
            budget: HeldShare::default(),
        };
        for _ in 0..calls {
            request.seq += 1;
            meter.handle(Message::Ask(request.clone()), NOW);
        }
        request.seq += 1;
        match meter.handle(Message::Read(request), NOW) {
            Reply::Read(snapshot) => snapshot,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn usage_counts_every_call() {
        let body = describe_usage(&snapshot(Tier::Free, 3), NOW).unwrap();
        assert_eq!(body["usage"]["minute"]["used"], 3);
        assert_eq!(body["usage"]["minute"]["remaining"], 7);
        assert_eq!(body["usage"]["day"]["remaining"], 97);
        assert_eq!(body["usage"]["day"]["resets_at"], "2025-11-22T00:00:00Z");
        assert_eq!(body["last_used_at"], "2025-11-21T08:00:00Z");
        assert_eq!(body["rotation"], Value::Null);
    }

    fn members(body: &Value) -> Vec<&str> {
        body.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn secret_sees_itself_and_what_its_calls_share() {
        let mut snapshot = snapshot(Tier::Pro, 3);
        snapshot.refusals = Some(Vec::new());
        let own = key(Tier::Pro);
        let named = VerifiedKey { is_named: true, secret: SecretHash::of(&[3; 16]), ..own };
        let whole = describe_own(&snapshot, &own, NOW).unwrap();
        assert_eq!((&whole["secret"], &whole["refusals"]), (&Value::Null, &json!([])));
        assert_eq!(members(&whole).len(), members(&describe_usage(&snapshot, NOW).unwrap()).len() + 1);
        let mut shown = |scopes| {
            let (id, hash, name) = (SecretId::new([7; 8]), named.secret, "CI".to_owned());
            let secret = NamedSecret {
                id,
                name,
                scopes,
                hash,
                former: None,
                created_at: NOW,
                expires_at: None,
                connection: None,
            };
            snapshot.record.as_mut().unwrap().secrets = vec![secret];
            describe_own(&snapshot, &named, NOW).unwrap()
        };
        let qr = Scope::Tool(crate::tool::Tool::Qr.label());
        let shares = ["expires_at", "id", "limits", "secret", "status", "tier", "usage"];
        for (scopes, seen) in [
            (Scopes::NONE, &["id", "secret"][..]),
            (Scopes::NONE.with(Scope::BiolinkWrite), &["id", "secret"]),
            (Scopes::NONE.with(qr), &shares),
            (Scopes::NONE.with(Scope::AllTools).with(Scope::BiolinkWrite), &shares),
            (Scopes::NONE.with(Scope::Keys), &members(&whole)),
        ] {
            let body = shown(scopes);
            let (mut all, mut seen) = (members(&body), seen.to_vec());
            all.sort_unstable();
            seen.sort_unstable();
            assert_eq!(all, seen, "{scopes:?}");
            assert_eq!((&body["secret"]["name"], body.to_string().contains("hash")), (&json!("CI"), false));
        }
        snapshot.record.as_mut().unwrap().secrets.clear();
        assert_eq!(describe_own(&snapshot, &named, NOW), None, "a secret that is not the key's");
    }

    /// Calls that are lent are neither used nor remaining.
    #[test]
    fn used_held_and_remaining_add_up_to_the_limit() {
        let body = describe_usage(&snapshot_at(Tier::Pro, 3, 2_000_000), NOW).unwrap();
        for window in ["minute", "day"] {
            let of = |name: &str| body["usage"][window][name].as_u64().unwrap();
            assert!(of("held") > 0, "{body}");
            assert_eq!(of("used") + of("held") + of("remaining"), of("limit"), "{body}");
        }
    }

    #[test]
    fn units_are_shown_for_the_windows_that_have_a_limit() {
        let mut snapshot = snapshot(Tier::Pro, 1);
        assert_eq!(describe_usage(&snapshot, NOW).unwrap()["usage"].get("units"), None);
        let day = Some(WindowStatus { limit: 100, remaining: 60, reset_ms: 1_000 });
        if let Some(quota) = &mut snapshot.response.quota {
            quota.units = Some(UnitsStatus { day, ..UnitsStatus::default() });
        }
        snapshot.units = Some(SpentUnits { minute: 40, day: 40, month: 90 });
        let body = describe_usage(&snapshot, NOW).unwrap();
        let shown = json!({ "limit": 100, "used": 40, "remaining": 60, "resets_at": "2025-11-22T00:00:00Z" });
        assert_eq!(body["usage"]["units"], json!({ "minute": null, "day": shown, "month": null }));
    }

    #[test]
    fn day_without_limit_is_null() {
        let body = describe_usage(&snapshot(Tier::Enterprise, 2), NOW).unwrap();
        assert_eq!(
            (&body["usage"]["day"]["limit"], &body["usage"]["day"]["used"]),
            (&Value::Null, &json!(2))
        );
    }

    #[test]
    fn refusals_and_the_former_secret_are_shown_while_they_last() {
        let mut snapshot = snapshot(Tier::Pro, 1);
        let (code, route) = ("key-expired".to_owned(), "/v1/qr/{action}".to_owned());
        snapshot.refusals = Some(vec![RefusedCalls { code, route, count: 1, last_at: NOW }]);
        let record = snapshot.record.as_mut().unwrap();
        record.former = Some(crate::key::FormerSecret { hash: record.secret, until: NOW.plus(1_000) });
        let body = describe_usage(&snapshot, NOW).unwrap();
        let refused = json!({"code": "key-expired", "route": "/v1/qr/{action}", "count": 1, "last_at": "2025-11-21T08:00:00Z"});
        assert_eq!(body["refusals"], json!([refused]));
        assert_eq!(body["rotation"]["former_key_valid_until"], "2025-11-21T08:00:01Z");
        assert_eq!(describe_usage(&snapshot, NOW.plus(1_000)).unwrap()["rotation"], Value::Null);
    }

    #[test]
    fn usage_holds_no_secret() {
        let text = describe_usage(&snapshot(Tier::Pro, 1), NOW).unwrap().to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}
