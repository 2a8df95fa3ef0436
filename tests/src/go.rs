//! The Go that the project pins (`tests/clients/requirements.txt`), whatever else is installed.

use std::process::Command;

use crate::process::{root, target};

/// Returns a command of Go without a network, with its caches in the target folder.
#[must_use]
pub fn go() -> Command {
    let mut go = Command::new(root().join(".tools/python/bin/go"));
    let cache = target().join("go");
    go.env("GOCACHE", cache.join("cache")).env("GOPATH", cache.join("path"));
    // Nothing is inlined: its standard library, which comes as source, takes a third less to compile.
    let flags = "-mod=mod -gcflags=all=-l";
    go.envs([("CGO_ENABLED", "0"), ("GOFLAGS", flags), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")]);
    go
}
