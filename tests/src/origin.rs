//! A fake origin that behaves as a test says and records its requests. Like a proxy it proves its
//! responses, unless the test wants another server in its place.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use shared::{
    grant::Grant,
    headers,
    proof::Proof,
    request_id::RequestId,
    route::{Route, Target},
    secret::MacKeys,
};

use crate::keys;

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrival {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    /// The body as far as it was read.
    pub body: Vec<u8>,
    /// Whether the body ended as its framing says.
    pub complete: bool,
}

/// The behavior of an origin towards calls.
#[derive(Clone, Debug)]
pub enum OriginBehavior {
    /// Responds with these bytes. `{id}` stands for the id of the request.
    Respond(Vec<u8>),
    /// Responds without the proof of a proxy, as a load balancer in front of one does. Probes reach
    /// the proxy.
    Unproven(Vec<u8>),
    /// Responds so to everything, probes too, as a web server that is not a proxy does.
    Foreign(Vec<u8>),
    /// Responds as soon as it has the head of the request, then reads the body.
    RespondEarly(Vec<u8>),
    /// Reads the whole request, then closes without a response.
    HangUp,
    /// Reads so many bytes of the body, then closes without a response.
    HangUpAfter(usize),
    /// Responds with these bytes, then closes in the middle of the response.
    BreakOff(Vec<u8>),
    /// Accepts the connection and sends nothing.
    Silent,
    /// Reads the request, responds with these bytes, and sends nothing more until the client closes.
    Hold(Vec<u8>),
    /// Responds with the first bytes, and with the others after a pause.
    Pause(Vec<u8>, Duration, Vec<u8>),
    /// Sends every piece of the body back as it arrives. The first one follows the head of the
    /// response.
    Echo,
}

/// A running origin. It responds to `GET /healthz` like a proxy, unless it is silent or foreign.
pub struct Origin {
    pub addr: SocketAddr,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    heads: Arc<AtomicUsize>,
    left: Arc<AtomicUsize>,
}

impl Origin {
    pub fn start(behavior: OriginBehavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::new(AtomicUsize::new(0));
        let left = Arc::new(AtomicUsize::new(0));
        let (arrivals_of, heads_of) = (Arc::clone(&arrivals), Arc::clone(&heads));
        let origin = Self { addr, arrivals: arrivals_of, heads: heads_of, left: Arc::clone(&left) };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (behavior, seen, heads) = (behavior.clone(), Arc::clone(&arrivals), Arc::clone(&heads));
                let left = Arc::clone(&left);
                thread::spawn(move || {
                    let has_left = serve(stream, &behavior, &seen, &heads);
                    left.fetch_add(usize::from(has_left), Ordering::SeqCst);
                });
            }
        });
        origin
    }

    /// Starts an origin that responds with 200 and `body`.
    pub fn good(body: &str) -> Self {
        Self::start(OriginBehavior::Respond(http_response("200 OK", &[], body)))
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns the number of requests that have started, without probes.
    pub fn begun(&self) -> usize {
        self.heads.load(Ordering::SeqCst)
    }

    /// Returns the number of calls that it held and whose client has closed the connection.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    /// Returns all requests so far, without probes.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().unwrap().clone()
    }
}

impl Arrival {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Fills the id of the request in.
    fn named(&self, bytes: &[u8]) -> Vec<u8> {
        let text = std::str::from_utf8(bytes).map(|text| text.replace("{id}", &self.id()));
        text.map_or_else(|_| bytes.to_vec(), String::into_bytes)
    }

    /// Does the same and adds the proof of a proxy as the first header.
    fn proven(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = self.named(bytes);
        if let Some(proof) = self.proof() {
            let line = bytes.windows(2).position(|end| end == b"\r\n").unwrap() + 2;
            bytes.splice(line..line, format!("{}: {proof}\r\n", headers::PROOF).into_bytes());
        }
        bytes
    }

    /// Returns the id of the request from its grant, which must be valid.
    fn id(&self) -> String {
        self.granted().map(|(grant, _)| grant.request_id.to_string()).unwrap_or_default()
    }

    /// Returns the proof that a proxy would send: by the grant of a call, or by the id of a probe.
    fn proof(&self) -> Option<Proof> {
        let of_probe = || {
            let id = RequestId::parse(self.header(headers::REQUEST_ID)?)?;
            Some(Proof::of_probe(id, "default", &grants()))
        };
        self.granted().map(|(_, proof)| proof).or_else(of_probe)
    }

    /// Returns the grant of a call, which must be valid, or `None` for any other request.
    fn granted(&self) -> Option<(Grant, Proof)> {
        let path = Target::parse(&self.target).unwrap().path;
        let Ok(Route::CallTool(call)) = Route::parse(&self.method, path) else { return None };
        let text = self.header(headers::GRANT).unwrap_or_default().as_bytes();
        let grant = Grant::verify(text, &call, &self.target, "default", &grants(), keys::now());
        Some(grant.expect("a grant for exactly this request"))
    }
}

