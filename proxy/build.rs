//! Passes the commit that the crate is built from: `UTG_COMMIT` of the environment, else git's,
//! else `unknown`.
//!
//! Only builds with optimization ask git, so that a commit does not make developers compile
//! everything again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "the language of build scripts; a test has the functions alone"
)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=UTG_COMMIT");
    let named = env::var("UTG_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(|| {
        let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
        let workspace = package.parent()?;
        if env::var("PROFILE").as_deref() != Ok("release") {
            return None;
        }
        for file in watched(workspace) {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        commit(workspace)
    });
    println!("cargo::rustc-env=UTG_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// Returns the commit that is checked out in `workspace`, with `-dirty` if files differ from it.
/// `None` if it is no checkout, such as a source archive, even one within another checkout.
pub(crate) fn commit(workspace: &Path) -> Option<String> {
    let top = PathBuf::from(git(workspace, &["rev-parse", "--show-toplevel"])?);
    if fs::canonicalize(top).ok()? != fs::canonicalize(workspace).ok()? {
        return None;
    }
    let commit = git(workspace, &["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(workspace, &["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// Returns what says that another commit is checked out, or that the sources differ from it, as far
/// as it exists.
fn watched(workspace: &Path) -> Vec<PathBuf> {
    let of_git = ["HEAD", "logs/HEAD"]
        .into_iter()
        .filter_map(|file| git(workspace, &["rev-parse", "--git-path", file]));
    let sources = [
        "proxy/src",
        "proxy/Cargo.toml",
        "proxy/config/src",
        "proxy/direct/src",
        "proxy/phases/src",
        "proxy/transport/src",
        "proxy/upstreams/src",
        "shared/src",
        "Cargo.lock",
    ]
    .map(str::to_owned);
    of_git.chain(sources).map(|file| workspace.join(file)).filter(|file| file.exists()).collect()
}

fn git(workspace: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(workspace).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
