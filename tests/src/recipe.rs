//! The receivers of webhooks that `docs/webhooks.md` shows, each its own program.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    go::go,
    process::{Process, binary, node, root},
};

/// A recipe: a receiver in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    JavaScript,
    Python,
    Rust,
    Go,
}

/// A running receiver.
pub struct RecipeProcess {
    pub recipe: Recipe,
    pub addr: SocketAddr,
    process: Process,
    /// The folder of a program that was built for this run.
    _built: Option<TempDir>,
}

impl Recipe {
    pub const ALL: [Self; 4] = [Self::JavaScript, Self::Python, Self::Rust, Self::Go];

    /// Returns the path of its program in the repository.
    pub const fn path(self) -> &'static str {
        match self {
            Self::JavaScript => "tests/clients/webhooks/javascript/receiver.mjs",
            Self::Python => "tests/clients/webhooks/python/receiver.py",
            Self::Rust => "tests/clients/webhooks/rust/src/main.rs",
            Self::Go => "tests/clients/webhooks/go/main.go",
        }
    }

    /// Returns the language of its code block in the documentation.
    pub const fn fence(self) -> &'static str {
        match self {
            Self::JavaScript => "js",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Go => "go",
        }
    }

    /// Starts it with this secret.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(self, secret: &str) -> RecipeProcess {
        let (mut command, built) = self.command();
        let command = command.current_dir(root()).env("WEBHOOK_SECRET", secret).env("PORT", "0");
        let listening = |line: &str| line.strip_prefix("listening on http://")?.parse().ok();
        let (process, addr) = Process::start(command, listening);
        RecipeProcess { recipe: self, addr, process, _built: built }
    }

    fn command(self) -> (Command, Option<TempDir>) {
        let source = root().join(self.path());
        let with_source = |program: &Path| {
            let mut command = Command::new(program);
            command.arg(&source);
            command
        };
        match self {
            Self::JavaScript => (with_source(&node()), None),
            Self::Python => (with_source(&root().join(".tools/python/bin/python")), None),
            Self::Rust => (Command::new(binary("webhook-receiver")), None),
            Self::Go => {
                let folder = tempfile::tempdir().unwrap();
                let program = build_go(source.parent().unwrap(), folder.path());
                (Command::new(program), Some(folder))
            }
        }
    }
}

/// Builds the receiver in Go.
fn build_go(source: &Path, folder: &Path) -> PathBuf {
    let program = folder.join("receiver");
    let built = go().args(["build", "-o"]).arg(&program).current_dir(source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

impl RecipeProcess {
    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Returns the ids of the events that it has handled so far.
    pub fn handled(&self) -> Vec<String> {
        let output = self.process.output();
        let events = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.filter_map(|event| event["id"].as_str().map(str::to_owned)).collect()
    }
}
