//! A fake gateway with its tools, control API and pages, which is honest but for one lie.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use shared::policy::Policy;
use shared::tool::Tool;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What the gateway does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Nothing.
    None,
    /// Everything is an empty 200.
    Empty,
    /// The last byte of a body of a tool is another one.
    LastByte,
    /// Every tenth call of a tool is a 503.
    SometimesUnavailable,
    /// From half of this number of calls on every call is a 503.
    UnavailableAfter(u32),
    /// Each key has one call more than its limit.
    OneTooMany,
    /// Each key has half of its limit.
    HalfTheLimit,
    /// 429 has no `Retry-After`.
    NoRetryAfter,
    /// Keys with `pro` are refused with the others.
    RefusesPro,
    /// A stream comes at its end.
    HeldBack,
    /// A stream comes at its end but for its first event.
    HeldBackAfterFirst,
    /// Three of ten events come.
    ThreeEvents,
    /// A stopped tool responds.
    NeverStops,
    /// A tool that was stopped does not start again.
    NeverStarts,
    /// A slow tool is fast.
    NeverSlow,
    /// All tools stop with one.
    StopsAll,
    /// The first of all keys is refused, and the others are issued.
    RefusesOneKey,
    /// A revoked key is still taken.
    NeverRevokes,
    /// A rotated key has its own limit.
    TwoLimits,
    /// The old key is refused as soon as it is rotated.
    NoGracePeriod,
    /// A visit is counted twice.
    CountsTwice,
    /// A webhook is not delivered.
    LosesWebhook,
    /// The response does not have what was asked for.
    OtherAnswer,
    /// The limits of a key are 503 for this number of requests.
    LimitsUnavailable(u32),
}

/// A fake gateway.
pub(crate) struct Honest {
    pub(crate) addr: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    issued: u32,
    calls: u32,
    limits_read: u32,
    admitted: BTreeMap<String, u32>,
    revoked: BTreeSet<String>,
    stopped: BTreeSet<String>,
    slow: BTreeSet<String>,
    people: u32,
    bots: u32,
}

struct Received {
    method: String,
    path: String,
    key: String,
    is_bot: bool,
    body: Vec<u8>,
}

/// A response: its head, and its body in parts after pauses in milliseconds.
struct Reply {
    status: u16,
    headers: Vec<String>,
    parts: Vec<(u64, Vec<u8>)>,
}

impl Honest {
    /// Starts a gateway with this lie.
    pub(crate) async fn start(lie: Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let served = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&served), lie));
            }
        });
        Self { addr, state }
    }

    /// Returns the number of keys that it was asked for, and of those that were revoked.
    pub(crate) fn keys(&self) -> (usize, usize) {
        let state = self.state.lock().unwrap();
        (usize::try_from(state.issued).unwrap(), state.revoked.len())
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>, lie: Lie) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    while let Some(received) = receive(&mut read).await? {
        let reply = respond(&received, &mut state.lock().unwrap(), lie);
        let Reply { status, headers, parts } = reply;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let head = format!("HTTP/1.1 {status} X\r\ntransfer-encoding: chunked\r\n{headers}\r\n");
        write.write_all(head.as_bytes()).await?;
        for (pause, part) in parts {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if !part.is_empty() {
                write.write_all(format!("{:x}\r\n", part.len()).as_bytes()).await?;
                write.write_all(&part).await?;
                write.write_all(b"\r\n").await?;
            }
        }
        write.write_all(b"0\r\n\r\n").await?;
    }
    Ok(())
}

async fn receive(read: &mut BufReader<tokio::net::tcp::OwnedReadHalf>) -> std::io::Result<Option<Received>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if read.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let found = lines.iter().filter_map(|line| line.split_once(": "));
        found.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    };
    let mut words = lines[0].split(' ');
    let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().unwrap())];
    read.read_exact(&mut body).await?;
    let is_bot = header("user-agent").is_some_and(|agent| agent.contains("Googlebot"));
    Ok(Some(Received { method, path, key: header("x-api-key").unwrap_or_default(), is_bot, body }))
}

