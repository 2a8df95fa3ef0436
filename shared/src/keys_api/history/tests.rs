use std::collections::BTreeMap;

use super::*;
use crate::key::{ApiKey, KeyEnv, KeyId, KeyRecord, NamedSecret, Scopes, SecretHash, SecretId, VerifiedKey};
use crate::lease_cache::LeaseCache;
use crate::meter::{Batch, Message, Meter, MeterRequest, Reply};
use crate::secret::MacKeys;
use crate::tier::Tier;
use crate::tool::Tool;

/// 2025-11-21T08:00:00Z
const NOW: UnixMillis = UnixMillis(1_763_712_000_000);
const SECRET: SecretId = SecretId::new([2; 8]);
const DAY_MS: u64 = 24 * HOUR_MS;

/// A key's meter, and the hours that its shell has kept.
struct World {
    key: VerifiedKey,
    cache: LeaseCache,
    meter: Meter,
    kept: BTreeMap<u64, HourCounts>,
    seq: u32,
}

impl World {
    fn new() -> Self {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, NOW, [9; 16], &keys);
        let mut cache = LeaseCache::new(1);
        let secrets = vec![NamedSecret {
            id: SECRET,
            name: "CI".to_owned(),
            scopes: Scopes::ALL,
            hash: SecretHash::of(&[2; 16]),
            former: None,
            created_at: NOW,
            expires_at: None,
            connection: None,
        }];
        cache.learn(KeyRecord { version: 1, secrets, ..KeyRecord::provisional(&key) });
        Self { key, cache, meter: Meter::default(), kept: BTreeMap::new(), seq: 0 }
    }

    fn request(&mut self, now: UnixMillis) -> MeterRequest {
        self.seq += 1;
        MeterRequest { seq: self.seq, ..self.cache.read(&self.key, now) }
    }

    fn step(&mut self, message: Message, now: UnixMillis) -> Reply {
        let reply = self.meter.handle(message, now);
        self.kept.extend(self.meter.take_ended_hour().map(|ended| (ended.hour, ended)));
        reply
    }

    /// Makes calls of a tool, each asked for.
    fn call(&mut self, tool: Tool, calls: u32, now: UnixMillis) {
        for _ in 0..calls {
            let request = MeterRequest { want: true, tool: Some(tool.label()), rate: 0, ..self.request(now) };
            self.step(Message::Ask(request), now);
        }
    }

    /// Makes the calls that follow with the named secret, or with the key's own again.
    fn use_secret(&mut self, is_named: bool) {
        let secret = SecretHash::of(&[if is_named { 2 } else { 9 }; 16]);
        self.key = VerifiedKey { is_named, secret, ..self.key };
    }

    /// Reports that a call, counted as ended with 200, has failed at its tool and is refunded.
    fn refund(&mut self, tool: Tool, day: UtcDay, now: UnixMillis) {
        let request = self.request(now);
        let number = self.seq;
        let batch =
            Batch { number, day, refunds: 1, corrected: vec![(tool.label(), 502, 1)], ..Batch::default() };
        self.step(Message::Ask(MeterRequest { batch: Some(batch), ..request }), now);
    }

    fn read(&mut self, query: &str, now: UnixMillis) -> Response {
        let request = HistoryRequest::read(Some(query)).unwrap();
        let message = Message::History { request: self.request(now), since: request.since_kept(now) };
        let Reply::Read(mut snapshot) = self.step(message, now) else { panic!() };
        snapshot.hours = self.kept.range(request.since_kept(now)..).map(|(_, kept)| kept.clone()).collect();
        request.response(&snapshot, now)
    }

    fn json(&mut self, query: &str, now: UnixMillis) -> Value {
        serde_json::from_str(&self.read(query, now).body).unwrap()
    }
}

fn calls(response: &Value) -> Vec<u64> {
    response["data"].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).collect()
}

#[test]
fn calls_are_counted_in_their_hours() {
    let mut world = World::new();
    world.call(Tool::Qr, 3, NOW);
    world.call(Tool::Image, 2, NOW.plus(HOUR_MS));
    // Two hours without a call.
    let now = NOW.plus(4 * HOUR_MS);
    world.call(Tool::Qr, 1, now);
    let response = world.json("group_by=hour&interval=6h", now);
    assert_eq!(calls(&response), [0, 3, 2, 0, 0, 1]);
    assert_eq!(response["calls"], 6);
    assert_eq!(
        (&response["from"], &response["to"]),
        (&json!("2025-11-21T07:00:00Z"), &json!("2025-11-21T12:00:00Z"))
    );
    let second = &response["data"][2];
    assert_eq!(
        *second,
        json!({ "start": "2025-11-21T09:00:00Z", "calls": 2, "by_tool": {"image": 2}, "by_status": {"200": 2} })
    );
    let later = world.json("group_by=hour&interval=6h", now.plus(HOUR_MS));
    assert_eq!(calls(&later), [3, 2, 0, 0, 1, 0], "an hour that is over stays as it was");
}

