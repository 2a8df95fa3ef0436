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
    /// It throws, and nothing is done.
    Fail,
    /// It is done, and then it throws: the reply is lost. That it was done is counted as `done`.
    LoseReply,
    /// Its round trip takes this many milliseconds, half of them before it is done.
    Far { ms: u64 },
    /// It is done this many milliseconds late, and counted as `done`.
    Late { ms: u64 },
    /// An object exists this many milliseconds after the first message to it. Until then its
    /// messages wait.
    Create { ms: u64 },
    /// It throws an error marked as `overloaded`.
    Overloaded,
    /// It never settles.
    Hang,
    /// The object is restarted from what it has stored, and then it passes.
    Restart,
    /// The queue takes the message and never delivers it.
    Drop,
}

/// The control server that the edge's bindings ask.
pub struct Faults {
    addr: SocketAddr,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    /// Each with whether it is of one operation alone.
    fates: HashMap<String, (Fate, bool)>,
    counts: HashMap<String, usize>,
    /// Messages to the queue.
    messages: Vec<String>,
}

/// KV reads by key.
pub const KV_GET: &str = "/KEYS/get";
/// KV writes.
pub const KV_PUT: &str = "/KEYS/put";
/// Reads of published pages in KV.
pub const PAGES_GET: &str = "/PAGES/get";
/// Writes of published pages to KV.
pub const PAGES_PUT: &str = "/PAGES/put";
/// Removals of published pages from KV.
pub const PAGES_DELETE: &str = "/PAGES/delete";
/// Reads of static assets.
pub const ASSETS: &str = "/ASSETS/fetch";
/// Messages to an account.
pub const ACCOUNT: &str = "/ACCOUNT/fetch";
/// Messages to a meter.
pub const METER: &str = "/METER/fetch";
/// Messages to a slug.
pub const SLUG: &str = "/SLUG/fetch";
/// Late messages that a slug has handled, and those whose reply was lost.
pub const SLUG_DONE: &str = "/SLUG/done";
/// Messages to the object of reports.
pub const REPORTS: &str = "/REPORTS/fetch";
/// Messages to the feed of key changes.
pub const CHANGES: &str = "/KEY_CHANGES/fetch";
/// Messages to the status history.
pub const STATUS_HISTORY: &str = "/STATUS_HISTORY/fetch";
/// Messages to a page's store of events.
pub const STATS: &str = "/STATS/fetch";
/// Messages to the object that draws salts.
pub const SALT: &str = "/SALT/fetch";
/// Messages to a product source.
pub const PRODUCT_SOURCE: &str = "/PRODUCT_SOURCE/fetch";
/// Messages to the webhooks of an account.
pub const WEBHOOKS: &str = "/WEBHOOKS/fetch";
/// Messages to the queue of events.
pub const EVENTS: &str = "/EVENTS/send";

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
    pub fn set(&self, operation: &str, fate: Fate) {
        self.plan.lock().unwrap().fates.insert(operation.to_owned(), (fate, false));
    }

    /// Sets the outcome of the next operation. The others pass.
    pub fn set_once(&self, operation: &str, fate: Fate) {
        self.plan.lock().unwrap().fates.insert(operation.to_owned(), (fate, true));
    }

    /// Returns the number of operations of this kind so far.
    pub fn count(&self, operation: &str) -> usize {
        self.plan.lock().unwrap().counts.get(operation).copied().unwrap_or(0)
    }

    /// Returns the messages that the worker has given to the queue so far, whatever happened to them.
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
        let (fate, is_once) = self.fates.get(path).copied().unwrap_or_default();
        if is_once {
            self.fates.remove(path);
        }
        match fate {
            Fate::Pass => "pass".into(),
            // An operation that is left out.
            Fate::Absent | Fate::Drop => "absent".into(),
            Fate::Fail => "fail".into(),
            Fate::LoseReply => "lose".into(),
            Fate::Far { ms } => format!("far {ms}").into(),
            Fate::Late { ms } => format!("late {ms}").into(),
            Fate::Create { ms } => format!("create {ms}").into(),
            Fate::Overloaded => "overloaded".into(),
            Fate::Hang => "hang".into(),
            Fate::Restart => "restart".into(),
        }
    }
}
