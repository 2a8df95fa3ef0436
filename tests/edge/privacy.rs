//! Traces of visitors: no store, message or log says who they are.

use std::{fs, path::Path};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use biolink::stats::SaltRequest;
use serde_json::{Value, json};
use shared::time::UtcDay;
use tests::{
    faults::{Fate, STATS},
    http::Request,
    keys,
    objects::Object,
    receiver::Receiver,
};

use super::{
    pages::until,
    site::{PERSON, Site},
};

/// Parts of a request that identify the visitor.
const ADDRESS: &str = "203.0.113.177";
const ADDRESS_6: &str = "2001:db8:7a7e:41f3::4711";
const AGENT_MARK: &str = "Distinctive/4711.17";
const COOKIE: &str = "cookie-of-visitor-4711";
const REFERRER_PATH: &str = "secret-path-4711";
const REFERRER_QUERY: &str = "secret-query-4711";
/// The part of the referrer that may be kept.
const REFERRER_HOST: &str = "news.example.org";

/// Returns the forms in which a text may be hidden in bytes.
fn forms(text: &[u8]) -> Vec<Vec<u8>> {
    let mut forms =
        vec![text.to_vec(), text.to_ascii_lowercase(), text.iter().flat_map(|byte| [*byte, 0]).collect()];
    let hex = |format: fn(&u8) -> String| text.iter().map(format).collect::<String>().into_bytes();
    forms.extend([hex(|byte| format!("{byte:02x}")), hex(|byte| format!("{byte:02X}"))]);
    // In base64 a text looks different at each of three places. The ends depend on what stands beside.
    for skipped in 0..3 {
        let end = text.len() - (text.len() - skipped) % 3;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&text[skipped..end]).into_bytes());
        }
    }
    forms
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    forms(text).iter().any(|form| bytes.windows(form.len()).any(|window| window == form))
}

/// Returns the content of each file below a folder: KV, and what the objects have stored.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            // A file of the write-ahead log may vanish meanwhile.
            false => fs::read(&path).map(|bytes| (path.display().to_string(), bytes)).into_iter().collect(),
        })
        .collect()
}

/// Returns every cell of every table of an object, with blobs as they are.
fn cells(object: &Object<'_>) -> Vec<(String, Vec<u8>)> {
    let tables = object
        .sql("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'");
    tables
        .iter()
        .filter_map(|row| row[0].as_str())
        .flat_map(|table| {
            let rows = object.sql(&format!("SELECT * FROM {table}"));
            let cells = rows.into_iter().flatten().flat_map(|cell| {
                let text = cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
                let decoded = STANDARD.decode(&text).unwrap_or_default();
                [text.into_bytes(), decoded]
            });
            cells.map(|bytes| (table.to_owned(), bytes)).collect::<Vec<_>>()
        })
        .collect()
}

/// Visits everything that counts, and what does not, from one address.
fn visit_everything(site: &Site, address: &str) {
    let agent = format!("{PERSON} {AGENT_MARK}");
    let referrer = format!("https://{REFERRER_HOST}/{REFERRER_PATH}?q={REFERRER_QUERY}");
    let send = |method: &str, path: &str, body: &str| {
        let request = Request::new(method, path)
            .header("CF-Connecting-IP", address)
            .header("User-Agent", &agent)
            .header("Cookie", &format!("session={COOKIE}"))
            .header("Referer", &referrer);
        site.send(&if method == "POST" { request.body(body) } else { request })
    };
    let page = send("GET", &site.path, "");
    assert_eq!(page.status, 200);
    let text = page.text();
    let image =
        text.split("src=\"").find_map(|rest| rest.split('"').next().filter(|src| src.contains("/seen/")));
    let paths = [
        image.unwrap(),
        &site.link(0),
        &site.product(),
        &site.code(),
        &site.at("/card.vcf"),
        &site.at("/qr.svg"),
        "/unknown",
    ];
    assert_eq!(paths.map(|path| send("GET", path, "").status), [200, 302, 302, 302, 200, 200, 404]);
    assert_eq!(send("POST", &site.ping(), "PING").status, 204);
    assert_eq!(send("HEAD", &site.path, "").status, 200);
}