#[test]
fn days_tools_and_statuses_are_sums_of_the_hours() {
    let mut world = World::new();
    let tomorrow = NOW.plus(DAY_MS);
    world.call(Tool::Qr, 3, NOW);
    world.call(Tool::Qr, 1, NOW.plus(2 * HOUR_MS));
    world.call(Tool::Image, 5, tomorrow);
    let days = world.json("interval=3d", tomorrow);
    assert_eq!((calls(&days), &days["data"][1]["start"]), (vec![0, 4, 5], &json!("2025-11-21T00:00:00Z")));
    let tools = world.json("interval=3d&group_by=tool", tomorrow);
    assert_eq!(tools["data"], json!([{ "tool": "image", "calls": 5 }, { "tool": "qr", "calls": 4 }]));
    let statuses = world.json("interval=24h&group_by=status", tomorrow);
    assert_eq!(
        statuses["data"],
        json!([{ "status": 200, "calls": 6 }]),
        "the last 24 hours have no 8 o'clock of yesterday"
    );
    assert_eq!(world.json("", tomorrow)["data"].as_array().unwrap().len(), 30);
}

/// A refund of an earlier hour's call leaves the day as it was charged.
#[test]
fn refunded_call_is_not_charged_to_its_day() {
    let mut world = World::new();
    world.call(Tool::Qr, 3, NOW);
    let now = NOW.plus(HOUR_MS);
    world.refund(Tool::Qr, NOW.day(), now);
    world.call(Tool::Qr, 2, now);
    let day = world.json("interval=1d", now);
    assert_eq!(calls(&day), [4]);
    assert_eq!(day["data"][0]["by_status"], json!({ "200": 4, "502": 1 }));
    assert_eq!(calls(&world.json("group_by=hour&interval=2h", now)), [3, 1], "the hour of the refund has it");
}

#[test]
fn calls_are_counted_by_the_secret_that_made_them() {
    let mut world = World::new();
    world.call(Tool::Qr, 3, NOW);
    world.use_secret(true);
    world.call(Tool::Qr, 2, NOW);
    let now = NOW.plus(HOUR_MS);
    world.call(Tool::Image, 4, now);
    world.use_secret(false);
    world.call(Tool::Image, 1, now);
    world.refund(Tool::Qr, NOW.day(), now);
    let rows = |own: u32, named: u32| json!([{ "secret": null, "calls": own }, { "secret": SECRET.to_string(), "calls": named }]);
    assert_eq!(world.json("interval=1d&group_by=secret", now)["data"], rows(3, 6));
    let table = world.read("interval=1d&group_by=secret&format=csv", now).body;
    assert_eq!(table, format!("secret,calls\r\n,3\r\n{SECRET},6\r\n"));
    let last_hour = world.json("interval=1h&group_by=secret", now.plus(HOUR_MS - 1));
    assert_eq!(last_hour["data"], json!([{ "secret": SECRET.to_string(), "calls": 4 }]), "{last_hour}");
}

#[test]
fn hour_that_ends_twice_is_kept_once() {
    let mut world = World::new();
    world.call(Tool::Qr, 3, NOW);
    let stored = world.meter.clone();
    let now = NOW.plus(HOUR_MS);
    assert_eq!(calls(&world.json("group_by=hour&interval=2h", now)), [3, 0]);
    // The object restarts from its last stored state, which no reading message changes.
    world.meter = stored;
    assert_eq!(calls(&world.json("group_by=hour&interval=2h", now)), [3, 0]);
}

#[test]
fn table_has_a_line_for_each_row() {
    let mut world = World::new();
    world.call(Tool::Qr, 3, NOW);
    let response = world.read("group_by=hour&interval=2h&format=csv", NOW);
    assert_eq!(response.body, "hour,calls\r\n2025-11-21T07:00:00Z,0\r\n2025-11-21T08:00:00Z,3\r\n");
    assert_eq!(response.header("content-disposition"), Some("attachment; filename=\"usage-by-hour.csv\""));
    assert_eq!(world.read("group_by=tool&format=csv", NOW).body, "tool,calls\r\nqr,3\r\n");
}

#[test]
fn query_out_of_bounds_is_refused_with_what_is_expected() {
    for (query, expected) in [
        ("interval=49h", "1h to 48h"),
        ("interval=31d", "1d to 30d"),
        ("interval=0d", "1d to 30d"),
        ("interval=%C3%A4", "1d to 30d"),
        ("interval=", "1d to 30d"),
        ("interval=7", "1d to 30d"),
        ("group_by=month", "hour, day, tool, status or secret"),
        ("group_by=hour&interval=3d", "at most 48h or 2d"),
        ("interval=24h", "in days"),
        ("format=xml", "json or csv"),
        ("start=2025-01-01", "interval, group_by and format"),
        ("interval=1d&interval=2d", "twice"),
    ] {
        let problem = HistoryRequest::read(Some(query)).unwrap_err();
        assert_eq!((problem.status(), problem.code()), (422, crate::problem::codes::FIELDS_INVALID));
        assert!(problem.detail().contains(expected), "{query}: {}", problem.detail());
    }
}
