//! The session of the console: a key that a browser keeps in a cookie which no script can read.
//!
//! Why: docs/decisions/portal.md, "A browser keeps a key in a sealed cookie".

use biolink::webhooks::{EncryptionKeys, Nonce, SealedSecret};
use shared::method::{Method, Methods};
use shared::response::Response;
use shared::secret::MacKeys;
use shared::time::UnixMillis;
use strum::VariantArray;

/// Days until a browser must sign in again.
const DAYS: u64 = 30;
const DAY_SECONDS: u64 = 86_400;
/// Binds the ciphertext to its use.
const OWNER: &str = "console-session";

/// What a browser asks of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
pub enum SessionCall {
    /// Whether there is one.
    Read,
    /// To keep the key that the request is made with.
    Begin,
    /// To forget it.
    End,
}

impl SessionCall {
    /// Every call once.
    pub const ALL: [Self; 3] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the methods of the path.
    pub fn methods() -> Methods {
        Methods::of(Self::ALL.map(Self::method)).with_head()
    }

    /// Returns the call of a method.
    pub fn of(method: Method) -> Option<Self> {
        Self::ALL.into_iter().find(|call| call.method() == method)
    }

    /// Returns the method.
    pub const fn method(self) -> Method {
        match self {
            Self::Read => Method::Get,
            Self::Begin => Method::Put,
            Self::End => Method::Delete,
        }
    }
}

/// Returns the response to a read.
pub fn state(is_signed_in: bool) -> Response {
    Response::json(format!(r#"{{"signed_in":{is_signed_in}}}"#))
}

/// Returns the response that gives a browser a key to keep. The nonce must be random.
pub fn begin(key: &str, keys: &MacKeys, nonce: &Nonce, now: UnixMillis, is_secure: bool) -> Response {
    let mut kept = now.plus(DAYS * DAY_SECONDS * 1_000).0.to_be_bytes().to_vec();
    kept.extend_from_slice(key.as_bytes());
    let sealed = EncryptionKeys::from(keys.clone()).seal_bytes(&kept, OWNER, nonce);
    response(sealed.as_str(), DAYS * DAY_SECONDS, is_secure)
}

/// Returns the response that has a browser forget it.
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

/// Returns the key that the browser of a request keeps. `header` returns a header of the request. There is
/// none unless a script of this origin has sent the request: a link, an image and a page of another origin
/// make no call with it.
pub fn key<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    keys: &MacKeys,
    now: UnixMillis,
    is_secure: bool,
) -> Option<String> {
    let cookies = header("cookie")?;
    if header("sec-fetch-site") != Some("same-origin") || header("sec-fetch-dest") != Some("empty") {
        return None;
    }
    let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == cookie_name(is_secure))?;
    let kept = EncryptionKeys::from(keys.clone()).unseal_bytes(&SealedSecret::from(value), OWNER).ok()?;
    let (expires_at, key) = kept.split_first_chunk()?;
    let is_valid = now < UnixMillis(u64::from_be_bytes(*expires_at));
    String::from_utf8(key.to_vec()).ok().filter(|_| is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_345_678);
    const MONTH_MS: u64 = 30 * 86_400_000;

    fn keys() -> MacKeys {
        MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap()
    }

    /// Returns `Set-Cookie` for a key.
    fn kept(is_secure: bool) -> String {
        let response = begin("utg_live_ada", &keys(), &[7; 24], NOW, is_secure);
        response.header("set-cookie").unwrap().to_owned()
    }

    /// Returns the key of a request with these values of `Cookie`, `Sec-Fetch-Site` and `Sec-Fetch-Dest`.
    fn of(values: [Option<&str>; 3], now: UnixMillis) -> Option<String> {
        let names = ["cookie", "sec-fetch-site", "sec-fetch-dest"];
        key(|name| values[names.iter().position(|known| *known == name)?], &keys(), now, true)
    }

    #[test]
    fn cookie_is_for_this_host_and_no_script() {
        let (pair, attributes) =
            kept(true).split_once("; ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert!(pair.starts_with("__Host-utg_console="), "{pair}");
        assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure");
        assert!(!pair.contains("utg_live"));
        assert!(kept(false).starts_with("utg_console=") && !kept(false).contains("Secure"));
        let forgotten = end(true);
        assert!(
            forgotten.header("set-cookie").unwrap().starts_with("__Host-utg_console=; Path=/; Max-Age=0;")
        );
    }

    #[test]
    fn key_is_kept_for_thirty_days() {
        let cookie = format!("theme=dark; {}", kept(true).split(';').next().unwrap());
        let at = |now| of([Some(&cookie), Some("same-origin"), Some("empty")], now);
        assert_eq!(at(NOW).as_deref(), Some("utg_live_ada"));
        assert_eq!(at(NOW.plus(MONTH_MS - 1)).as_deref(), Some("utg_live_ada"));
        assert_eq!(at(NOW.plus(MONTH_MS)), None);
    }

    #[test]
    fn key_is_for_scripts_of_this_origin_only() {
        let cookie = kept(true);
        let cookie = cookie.split(';').next();
        for [site, target] in [
            [Some("same-site"), Some("empty")],
            [Some("cross-site"), Some("empty")],
            [Some("none"), Some("document")],
            [Some("same-origin"), Some("image")],
            [Some("same-origin"), Some("document")],
            [Some("same-origin"), None],
            [None, Some("empty")],
        ] {
            assert_eq!(of([cookie, site, target], NOW), None, "{site:?} {target:?}");
        }
    }

    #[test]
    fn changed_cookie_has_no_key() {
        let cookie = kept(true);
        let pair = cookie.split(';').next().unwrap();
        for at in "__Host-utg_console=".len()..pair.len() {
            let mut changed = pair.as_bytes().to_vec();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(of([Some(&changed), Some("same-origin"), Some("empty")], NOW), None, "{at}");
        }
        for cookie in ["", "__Host-utg_console", "__Host-utg_console=", "utg_console=x"] {
            assert_eq!(of([Some(cookie), Some("same-origin"), Some("empty")], NOW), None, "{cookie}");
        }
    }

    #[test]
    fn each_method_is_one_call() {
        assert_eq!(SessionCall::ALL.map(|call| SessionCall::of(call.method())), SessionCall::ALL.map(Some));
        assert_eq!(SessionCall::of(Method::Post), None);
        assert_eq!(state(true).body, r#"{"signed_in":true}"#);
    }
}
