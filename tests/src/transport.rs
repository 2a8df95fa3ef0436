//! The transport of the proxy under test, and the table of the differences between the transports.
//!
//! The suite runs on the transport that the environment variable `UTG_TEST_TRANSPORT` names:
//! `relay`, which is the default, or `pingora-proxy`. A test that is about a difference says so in
//! one of three ways:
//!
//! - [`differs`] returns the value that the transport under test is documented to show. The test asserts it on both.
//! - [`only_on_relay`] panics on another transport. `scripts/test.sh` leaves out the tests that the table names, so such
//!   a test neither passes nor counts as skipped there.
//! - [`known`] names the difference where a test runs both transports and compares them.
//!
//! They take the name of a row of `tests/vectors/transports.tsv` and panic if there is none.

use std::{env, fs};

use crate::process::root;

/// A transport of the proxy: a value of `server.transport`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Relay,
    PingoraProxy,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub name: String,
    /// What the relay does.
    pub relay: String,
    /// What the transport `pingora-proxy` does instead, and why.
    pub pingora_proxy: String,
    /// The full names of the tests that run on the relay only.
    pub only_on_relay: Vec<String>,
}

/// The environment variable that selects the transport under test.
pub const VARIABLE: &str = "UTG_TEST_TRANSPORT";

impl Transport {
    /// Returns the transport that the environment selects.
    ///
    /// # Panics
    /// If the environment names an unknown transport.
    pub fn under_test() -> Self {
        match env::var(VARIABLE).as_deref() {
            Err(_) | Ok("" | "relay") => Self::Relay,
            Ok("pingora-proxy") => Self::PingoraProxy,
            Ok(other) => panic!("{VARIABLE} is `{other}`; expected relay or pingora-proxy"),
        }
    }

    /// Returns the line of the section `[server]` that selects this transport. The default
    /// transport has none.
    pub(crate) const fn setting(self) -> &'static str {
        match self {
            Self::Relay => "",
            Self::PingoraProxy => "transport = \"pingora-proxy\"\n",
        }
    }
}

/// Returns `relay` or `pingora_proxy`, whichever the transport under test is documented to show.
///
/// # Panics
/// If the table has no row `difference`.
pub fn differs<T>(difference: &str, relay: T, pingora_proxy: T) -> T {
    assert!(row(difference).is_some(), "no row `{difference}` in the table of differences");
    match Transport::under_test() {
        Transport::Relay => relay,
        Transport::PingoraProxy => pingora_proxy,
    }
}

/// Returns the name of a row, for a test that compares both transports.
///
/// # Panics
/// If the table has no row `difference`.
pub fn known(difference: &'static str) -> &'static str {
    assert!(row(difference).is_some(), "no row `{difference}` in the table of differences");
    difference
}

/// Asserts that the transport under test is the relay. Must be the first line of a test that the
/// row `difference` names.
///
/// # Panics
/// If the transport is another one, or the table has no such row.
pub fn only_on_relay(difference: &str) {
    let row = row(difference).unwrap_or_else(|| panic!("no row `{difference}` in the table of differences"));
    assert_eq!(Transport::under_test(), Transport::Relay, "{}", refusal(&row.name));
}

/// Returns the message of [`only_on_relay`].
pub fn refusal(difference: &str) -> String {
    format!("runs only on the relay: {difference}")
}

fn row(name: &str) -> Option<Difference> {
    differences().into_iter().find(|row| row.name == name)
}

/// Reads the modules of the proxy's tests that run on the relay only, because no transport has a part
/// in what they test: paths such as `direct::state::`.
pub fn modules_above_transports() -> Vec<String> {
    let text = fs::read_to_string(root().join("tests/vectors/modules_above_transports.txt")).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Reads the table.
///
/// # Panics
/// If a row has another number of columns than its header.
pub fn differences() -> Vec<Difference> {
    let text = fs::read_to_string(root().join("tests/vectors/transports.tsv")).unwrap();
    text.lines().skip(1).map(parse).collect()
}

fn parse(line: &str) -> Difference {
    let columns: Vec<_> = line.split('\t').collect();
    let [name, relay, pingora_proxy, tests] = columns[..] else { panic!("expected four columns: {line:?}") };
    Difference {
        name: name.to_owned(),
        relay: relay.to_owned(),
        pingora_proxy: pingora_proxy.to_owned(),
        only_on_relay: tests.split(' ').filter(|test| !test.is_empty()).map(str::to_owned).collect(),
    }
}
