//! A minimal HTTP/1.1 client: writes requests, and reads the status and length of a response head.

use std::io::Write as _;
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use shared::action::Action;
use shared::grant::Grant;
use shared::key::KeyId;
use shared::request_id::RequestId;
use shared::route::{CallMethod, ToolCall};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

/// The credential that requests carry.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// No credential.
    None,
    /// A new grant for each request, signed with these keys.
    Grants(Rc<MacKeys>),
    /// API keys, used in turn.
    Keys(Rc<[String]>),
}

/// The shape of a request: action, body size and connection use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestShape {
    /// The action in the request target.
    pub(crate) action: &'static str,
    /// The size of the body in bytes. A request with a body is a POST, without one a GET.
    pub(crate) body: usize,
    /// Whether the connection is closed after the response.
    pub(crate) close: bool,
}

/// A writer of consecutive requests, each with its own key or grant.
pub(crate) struct RequestWriter {
    credential: Credential,
    target: String,
    tail: Vec<u8>,
    shape: RequestShape,
    count: u64,
}

impl RequestWriter {
    /// Returns a writer. `start` must differ between writers, so that they use different keys and
    /// request ids.
    pub(crate) fn new(credential: Credential, shape: RequestShape, start: u64) -> Self {
        let target = format!("/v1/{}/{}?size=7", Tool::Qr, shape.action);
        let mut tail = Vec::new();
        if shape.body > 0 {
            tail =
                format!("Content-Type: application/json\r\nContent-Length: {}\r\n", shape.body).into_bytes();
        }
        if shape.close {
            tail.extend_from_slice(b"Connection: close\r\n");
        }
        tail.extend_from_slice(b"\r\n");
        tail.resize(tail.len() + shape.body, b'7');
        Self { credential, target, tail, shape, count: start }
    }

    /// Replaces the content of `out` with the next request.
    pub(crate) fn write_next(&mut self, out: &mut Vec<u8>) {
        let method = if self.shape.body > 0 { CallMethod::Post } else { CallMethod::Get };
        self.write_head(method, out);
        out.extend_from_slice(&self.tail);
    }

    /// Replaces the content of `out` with the head of a POST whose body has `body` bytes.
    pub(crate) fn write_next_head(&mut self, body: u64, out: &mut Vec<u8>) {
        self.write_head(CallMethod::Post, out);
        // Writing to a vector cannot fail.
        let _written = write!(out, "Content-Type: application/json\r\nContent-Length: {body}\r\n\r\n");
    }

    /// Replaces the content of `out` with the request line and the common headers.
    fn write_head(&mut self, method: CallMethod, out: &mut Vec<u8>) {
        self.count = self.count.wrapping_add(1);
        out.clear();
        // Writing to a vector cannot fail.
        let _written = write!(
            out,
            "{} {} HTTP/1.1\r\nHost: gateway.test\r\nUser-Agent: bench/1\r\nAccept: */*\r\n",
            method.method(),
            self.target
        );
        match &self.credential {
            Credential::None => {}
            Credential::Grants(keys) => {
                let _written = write!(out, "X-Gateway-Grant: {}\r\n", self.grant(method, keys));
            }
            Credential::Keys(keys) => {
                let number = usize::try_from(self.count % keys.len().max(1) as u64).unwrap_or(0);
                let key = keys.get(number).map_or("", String::as_str);
                let _written = write!(out, "X-API-Key: {key}\r\n");
            }
        }
    }

    fn grant(&self, method: CallMethod, keys: &MacKeys) -> String {
        let Some(action) = Action::parse(self.shape.action) else { return String::new() };
        let [low, high, ..] = (self.count % 1_000).to_le_bytes();
        // Spread over all bits, like the random ids of the edge: the sampler of traces reads the last ones.
        let id = u128::from(self.count).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let grant = Grant {
            key_id: KeyId::new([low, high, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            secret_id: None,
            tier: Tier::Pro,
            request_id: RequestId(id.to_be_bytes()),
            issued_at: UnixMillis(
                UNIX_EPOCH.elapsed().map_or(0, |time| time.as_millis().try_into().unwrap_or(0)),
            ),
        };
        grant.sign(&ToolCall { method, tool: Tool::Qr, action }, &self.target, "default", keys).text
    }
}

/// Returns the `Content-Length` of a head.
pub(crate) fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    head.split(|&byte| byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        if !name.eq_ignore_ascii_case(NAME) {
            return None;
        }
        std::str::from_utf8(value).ok()?.trim().parse().ok()
    })
}

/// Returns the status of a response head, or 0 if it is not one.
pub(crate) fn status(head: &[u8]) -> u16 {
    head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(0)
}
