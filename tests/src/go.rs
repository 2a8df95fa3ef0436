//! The Go that the project pins (`tests/clients/requirements.txt`), whatever else is installed.

use std::process::Command;

use crate::process::{root, target};

/// Returns a command of Go without a network, with its caches in the target folder.
#[must_use]
pub fn go() -> Command {
    let mut go = Command::new(root().join(".tools/python/bin/go"));
    let cache = target().join("go");
    go.env("GOCACHE", cache.join("cache")).env("GOPATH", cache.join("path"));
    go.envs([("CGO_ENABLED", "0"), ("GOFLAGS", "-mod=mod"), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")]);
    go
}
