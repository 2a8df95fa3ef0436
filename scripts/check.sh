#!/usr/bin/env bash
# `make check`: what can be found without running anything. Warnings are errors.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

cd "$ROOT"
step "formatting" cargo fmt --all --check
for client in rust webhooks/rust examples; do cargo fmt --manifest-path "tests/clients/$client/Cargo.toml" --check; done
"$here/setup.sh"
step "clippy" cargo clippy --locked --workspace --all-targets -- -D warnings
# clippy comes with rustup's toolchain only; Debian's rustc still finds what does not compile.
if [[ $(cat "$TOOLS/wasm-rust") == rustup ]]; then
  step "clippy for wasm" env CARGO_TARGET_DIR="$EDGE_TARGET_DIR" \
    cargo clippy --locked -p edge-worker --target wasm32-unknown-unknown -- -D warnings
fi
# -D warnings: a broken link in a doc comment is an error.
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
"$here/python.sh"
# cargo-deny reads the crates of every platform, which no build fetches.
step "fetching the crates of every platform" cargo fetch --locked
step "licenses and sources of dependencies" "$TOOLS/python/bin/cargo-deny" --offline --locked check licenses bans sources
for script in scripts/*.mjs scripts/*/*.mjs tests/{browser,clients}/*.mjs tests/{browser,clients}/*/*.mjs; do node --check "$script"; done
step "tables of bots are what the pinned lists give" node scripts/bot-lists.mjs --check
step "shellcheck" "$TOOLS/python/bin/shellcheck" -x -P SCRIPTDIR scripts/*.sh .ci/run
