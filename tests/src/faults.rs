//! Fault injection into the edge's bindings, with a count of each operation.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The outcome of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It reaches the real binding.
    #[default]
    Pass,
    /// KV or the assets report that the value is absent.
    Absent,
    /// It throws.
    Fail,
    /// The first throws, the others pass.
    FailOnce,
    /// Its round trip takes this many milliseconds, half of them before the object has the message.
    Far { ms: u64 },
    /// An object exists this many milliseconds after the first message to it. Until then its
    /// messages wait.
    Create { ms: u64 },
    /// It throws an error marked as `overloaded`.
    Overloaded,
    /// It never settles.
    Hang,
    /// The object is restarted from what it has stored, once, and then it passes.
    RestartOnce,
    /// The queue takes the message and never delivers it.
    Lose,
    /// The object handles the message and its reply is lost, once, and then it passes.
    LoseReplyOnce,
    /// The object gets the message this many milliseconds late, once, and then it passes. The arrival
    /// is counted as `arrived`.
    LateOnce { ms: u64 },
}

/// The control server that the edge's bindings ask.
pub struct Faults {
    addr: SocketAddr,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    fates: HashMap<&'static str, Fate>,
    counts: HashMap<String, usize>,
    /// Messages to the queue.
    messages: Vec<String>,
}

/// KV reads by key.
pub const KV_GET: &str = "/keys/get";
/// KV writes.
pub const KV_PUT: &str = "/keys/put";
/// Reads of published pages in KV.
pub const PAGES_GET: &str = "/pages/get";
/// Writes of published pages to KV.
pub const PAGES_PUT: &str = "/pages/put";
/// Removals of published pages from KV.
pub const PAGES_DELETE: &str = "/pages/delete";
/// Reads of static assets.
pub const ASSETS: &str = "/assets/fetch";
/// Messages to an account.
pub const ACCOUNT: &str = "/accounts/fetch";
/// Messages to a meter.
pub const METER: &str = "/meter/fetch";
/// Messages to a slug.
pub const SLUG: &str = "/slugs/fetch";
/// Late messages that a slug has handled.
pub const SLUG_ARRIVED: &str = "/slugs/arrived";
/// Messages to the feed of key changes.
pub const CHANGES: &str = "/changes/fetch";
/// Messages to a page's store of events.
pub const STATS: &str = "/stats/fetch";
/// Messages to the object that draws salts.
pub const SALT: &str = "/salt/fetch";
/// Messages to the webhooks of an account.
pub const WEBHOOKS: &str = "/webhooks/fetch";
/// Messages to the queue of events.
pub const EVENTS: &str = "/events/send";

impl Faults {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let plan = Arc::new(Mutex::new(Plan::default()));
        let shared = Arc::clone(&plan);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let plan = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &plan));
            }
        });
        Self { addr, plan }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Sets the outcome of an operation from now on.
    pub fn set(&self, operation: &'static str, fate: Fate) {
        self.plan.lock().unwrap().fates.insert(operation, fate);
    }

    /// Returns the number of operations of this kind so far.
    pub fn count(&self, operation: &str) -> usize {
        self.plan.lock().unwrap().counts.get(operation).copied().unwrap_or(0)
    }

    /// Returns the messages that the worker has given to the queue so far, whatever became of them.
    pub fn messages(&self) -> Vec<String> {
        self.plan.lock().unwrap().messages.clone()
    }
}

fn serve(stream: TcpStream, plan: &Mutex<Plan>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some((path, message)) = read_request(&mut reader) {
        let fate = plan.lock().unwrap().meet(&path, message);
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{fate}", fate.len());
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads the next request on a connection. Returns its path and its body.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|&read| read > 0)?;
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).ok()? > 0 && line != "\r\n" {
        if let Some((_, value)) =
            line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse().ok()?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first.split(' ').nth(1)?.to_owned(), String::from_utf8(body).ok()?))
}

impl Plan {
    fn meet(&mut self, path: &str, message: String) -> Cow<'static, str> {
        *self.counts.entry(path.to_owned()).or_insert(0) += 1;
        if path == EVENTS {
            self.messages.push(message);
        }
        let fate = self.fates.get(path).copied().unwrap_or_default();
        let word = match fate {
            Fate::Far { ms } => return format!("far {ms}").into(),
            Fate::Create { ms } => return format!("create {ms}").into(),
            Fate::LateOnce { ms } => {
                self.fates.retain(|operation, _| *operation != path);
                return format!("late {ms}").into();
            }
            Fate::Pass => "pass",
            Fate::Absent => "absent",
            Fate::Fail => "fail",
            Fate::FailOnce => {
                self.fates.retain(|operation, _| *operation != path);
                "fail"
            }
            Fate::RestartOnce => {
                self.fates.retain(|operation, _| *operation != path);
                "restart"
            }
            Fate::LoseReplyOnce => {
                self.fates.retain(|operation, _| *operation != path);
                "lose"
            }
            Fate::Overloaded => "overloaded",
            Fate::Hang => "hang",
            Fate::Lose => "lose",
        };
        word.into()
    }
}
