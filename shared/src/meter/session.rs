//! A session of the console: a browser that is signed in with a key.

use serde::{Deserialize, Serialize};

use crate::key::VerifiedKey;
use crate::problem::{Problem, codes};
use crate::time::UnixMillis;

crate::id! {
    /// 128 random bits, written `ses_` and 22 of `[0-9A-Za-z]`. It is no credential by itself: a cookie has it encrypted.
    SessionId "ses_" 16
}

impl SessionId {
    /// Returns the id's bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// The moment of the sign-in.
    pub begun_at: UnixMillis,
    /// The moment of the last request, to five minutes.
    pub used_at: UnixMillis,
    /// The kind of browser, such as `Firefox on Linux`; empty if it is not known.
    #[serde(default)]
    pub browser: String,
}

/// A session, as a cookie names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptSession {
    /// Its name.
    pub id: SessionId,
    /// The key that the browser has signed in with.
    pub key: VerifiedKey,
}

/// A step of a key's sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStep {
    /// A browser signs in.
    Begin {
        /// The new session.
        id: SessionId,
        /// The kind of browser.
        browser: String,
        /// The session that the browser had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<SessionId>,
    },
    /// One is signed out.
    End(SessionId),
    /// All are signed out.
    EndAll,
    /// They are read.
    List,
}

/// Returns the refusal of a browser that was signed out.
pub fn signed_out() -> Problem {
    Problem::new(codes::KEY_MISSING, "this session has ended; sign in again")
}
