//! Grants as the edge signs them.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use shared::{
    grant::Grant,
    headers::GRANT,
    key::KeyId,
    request_id::RequestId,
    route::{Route, ToolCall},
    secret::MacKeys,
    tier::Tier,
    time::UnixMillis,
};

use super::Request;

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef-of-the-edge";

/// Signs requests. What it says can be changed before it does.
#[derive(Clone)]
pub(crate) struct Signer {
    pub(crate) secret: String,
    pub(crate) data_centre: String,
    pub(crate) key_id: KeyId,
    pub(crate) tier: Tier,
    pub(crate) age_ms: i64,
}

impl Default for Signer {
    fn default() -> Self {
        Self {
            secret: SECRET.to_owned(),
            data_centre: "test".to_owned(),
            key_id: KeyId::new([5; 12]),
            tier: Tier::Pro,
            age_ms: 0,
        }
    }
}

impl Signer {
    /// The grant for a request.
    pub(crate) fn grant(&self, request: &Request) -> String {
        let grant = self.try_grant(request);
        grant.unwrap_or_else(|| panic!("{} {} calls no tool", request.method(), request.target()))
    }

    /// The grant for a request; `None` for one that calls no tool.
    pub(crate) fn try_grant(&self, request: &Request) -> Option<String> {
        let path = request.target().split('?').next().unwrap();
        match Route::parse(request.method(), path) {
            Ok(Route::CallTool(call)) => Some(self.sign(&call, request.target())),
            _ => None,
        }
    }

    fn sign(&self, call: &ToolCall<'_>, target: &str) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut id = [0; 16];
        id[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        id[8..].copy_from_slice(&u64::from(std::process::id()).to_be_bytes());
        let grant = Grant {
            key_id: self.key_id,
            tier: self.tier,
            request_id: RequestId(id),
            issued_at: UnixMillis((now_ms() - self.age_ms) as u64),
        };
        grant.sign(call, target, &self.data_centre, &MacKeys::parse(&self.secret).unwrap()).text
    }

    /// Returns true if this is what proves that a response is to this grant.
    pub(crate) fn is_proven(&self, grant: &str, request: &Request, proof: Option<&str>) -> bool {
        let (keys, now) = (MacKeys::parse(&self.secret).unwrap(), UnixMillis(now_ms() as u64));
        let Ok(Route::CallTool(call)) = Route::parse(request.method(), request.target()) else {
            return false;
        };
        let verified =
            Grant::verify(grant.as_bytes(), &call, request.target(), &self.data_centre, &keys, now);
        verified.is_ok_and(|(_, expected)| proof.is_some_and(|text| expected.matches(text)))
    }

    /// The request with its grant.
    pub(crate) fn granted(&self, request: Request) -> Request {
        let grant = self.grant(&request);
        request.header(GRANT, &grant)
    }
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// A granted call of a tool.
pub(crate) fn call(method: &str, target: &str) -> Request {
    Signer::default().granted(Request::new(method, target))
}

/// A granted POST with a JSON body.
pub(crate) fn post(target: &str, body: &str) -> Request {
    call("POST", target).json(body)
}
