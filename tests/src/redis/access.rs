//! The access control lists of servers, with the user that `conf/README.md` documents.

use std::{fs, process::Command};

use crate::process::root;

/// The user of the proxy, as documented.
pub(super) const USER: &str = "gateway";
/// The user of the test, of replicas and of Sentinels, who may do everything.
pub(super) const ADMIN: &str = "admin";
/// The password of both.
pub(super) const PASSWORD: &str = "a-password-of-the-tests";

/// Returns the permissions that the document gives to the proxy's user, on a server of this machine's
/// version.
///
/// # Panics
/// If the document has no line of that user, or no advice for servers from 7.2 on.
pub fn documented() -> Vec<String> {
    let document = fs::read_to_string(root().join("conf/README.md")).unwrap();
    let start = format!("user {USER} on >PASSWORD ");
    let line = document.lines().find_map(|line| line.strip_prefix(&start)).expect("the line of the user");
    let mut permissions: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    let (_, advice) = document.split_once("with Redis from 7.2 on, append `").expect("the advice for 7.2");
    if knows_setinfo() {
        permissions.push(advice.split('`').next().unwrap().to_owned());
    }
    permissions
}

/// Returns the list of a server with these permissions of the proxy's user. Nobody else but the test may
/// do anything.
pub(super) fn list(permissions: &[String]) -> String {
    let permissions = permissions.join(" ");
    format!(
        "user default off\nuser {ADMIN} on >{PASSWORD} ~* &* +@all\nuser {USER} on >{PASSWORD} {permissions}\n"
    )
}

/// Returns the program of the server: Valkey's if it is installed.
pub(super) fn program() -> &'static str {
    let is_valkey = Command::new("valkey-server").arg("--version").output().is_ok();
    if is_valkey { "valkey-server" } else { "redis-server" }
}

/// Returns true if the server knows `CLIENT SETINFO`: each Valkey, and Redis from 7.2 on.
fn knows_setinfo() -> bool {
    let version = Command::new(program()).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let (_, number) = version.split_once("v=").unwrap();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    (parts.next(), parts.next()) >= (Some(7), Some(2))
}
