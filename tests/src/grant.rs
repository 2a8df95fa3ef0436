//! Requests with grants, signed as the edge signs them.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use shared::{
    grant::Grant,
    headers::GRANT,
    key::{KeyId, SecretId},
    request_id::RequestId,
    route::{Route, ToolCall},
    secret::MacKeys,
    tier::Tier,
    time::UnixMillis,
};

use crate::{
    http::Request,
    keys::{GRANT_SECRET, now},
};

/// A signer of grants.
#[derive(Clone)]
pub struct Signer {
    pub secret: String,
    pub data_center: String,
    pub key_id: KeyId,
    pub secret_id: Option<SecretId>,
    pub tier: Tier,
    /// The age of the grant in milliseconds. A negative one is issued in the future.
    pub age_ms: i64,
    /// The request id of each grant. A new one for each if `None`.
    pub request_id: Option<RequestId>,
}

impl Default for Signer {
    fn default() -> Self {
        Self {
            secret: GRANT_SECRET.to_owned(),
            data_center: "test".to_owned(),
            key_id: KeyId::new([5; 12]),
            secret_id: None,
            tier: Tier::Pro,
            age_ms: 0,
            request_id: None,
        }
    }
}

impl Signer {
    /// Returns the grant for a request.
    ///
    /// # Panics
    /// If the request is not a tool call.
    pub fn grant(&self, request: &Request) -> String {
        let grant = self.try_grant(request);
        grant.unwrap_or_else(|| panic!("{} {} is not a tool call", request.method, request.target))
    }

    /// Returns the grant for a request, or `None` if the request is not a tool call.
    pub fn try_grant(&self, request: &Request) -> Option<String> {
        match Route::read(&request.method, &request.target) {
            Ok((Route::CallTool(call), target)) => Some(self.sign(&call, target.path_and_query)),
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
            secret_id: self.secret_id,
            tier: self.tier,
            request_id: self.request_id.unwrap_or(RequestId(id)),
            issued_at: UnixMillis(now().0.saturating_add_signed(-self.age_ms)),
        };
        grant.sign(call, target, &self.data_center, &MacKeys::parse(&self.secret).unwrap()).text
    }

    /// Returns true if `proof` is the proof of a response to this grant.
    pub fn is_proven(&self, grant: &str, request: &Request, proof: Option<&str>) -> bool {
        let (keys, now) = (MacKeys::parse(&self.secret).unwrap(), now());
        let Ok(Route::CallTool(call)) = Route::parse(&request.method, &request.target) else {
            return false;
        };
        let verified = Grant::verify(grant.as_bytes(), &call, &request.target, &self.data_center, &keys, now);
        verified.is_ok_and(|(_, expected)| proof.is_some_and(|text| expected.matches(text)))
    }

    /// Adds the grant to a request.
    pub fn granted(&self, request: Request) -> Request {
        let grant = self.grant(&request);
        request.header(GRANT, &grant)
    }
}

/// Returns the id in a grant, signed by whomever: 16 bytes after its codes, key and digest.
pub fn request_id_of(grant: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(grant).ok()?;
    Some(RequestId(bytes.get(33..49)?.try_into().ok()?).to_string())
}

/// Returns a tool call with a grant.
pub fn call(method: &str, target: &str) -> Request {
    Signer::default().granted(Request::new(method, target))
}

/// Returns a POST of JSON with a grant.
pub fn post(target: &str, body: &str) -> Request {
    call("POST", target).json(body)
}

/// Returns the head of a POST of JSON with a grant. A body of `length` bytes follows.
pub fn upload(target: &str, length: usize) -> Request {
    call("POST", target)
        .header("Content-Type", "application/json")
        .header("Content-Length", &length.to_string())
}
