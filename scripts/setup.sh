#!/usr/bin/env bash
# Everything that a build and a local run need, on a machine that has Rust (by rustup) and Node with npm. Does only what is missing.
# NPM=later leaves out the packages of npm, which no compiler needs.
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

command -v cargo >/dev/null || fail "Rust is needed (https://rustup.rs)"
"$here/system-packages.sh"
if [[ ${NPM:-} != later ]]; then "$here/npm.sh"; fi
"$here/secrets.sh"
"$here/wasm-std.sh"
# The form of commit messages is checked when one is made, unless the checkout has hooks of its own.
if git -C "$ROOT" rev-parse --git-dir >/dev/null 2>&1 && [[ -z $(git -C "$ROOT" config core.hooksPath) ]]; then
  git -C "$ROOT" config core.hooksPath scripts/hooks
fi
