//! A receiver of webhooks, or a shop: an HTTP server that responds as a test says and records what it
//! received.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use standardwebhooks::{Webhook, WebhookError};

use crate::{
    origin::{Arrival, http_response, read_body, read_head},
    wait::wait_for,
};

/// The behavior of a receiver.
#[derive(Clone, Debug)]
pub enum ReceiverBehavior {
    /// Responds with this status line and these header lines.
    Respond(&'static str, Vec<String>),
    /// Responds with 204 if the official library verifies the request with this secret, and with 400
    /// otherwise.
    Verify(String),
    /// Sends these bytes as they are, and closes the connection.
    Send(Vec<u8>),
    /// Sends these bytes as they are, and leaves the connection open.
    SendAndHold(Vec<u8>),
    /// Never responds.
    Hang,
    /// Closes the connection without a response.
    HangUp,
}

/// A running receiver. Dropping it closes its port.
pub struct Receiver {
    pub addr: SocketAddr,
    state: Arc<Mutex<State>>,
    listener: Option<JoinHandle<()>>,
}

struct State {
    behavior: ReceiverBehavior,
    /// Behaviors of the next requests.
    next: Vec<ReceiverBehavior>,
    arrivals: Vec<Arrival>,
    /// Places of the arrivals that got a 2xx.
    accepted: Vec<usize>,
    stopped: bool,
}

impl Receiver {
    /// Starts a receiver that responds with 204.
    pub fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap())
    }

    /// Starts a receiver at this address.
    pub fn start_at(addr: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).unwrap();
        let addr = listener.local_addr().unwrap();
        let behavior = ReceiverBehavior::Respond("204 No Content", Vec::new());
        let state =
            State { behavior, next: Vec::new(), arrivals: Vec::new(), accepted: Vec::new(), stopped: false };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let listener = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if state.lock().unwrap().stopped {
                    return;
                }
                let state = Arc::clone(&state);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { addr, state: shared, listener: Some(listener) }
    }

    /// Returns its URL with this path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Sets what happens to requests from now on.
    pub fn set(&self, behavior: ReceiverBehavior) {
        self.state.lock().unwrap().behavior = behavior;
    }

    /// Responds with this status from now on.
    pub fn respond(&self, status: &'static str) {
        self.set(ReceiverBehavior::Respond(status, Vec::new()));
    }

    /// Sets what happens to the next requests, one after another.
    pub fn queue(&self, behaviors: impl IntoIterator<Item = ReceiverBehavior>) {
        self.state.lock().unwrap().next.extend(behaviors);
    }

    /// Returns the number of requests so far.
    pub fn count(&self) -> usize {
        self.state.lock().unwrap().arrivals.len()
    }

    /// Returns all requests so far.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.state.lock().unwrap().arrivals.clone()
    }

    /// Returns the requests so far that got a 2xx.
    pub fn accepted(&self) -> Vec<Arrival> {
        let state = self.state.lock().unwrap();
        state.accepted.iter().map(|place| state.arrivals[*place].clone()).collect()
    }

    /// Waits for this many requests. Returns them.
    pub fn wait(&self, count: usize) -> Vec<Arrival> {
        wait_for(Duration::from_secs(40), || (self.count() >= count).then(|| self.arrivals()))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.state.lock().unwrap().stopped = true;
        TcpStream::connect(self.addr).ok();
        self.listener.take().map(JoinHandle::join);
    }
}

impl Arrival {
    /// Returns the body, which must be JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Verifies the signature with the official library of Standard Webhooks.
    ///
    /// # Errors
    /// As [`Webhook::verify`].
    pub fn verify(&self, secret: &str) -> Result<(), WebhookError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap());
        }
        Webhook::new(secret).unwrap().verify(&self.body, &headers)
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let mut buffer = Vec::new();
    while let Some(mut arrival) = read_head(&mut stream, &mut buffer) {
        read_body(&mut stream, &mut buffer, &mut arrival, usize::MAX);
        let (place, behavior) = {
            let mut state = state.lock().unwrap();
            if state.stopped {
                return;
            }
            state.arrivals.push(arrival.clone());
            let next = if state.next.is_empty() { state.behavior.clone() } else { state.next.remove(0) };
            (state.arrivals.len() - 1, next)
        };
        let (status, headers) = match behavior {
            ReceiverBehavior::Respond(status, headers) => (status, headers),
            ReceiverBehavior::Verify(secret) => (
                if arrival.verify(&secret).is_ok() { "204 No Content" } else { "400 Bad Request" },
                Vec::new(),
            ),
            ReceiverBehavior::Send(bytes) => {
                stream.write_all(&bytes).ok();
                return;
            }
            ReceiverBehavior::SendAndHold(bytes) => {
                stream.write_all(&bytes).ok();
                stream.read_to_end(&mut Vec::new()).ok();
                return;
            }
            ReceiverBehavior::Hang => {
                let mut rest = Vec::new();
                stream.read_to_end(&mut rest).ok();
                return;
            }
            ReceiverBehavior::HangUp => return,
        };
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        if status.starts_with('2') {
            state.lock().unwrap().accepted.push(place);
        }
        if stream.write_all(&http_response(status, &headers, "")).is_err() {
            return;
        }
    }
}
