//! The sessions of the console: a browser that is signed in has a cookie which no script can read, and which names a
//! session and has no key. The meter of the key knows which sessions have not ended
//! ([`Sessions`]).
//!
//! Why: docs/decisions/portal.md, "A session is a row of the key's object".

use biolink::visitor::Agent;
use biolink::webhooks::{EncryptionKeys, Nonce, SealedSecret};
use serde::Serialize;
use shared::json;
use shared::meter::{KeptSession, Session, SessionId, Sessions};
use shared::method::{Method, Methods};
use shared::response::Response;
use shared::secret::MacKeys;
use strum::VariantArray;

/// Binds the ciphertext to its use. Cookies of before there were sessions had a key, under another name.
const OWNER: &str = "console-session-id";
const OWN: &str = "/session";
const ALL: &str = "/sessions";
const ONE: &str = "/sessions/{session_id}";

/// A request for sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
pub enum SessionCall {
    /// Whether the browser is signed in.
    Read,
    /// To sign the browser in with the key that it sends.
    Begin,
    /// To sign the browser out.
    End,
    /// All sessions of the key.
    List,
    /// To sign all browsers out.
    EndAll,
    /// To sign one out.
    EndOne,
}

/// A path of sessions below the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPath {
    template: &'static str,
    /// The session that it names.
    pub id: Option<SessionId>,
}

#[derive(Serialize)]
struct List {
    sessions: Vec<Listed>,
}

/// A session as the console shows it.
#[derive(Serialize)]
struct Listed {
    id: SessionId,
    /// Empty if it is not known.
    browser: String,
    begun_at: String,
    used_at: String,
    is_own: bool,
}

impl SessionCall {
    /// Every call once.
    pub const ALL: [Self; 6] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the method.
    pub const fn method(self) -> Method {
        match self {
            Self::Read | Self::List => Method::Get,
            Self::Begin => Method::Put,
            Self::End | Self::EndAll | Self::EndOne => Method::Delete,
        }
    }

    /// Returns the path below the console, with parameters in braces.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Read | Self::Begin | Self::End => OWN,
            Self::List | Self::EndAll => ALL,
            Self::EndOne => ONE,
        }
    }
}

impl SessionPath {
    /// Parses a path below the console; `None` for one that is not of sessions.
    pub fn parse(path: &str) -> Option<Self> {
        let template = match path {
            OWN => OWN,
            ALL => ALL,
            _ => {
                let id = SessionId::parse(path.strip_prefix(ALL)?.strip_prefix('/')?)?;
                return Some(Self { template: ONE, id: Some(id) });
            }
        };
        Some(Self { template, id: None })
    }

    /// Returns the methods of the path.
    pub fn methods(self) -> Methods {
        Methods::of(self.calls().map(SessionCall::method)).with_head()
    }

    /// Returns the call of a method.
    pub fn call(self, method: Method) -> Option<SessionCall> {
        self.calls().find(|call| call.method() == method)
    }

    fn calls(self) -> impl Iterator<Item = SessionCall> {
        SessionCall::ALL.into_iter().filter(move |call| call.path() == self.template)
    }
}

/// Returns the response to a read.
pub fn state(is_signed_in: bool) -> Response {
    Response::json(format!(r#"{{"signed_in":{is_signed_in}}}"#))
}

/// Returns the response with all sessions of a key, the newest first. `own` is that of the browser that asks.
pub fn list(sessions: &[Session], own: Option<SessionId>) -> Response {
    let one = |session: &Session| Listed {
        id: session.id,
        browser: session.browser.clone(),
        begun_at: session.begun_at.to_rfc3339(),
        used_at: session.used_at.to_rfc3339(),
        is_own: own == Some(session.id),
    };
    let sessions: Vec<_> = sessions.iter().rev().map(one).collect();
    Response::json(json::to_string(&List { sessions }).unwrap_or_default())
}

/// Returns the response that signs a browser in. The nonce must be random.
pub fn begin(session: &KeptSession, keys: &MacKeys, nonce: &Nonce, is_secure: bool) -> Response {
    // Sealed: a browser that is read out or backed up must not give away the key's record.
    let mut kept = session.id.as_bytes().to_vec();
    kept.extend(json::to_string(&session.key).unwrap_or_default().into_bytes());
    let sealed = EncryptionKeys::from(keys.clone()).seal_bytes(&kept, OWNER, nonce);
    response(sealed.as_str(), Sessions::DAYS * 86_400, is_secure)
}

/// Returns the response that has a browser forget its session.
pub fn end(is_secure: bool) -> Response {
    response("", 0, is_secure)
}

fn response(value: &str, seconds: u64, is_secure: bool) -> Response {
    let secure = if is_secure { "; Secure" } else { "" };
    let name = cookie_name(is_secure);
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    Response::no_content().with_headers([("set-cookie", cookie)])
}

/// Returns the name of the cookie. With the prefix, a browser takes it from this very host only (RFC 6265bis,
/// section 4.1.3.2), and over https only.
const fn cookie_name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-utg_console" } else { "utg_console" }
}

/// Returns the session that the cookie of a request names. `header` returns a header of the request. There is
/// none unless a script of this origin has sent the request: a link, an image and a page of another origin
/// make no call with it.
pub fn of_cookie<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    keys: &MacKeys,
    is_secure: bool,
) -> Option<KeptSession> {
    let cookies = header("cookie")?;
    // Browsers set these headers, and no script can. Without them a page of another site could use
    // the cookie.
    if header("sec-fetch-site") != Some("same-origin") || header("sec-fetch-dest") != Some("empty") {
        return None;
    }
    let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == cookie_name(is_secure))?;
    let kept = EncryptionKeys::from(keys.clone()).unseal_bytes(&SealedSecret::from(value), OWNER).ok()?;
    let (id, key) = kept.split_first_chunk()?;
    // A cookie of an earlier release may have another form: signing in again is all it takes.
    let key = json::from_str(std::str::from_utf8(key).ok()?).ok()?;
    Some(KeptSession { id: SessionId::new(*id), key })
}

/// Returns the kind of browser that a user agent names, such as `Firefox on Linux`; empty if it is not known.
pub fn browser(user_agent: Option<&str>) -> String {
    let agent = Agent::read(user_agent);
    match (agent.browser, agent.os) {
        (Some(browser), Some(os)) => format!("{browser} on {os}"),
        // Only these two: the whole header would tell more about a person than the list of sessions
        // needs.
        (browser, os) => browser.or(os).unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests;