#[test]
fn visit_leaves_nothing_that_says_who_it_was() {
    let (site, receiver) = (Site::start_stored(), Receiver::start());
    site.hook(&receiver, json!({}));
    // So that the queue carries events too.
    site.faults.set_once(STATS, Fate::Fail);
    for address in [ADDRESS, ADDRESS_6] {
        visit_everything(&site, address);
    }
    let events = site.events(14);
    assert_eq!(events.iter().filter(|event| event.visitor != 0).count(), 12);
    site.report("group_by=referrer");
    let delivered = receiver.wait(10);

    let mut kept = files(site.edge.state());
    kept.extend(cells(&site.stats()));
    kept.extend(cells(&Object::salt(&site.edge)));
    kept.extend(cells(&site.webhooks(&site.account.to_string())));
    for arrival in delivered {
        kept.push(("webhook".to_owned(), format!("{:?}", arrival.headers).into_bytes()));
        kept.push(("webhook".to_owned(), arrival.body));
    }
    kept.push(("log".to_owned(), site.edge.output().into_bytes()));
    for message in site.faults.messages() {
        let parsed: Value = serde_json::from_str(&message).unwrap();
        for page in parsed["pages"].as_array().unwrap() {
            let rows = STANDARD.decode(page["rows"].as_str().unwrap()).unwrap();
            kept.push(("queue".to_owned(), rows));
        }
        kept.push(("queue".to_owned(), message.into_bytes()));
    }
    let places = |text: &[u8]| {
        let places = kept.iter().filter(|(_, bytes)| holds(bytes, text)).map(|(place, _)| place.as_str());
        places.collect::<Vec<_>>()
    };
    // The search finds what is there.
    let known = places(REFERRER_HOST.as_bytes());
    for place in ["queue", "segment", "event", "webhook"] {
        assert!(known.contains(&place), "{place}: {known:?}");
    }
    assert!(known.iter().any(|place| place.contains(".sqlite")), "{known:?}");

    let network: [u8; 8] = [0x20, 0x01, 0x0d, 0xb8, 0x7a, 0x7e, 0x41, 0xf3];
    let secrets =
        [ADDRESS, ADDRESS_6, "2001:db8:7a7e:41f3", AGENT_MARK, COOKIE, REFERRER_PATH, REFERRER_QUERY];
    for secret in secrets.map(str::as_bytes).into_iter().chain([network.as_slice()]) {
        assert_eq!(places(secret), [""; 0], "{}", String::from_utf8_lossy(secret));
    }
}

fn salts(salt: &Object<'_>) -> Vec<UtcDay> {
    let rows = salt.sql("SELECT day FROM salt ORDER BY day");
    rows.iter().map(|row| UtcDay(row[0].as_u64().unwrap())).collect()
}

#[test]
fn salt_is_destroyed_an_hour_after_its_day() {
    let site = Site::start();
    let salt = Object::salt(&site.edge);
    assert_eq!(site.visit(&site.path), 200);
    site.events(1);
    let days = salts(&salt);
    assert_eq!(days.len(), 1, "the salt of today");
    let today = days[0];
    assert_eq!(salt.alarm(), Some(SaltRequest { day: today }.destroyed_at()));

    for age in 1..=3 {
        salt.sql(&format!("INSERT INTO salt (day, salt) VALUES ({}, 'AAAA')", today.0 - age));
    }
    salt.run_alarm();
    let now = keys::now();
    let current: Vec<_> = [today.0 - 1, today.0].map(UtcDay).into();
    let current: Vec<_> =
        current.into_iter().filter(|day| SaltRequest { day: *day }.is_current(now)).collect();
    assert_eq!(salts(&salt), current);
    // None is drawn for a day that is over, so its visitors cannot be numbered again.
    let refused = salt.send(&json!({"day": today.0 - 2}));
    assert_eq!(refused.status, 500, "{}", refused.text());
    assert_eq!(salts(&salt), current);
}

/// The salt of tomorrow may be drawn first, by an isolate whose clock is ahead.
#[test]
fn alarm_for_a_later_salt_is_set_earlier() {
    let site = Site::start();
    let salt = Object::salt(&site.edge);
    assert_eq!(site.visit(&site.path), 200);
    site.events(1);
    let today = salts(&salt)[0];
    let [end, next] = [today, UtcDay(today.0 + 1)].map(|day| SaltRequest { day }.destroyed_at());
    salt.sql("DELETE FROM salt");
    salt.set_alarm(next);
    assert_eq!(salt.send(&json!({"day": today})).status, 200);
    assert_eq!(salt.alarm(), Some(end));
}

#[test]
fn alarm_that_fails_runs_again() {
    let site = Site::start();
    let salt = Object::salt(&site.edge);
    salt.sql("CREATE TABLE salt (other INTEGER)");
    assert_eq!(salt.alarm(), None);
    salt.run_alarm();
    until(|| site.edge.output().contains("salt alarm failed"));
    assert!(salt.alarm().is_some());
}