fn reply(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status, headers: vec![format!("content-type: {kind}")], parts: vec![(0, body.into())] }
}

fn respond(received: &Received, state: &mut State, lie: Lie) -> Reply {
    let body = || serde_json::from_slice::<Value>(&received.body).unwrap_or_default();
    let (path, _) = received.path.split_once('?').unwrap_or((&received.path, ""));
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let own_key = received.key.clone();
    match (received.method.as_str(), segments.as_slice()) {
        ("POST", ["v1", "keys", "issue"]) => {
            state.issued += 1;
            if lie == Lie::RefusesOneKey && state.issued == 1 {
                return problem(503, "keys-unavailable");
            }
            // A run that is killed revokes no key.
            assert!(body()["expires_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{}", body());
            let tier = body()["tier"].as_str().unwrap().to_owned();
            let key = format!("{tier}-{}", state.issued);
            reply(201, "application/json", json!({ "key": key, "id": key }).to_string())
        }
        ("POST", ["v1", "keys", "me", "rotate"]) => {
            if lie == Lie::NoGracePeriod {
                state.revoked.insert(own_key.clone());
            }
            reply(200, "application/json", json!({ "key": format!("{own_key}+new") }).to_string())
        }
        ("POST", ["v1", "keys", id, "revoke"]) => {
            state.revoked.insert((*id).to_owned());
            reply(200, "application/json", "{}")
        }
        ("DELETE", ["v1", "keys", "me"]) => {
            if lie != Lie::NeverRevokes {
                state.revoked.insert(own_key);
            }
            reply(204, "text/plain", "")
        }
        ("GET", ["v1", "keys", "me"]) => {
            state.limits_read += 1;
            match lie {
                Lie::LimitsUnavailable(times) if state.limits_read <= times => {
                    problem(503, "meter-unavailable")
                }
                Lie::LimitsUnavailable(_) => {
                    let limits = json!({ "limits": { "minute": 100, "day": null } });
                    reply(200, "application/json", limits.to_string())
                }
                _ => reply(200, "application/json", "{}"),
            }
        }
        (_, ["v1", tool, action]) => call(received, tool, action, state, lie),
        ("GET", [""]) => {
            let load = json!({ "load": { "timer_late_p99_ms": 0.0, "bottleneck": false } });
            reply(200, "application/json", load.to_string())
        }
        (_, [name, rest @ ..]) if name.parse::<Tool>().is_ok() => control(name, rest, &body(), state, lie),
        ("POST", ["pages" | "webhooks", ..]) => {
            reply(201, "application/json", json!({ "id": "1", "slug": "page" }).to_string())
        }
        ("GET", ["analytics"]) => {
            let views = state.people + u32::from(lie == Lie::CountsTwice);
            let totals = json!({ "totals": { "views": views, "bots": state.bots } });
            reply(200, "application/json", totals.to_string())
        }
        ("GET", ["page"]) => {
            *(if received.is_bot { &mut state.bots } else { &mut state.people }) += 1;
            reply(200, "text/html", "<h1>Page</h1>")
        }
        _ => reply(404, "text/plain", path.to_owned()),
    }
}

fn control(tool: &str, command: &[&str], body: &Value, state: &mut State, lie: Lie) -> Reply {
    match command {
        ["stop"] => {
            state.stopped.insert(tool.to_owned());
        }
        ["start"] if lie != Lie::NeverStarts => {
            state.stopped.remove(tool);
        }
        [] if body["latency"].is_object() => {
            state.slow.insert(tool.to_owned());
        }
        [] if body["latency_ms"] == 0 => {
            state.slow.remove(tool);
        }
        _ => {}
    }
    let events = state.people.saturating_sub(u32::from(lie == Lie::LosesWebhook));
    let webhooks = json!({ "events": events, "late_ms": { "max": 5 } });
    reply(200, "application/json", json!({ "addr": "127.0.0.1:9", "webhooks": webhooks }).to_string())
}

/// Responds to a call of a tool.
fn call(received: &Received, tool: &str, action: &str, state: &mut State, lie: Lie) -> Reply {
    state.calls += 1;
    let unavailable = || problem(503, "tool-unavailable");
    if lie == Lie::Empty {
        return reply(200, "application/json", "");
    }
    let limit = match refusal(received, state, lie) {
        Ok(limit) => limit,
        Err(refused) => return refused,
    };
    let is_stopped = state.stopped.contains(tool) || (lie == Lie::StopsAll && !state.stopped.is_empty());
    let mut response = match lie {
        Lie::SometimesUnavailable if state.calls % 10 == 5 => unavailable(),
        Lie::UnavailableAfter(calls) if state.calls >= calls => unavailable(),
        _ if is_stopped && lie != Lie::NeverStops => unavailable(),
        _ => tool_reply(received, tool, action, lie),
    };
    if state.slow.contains(tool) && lie != Lie::NeverSlow {
        response.parts.insert(0, (300, Vec::new()));
    }
    response.headers.push(format!("ratelimit-policy: \"minute\";q={limit};w=60"));
    response
}

/// Counts a call of a key. Returns its limit, or the refusal.
fn refusal(received: &Received, state: &mut State, lie: Lie) -> Result<u32, Reply> {
    if state.revoked.contains(&received.key) {
        return Err(problem(401, "key-revoked"));
    }
    let tier = received.key.split('-').next().unwrap_or_default().parse().unwrap_or(shared::tier::Tier::Pro);
    let limit = Policy::for_tier(tier).minute.get();
    let account = received.key.trim_end_matches("+new").to_owned();
    let account = if lie == Lie::TwoLimits { received.key.clone() } else { account };
    let used = state.admitted.entry(account).or_default();
    let admits = match lie {
        Lie::OneTooMany => limit + 1,
        Lie::HalfTheLimit => limit / 2,
        Lie::RefusesPro if tier == shared::tier::Tier::Pro => 0,
        _ => limit,
    };
    if *used < admits {
        *used += 1;
        return Ok(limit);
    }
    let mut refused = problem(429, "quota-exceeded");
    refused.headers.push(format!("ratelimit-policy: \"minute\";q={limit};w=60"));
    if lie != Lie::NoRetryAfter {
        refused.headers.push("retry-after: 60".to_owned());
    }
    Err(refused)
}

fn problem(status: u16, code: &str) -> Reply {
    reply(status, "application/problem+json", json!({ "code": code }).to_string())
}

fn tool_reply(received: &Received, tool: &str, action: &str, lie: Lie) -> Reply {
    let altered = |mut body: Vec<u8>| {
        if let (Lie::LastByte, Some(last)) = (lie, body.last_mut()) {
            *last ^= 1;
        }
        reply(200, "application/octet-stream", body)
    };
    match action {
        "echo" => altered(received.body.clone()),
        "bytes" => altered(filler(5_242_880)),
        "stream" => stream(lie),
        _ => {
            let sent = serde_json::from_slice::<Value>(&received.body).unwrap_or_default();
            let sent = if lie == Lie::OtherAnswer { json!({ "prompt": "other" }) } else { sent };
            reply(200, "application/json", json!({ "tool": tool, "body": { "json": sent } }).to_string())
        }
    }
}

fn stream(lie: Lie) -> Reply {
    let event = b"data: x\n\n".to_vec();
    let parts = match lie {
        Lie::HeldBack => vec![(900, event.repeat(10))],
        Lie::HeldBackAfterFirst => vec![(0, event.clone()), (900, event.repeat(9))],
        Lie::ThreeEvents => vec![(0, event.clone()), (100, event.clone()), (800, event)],
        _ => (0..10).map(|nth| (if nth == 0 { 0 } else { 100 }, event.clone())).collect(),
    };
    Reply { status: 200, headers: vec!["content-type: text/event-stream".to_owned()], parts }
}

/// Returns the bytes that the simulated tools send: Knuth's MMIX generator, in a period of 65,521.
fn filler(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    let period: Vec<u8> = (0..65_521).map(next).collect();
    period.iter().copied().cycle().take(length).collect()
}
