use shared::key::{ApiKey, KeyEnv, KeyId};
use shared::tier::Tier;
use shared::time::UnixMillis;

use super::*;

fn keys() -> MacKeys {
    MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap()
}

fn session() -> KeptSession {
    let now = UnixMillis(1_763_712_000_000);
    let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, now, [9; 16], &keys());
    KeptSession { id: SessionId::new([3; 16]), key }
}

/// Returns `Set-Cookie` of a session.
fn kept(is_secure: bool) -> String {
    begin(&session(), &keys(), &[7; 24], is_secure).header("set-cookie").unwrap().to_owned()
}

/// Returns the session of a request with these values of `Cookie`, `Sec-Fetch-Site` and `Sec-Fetch-Dest`.
fn of(values: [Option<&str>; 3]) -> Option<KeptSession> {
    let names = ["cookie", "sec-fetch-site", "sec-fetch-dest"];
    of_cookie(|name| values[names.iter().position(|known| *known == name)?], &keys(), true)
}

#[test]
fn cookie_is_for_this_host_and_no_script() {
    let cookie = kept(true);
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert!(pair.starts_with("__Host-utg_console="), "{pair}");
    assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure");
    assert!(kept(false).starts_with("utg_console=") && !kept(false).contains("Secure"));
    let forgotten = end(true);
    assert!(forgotten.header("set-cookie").unwrap().starts_with("__Host-utg_console=; Path=/; Max-Age=0;"));
}

#[test]
fn cookie_names_its_session() {
    let cookie = format!("theme=dark; {}", kept(true).split(';').next().unwrap());
    assert_eq!(of([Some(&cookie), Some("same-origin"), Some("empty")]), Some(session()));
}

#[test]
fn cookie_of_before_sessions_is_refused() {
    let sealed =
        EncryptionKeys::from(keys()).seal_bytes(b"\0\0\x01\x9autg_live_ada", "console-session", &[7; 24]);
    let cookie = format!("__Host-utg_console={}", sealed.as_str());
    assert_eq!(of([Some(&cookie), Some("same-origin"), Some("empty")]), None);
}

#[test]
fn session_is_for_scripts_of_this_origin_only() {
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
        assert_eq!(of([cookie, site, target]), None, "{site:?} {target:?}");
    }
}

#[test]
fn changed_cookie_has_no_session() {
    let cookie = kept(true);
    let pair = cookie.split(';').next().unwrap();
    for at in "__Host-utg_console=".len()..pair.len() {
        let mut changed = pair.as_bytes().to_vec();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(of([Some(&changed), Some("same-origin"), Some("empty")]), None, "{at}");
    }
    for cookie in ["", "__Host-utg_console", "__Host-utg_console=", "utg_console=x"] {
        assert_eq!(of([Some(cookie), Some("same-origin"), Some("empty")]), None, "{cookie}");
    }
}

#[test]
fn browser_is_told_by_its_kind_alone() {
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0";
    assert_eq!(browser(Some(FIREFOX)), "Firefox on Linux");
    assert_eq!((browser(None), browser(Some("curl/8.5.0"))), (String::new(), String::new()));
}

#[test]
fn each_method_of_a_path_is_one_call() {
    for call in SessionCall::ALL {
        let path = call.path().replace("{session_id}", &SessionId::new([1; 16]).to_string());
        assert_eq!(SessionPath::parse(&path).unwrap().call(call.method()), Some(call));
    }
    for path in ["/sessions/", "/sessions/ses_", "/session/x", "/sessionses_0000000000000000000000"] {
        assert_eq!(SessionPath::parse(path), None, "{path}");
    }
    assert_eq!(state(true).body, r#"{"signed_in":true}"#);
}

#[test]
fn list_names_the_own_session_and_no_more_of_others() {
    let session = |number: u8, browser: &str| Session {
        id: SessionId::new([number; 16]),
        begun_at: UnixMillis(1_763_712_000_000),
        used_at: UnixMillis(1_763_798_400_000),
        browser: browser.to_owned(),
    };
    let [old, own] = [session(1, "Firefox on Linux"), session(2, "")];
    let listed: serde_json::Value =
        serde_json::from_str(&list(&[old.clone(), own.clone()], Some(own.id)).body).unwrap();
    let row = |session: &Session, browser: &str, is_own: bool| {
        serde_json::json!({"id": session.id, "browser": browser, "is_own": is_own,
            "begun_at": "2025-11-21T08:00:00Z", "used_at": "2025-11-22T08:00:00Z"})
    };
    let expected =
        serde_json::json!({"sessions": [row(&own, "", true), row(&old, "Firefox on Linux", false)]});
    assert_eq!(listed, expected);
}
