//! The view of a key's sessions: the browsers that are signed in with it.

use maud::{Markup, html};
use serde_json::json;
use shared::meter::{Session, SessionId};
use shared::response::Response;

use super::parts::{Change, Row, heading, moment, table};

const PATH: &str = "/console/sessions";

/// Returns the view. `own` is the session of the browser that asks.
pub fn sessions(sessions: &[Session], own: Option<SessionId>) -> Response {
    let rows: Vec<Row> = sessions.iter().rev().map(|session| row(session, own == Some(session.id))).collect();
    let everywhere = Change::new("DELETE", PATH, "Sign out everywhere")
        .asking("Sign out all browsers, this one too? Programs that have the key go on with it.")
        .dangerous(true);
    super::view(html! {
        (heading("Sessions"))
        p.soft { "Browsers that stay signed in with this key. One that you do not know may have been copied: sign it out." }
        (table("Sessions", &["Browser", "Signed in", "Last used", "Change"], &rows, "No browser stays signed in."))
        div.actions { (everywhere.button()) }
    })
}

fn row(session: &Session, is_own: bool) -> Row {
    let time = |at| moment(&json!({ "at": at }), "/at");
    let browser = if session.browser.is_empty() { "Unknown" } else { &session.browser };
    vec![
        html! { (browser) @if is_own { " " span.badge.good { "this browser" } } },
        time(session.begun_at.to_rfc3339()),
        time(session.used_at.to_rfc3339()),
        sign_out(session, is_own),
    ]
}

/// Returns the button that ends a session. The menu has that of this browser.
fn sign_out(session: &Session, is_own: bool) -> Markup {
    let change = Change::new("DELETE", format!("{PATH}/{}", session.id), "Sign out");
    html! { @if !is_own { (change.button()) } }
}

#[cfg(test)]
mod tests {
    use shared::time::UnixMillis;

    use super::*;
    use crate::console::tests::assert_known;

    #[test]
    fn own_session_is_marked_and_others_can_be_ended() {
        let session = |number: u8, browser: &str| Session {
            id: SessionId::new([number; 16]),
            begun_at: UnixMillis(1_763_712_000_000),
            used_at: UnixMillis(1_763_798_400_000),
            browser: browser.to_owned(),
        };
        let [old, own] = [session(1, "<b>Firefox</b>"), session(2, "")];
        let shown = sessions(&[old.clone(), own.clone()], Some(own.id)).body;
        assert_known(&shown);
        assert!(shown.contains("&lt;b&gt;Firefox") && shown.contains("2025-11-21 08:00:00 UTC"), "{shown}");
        assert!(shown.contains(r#"Unknown <span class="badge good">this browser</span>"#), "{shown}");
        let ends = |id: SessionId| shown.contains(&format!("data-action=\"/console/sessions/{id}\""));
        assert!(ends(old.id) && !ends(own.id), "{shown}");
        assert_known(&sessions(&[], None).body);
    }
}
