//! A shop: an HTTP server whose responses a test sets path by path, and which records what it was
//! asked for.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A response of a shop.
#[derive(Clone, Debug)]
pub enum Page {
    /// A status, header lines, and a body.
    Response(u16, Vec<String>, Vec<u8>),
    /// No response, while the connection stays open.
    Hang,
}

/// A request that a shop received: the target, and the header lines in lower case.
#[derive(Clone, Debug)]
pub struct Visit {
    pub target: String,
    pub headers: Vec<String>,
}

/// A running shop.
pub struct Shop {
    pub addr: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    pages: HashMap<String, Page>,
    visits: Vec<Visit>,
    /// Connections without a response, which stay open.
    hanging: Vec<TcpStream>,
}

impl Page {
    /// Returns a 200.
    pub fn ok(media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Response(200, vec![format!("content-type: {media_type}")], body.into())
    }

    /// Returns the response with another header line.
    #[must_use]
    pub fn with(self, line: &str) -> Self {
        match self {
            Self::Response(status, mut lines, body) => {
                lines.push(line.to_owned());
                Self::Response(status, lines, body)
            }
            Self::Hang => Self::Hang,
        }
    }
}

impl Shop {
    /// Starts a shop without pages, which responds with 404.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { addr, state }
    }

    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.addr)
    }

    /// Sets the response for a target, the query included.
    pub fn set(&self, target: &str, page: Page) {
        self.state.lock().unwrap().pages.insert(target.to_owned(), page);
    }

    /// Responds to the requests that hang.
    pub fn release(&self, page: &Page) {
        for stream in std::mem::take(&mut self.state.lock().unwrap().hanging) {
            respond(stream, page);
        }
    }

    /// Returns the requests so far.
    pub fn visits(&self) -> Vec<Visit> {
        self.state.lock().unwrap().visits.clone()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let Some(visit) = read_visit(&stream) else { return };
    let page = {
        let mut state = state.lock().unwrap();
        let page = state.pages.get(&visit.target).cloned();
        // A shop that knows the validator says that nothing changed.
        let page = match page {
            Some(Page::Response(200, lines, _)) if is_same(&lines, &visit) => {
                Some(Page::Response(304, Vec::new(), Vec::new()))
            }
            page => page,
        };
        state.visits.push(visit);
        page.unwrap_or(Page::Response(404, Vec::new(), Vec::new()))
    };
    match page {
        Page::Hang => state.lock().unwrap().hanging.push(stream),
        Page::Response(..) => respond(stream, &page),
    }
}

fn respond(mut stream: TcpStream, page: &Page) {
    let Page::Response(status, lines, body) = page else { return };
    let mut head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
    for line in lines {
        head.push_str(&format!("{line}\r\n"));
    }
    let length = if *status == 304 { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    head.push_str(&format!("{length}\r\n"));
    // A client that has read enough closes the connection.
    // The worker may have hung up.
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok();
}

fn is_same(lines: &[String], visit: &Visit) -> bool {
    let etag = lines.iter().find_map(|line| line.strip_prefix("etag: "));
    etag.is_some_and(|etag| visit.headers.contains(&format!("if-none-match: {etag}")))
}

fn read_visit(stream: &TcpStream) -> Option<Visit> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let headers = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
    let headers = headers.map(|line| line.to_ascii_lowercase()).collect();
    Some(Visit { target: first.split(' ').nth(1)?.to_owned(), headers })
}