fn grants() -> MacKeys {
    MacKeys::parse(keys::GRANT_SECRET).unwrap()
}

/// Returns the bytes of a response with its length.
pub fn http_response(status: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Serves a connection. Returns true if its client closed it amid a call that was held.
fn serve(
    mut stream: TcpStream,
    behavior: &OriginBehavior,
    seen: &Mutex<Vec<Arrival>>,
    heads: &AtomicUsize,
) -> bool {
    let mut buffer = Vec::new();
    while let Some(mut arrival) = read_head(&mut stream, &mut buffer) {
        let probe = arrival.target == "/healthz";
        heads.fetch_add(usize::from(!probe), Ordering::SeqCst);
        match behavior {
            OriginBehavior::Silent => {
                seen.lock().unwrap().push(arrival);
                stream.read_to_end(&mut Vec::new()).ok();
                return true;
            }
            OriginBehavior::Foreign(bytes) => {
                read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
                seen.lock().unwrap().push(arrival);
                stream.write_all(bytes).ok();
            }
            _ if probe => stream.write_all(&arrival.proven(&http_response("200 OK", &[], "{}"))).unwrap(),
            OriginBehavior::Respond(bytes) | OriginBehavior::Unproven(bytes) => {
                read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
                let is_proven = matches!(behavior, OriginBehavior::Respond(_));
                let text = if is_proven { arrival.proven(bytes) } else { arrival.named(bytes) };
                seen.lock().unwrap().push(arrival);
                stream.write_all(&text).ok();
            }
            OriginBehavior::RespondEarly(bytes) => {
                stream.write_all(&arrival.proven(bytes)).unwrap();
                read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
                seen.lock().unwrap().push(arrival);
            }
            OriginBehavior::Echo => {
                let head = arrival.proven(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                seen.lock().unwrap().push(arrival);
                stream.write_all(&head).unwrap();
                echo(&mut stream, &mut buffer);
                return false;
            }
            OriginBehavior::BreakOff(bytes) => {
                read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
                stream.write_all(&arrival.proven(bytes)).ok();
                seen.lock().unwrap().push(arrival);
                return false;
            }
            OriginBehavior::HangUp => {
                read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
                seen.lock().unwrap().push(arrival);
                return false;
            }
            OriginBehavior::HangUpAfter(bytes) => {
                read_body(&mut stream, &mut buffer, &mut arrival, *bytes);
                seen.lock().unwrap().push(arrival);
                return false;
            }
            OriginBehavior::Hold(bytes) => {
                read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
                if !bytes.is_empty() {
                    stream.write_all(&arrival.proven(bytes)).ok();
                }
                seen.lock().unwrap().push(arrival);
                stream.read_to_end(&mut Vec::new()).ok();
                return true;
            }
            OriginBehavior::Pause(first, pause, rest) => {
                read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
                stream.write_all(&arrival.proven(first)).ok();
                seen.lock().unwrap().push(arrival);
                thread::sleep(*pause);
                stream.write_all(rest).ok();
            }
        }
    }
    false
}

/// Sends received bytes back, chunk framing included.
fn echo(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    loop {
        let ended = crate::http::dechunk(buffer).1 || buffer.ends_with(b"0\r\n\r\n");
        stream.write_all(buffer).unwrap();
        buffer.clear();
        if ended || read_more(stream, buffer).is_none() {
            return;
        }
    }
}

pub(crate) fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Arrival> {
    loop {
        let mut lines = [httparse::EMPTY_HEADER; 128];
        let mut head = httparse::Request::new(&mut lines);
        if let httparse::Status::Complete(length) = head.parse(buffer).ok()? {
            let headers = head.headers.iter();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let arrival = Arrival {
                method: head.method?.to_owned(),
                target: head.path?.to_owned(),
                headers: headers.map(|line| (line.name.to_owned(), text(line.value))).collect(),
                body: Vec::new(),
                complete: false,
            };
            buffer.drain(..length);
            return Some(arrival);
        }
        read_more(stream, buffer)?;
    }
}

/// Reads the body to its end, or until it has `most` bytes.
pub(crate) fn read_body(stream: &mut TcpStream, buffer: &mut Vec<u8>, arrival: &mut Arrival, most: usize) {
    let length = arrival.header("content-length").and_then(|text| text.parse::<usize>().ok());
    let chunked = arrival.header("transfer-encoding").is_some();
    loop {
        let (body, complete) = match length {
            Some(length) => (buffer.iter().copied().take(length).collect(), buffer.len() >= length),
            None if chunked => crate::http::dechunk(buffer),
            None => (Vec::new(), true),
        };
        (arrival.body, arrival.complete) = (body, complete);
        if complete || arrival.body.len() >= most || read_more(stream, buffer).is_none() {
            // The rest would be another request. Clients of these tests do not pipeline.
            buffer.clear();
            return;
        }
    }
}

fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; 65_536];
    match stream.read(&mut piece).ok()? {
        0 => None,
        n => {
            buffer.extend_from_slice(&piece[..n]);
            Some(())
        }
    }
}
