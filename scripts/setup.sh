#!/usr/bin/env bash
# Everything that a build and a local run need, on a machine that has Rust (by rustup) and Node >= 20. Does only what is missing.
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

command -v cargo >/dev/null || fail "Rust is needed (https://rustup.rs)"
"$here/system-packages.sh"
"$here/npm.sh"
"$here/secrets.sh"
"$here/wasm-std.sh"
