#!/usr/bin/env bash
# `make coverage`: the lines of `shared` and `biolink` that their own tests run, and the files with most others. Lines of tests do not
# count. It fails below GOAL percent (95).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

cd "$ROOT"
LLVM=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
readonly LLVM OUT=$TARGET_DIR/coverage
[[ -x $LLVM/llvm-cov ]] || step "installing llvm-tools" rustup component add llvm-tools
mkdir -p "$OUT"
rm -f "$OUT"/*.profraw

# Crates of this workspace only: dependencies stay as they were built.
printf '#!/bin/sh\nexec "$@" -C instrument-coverage\n' >"$OUT/rustc"
chmod +x "$OUT/rustc"
export RUSTC_WORKSPACE_WRAPPER=$OUT/rustc LLVM_PROFILE_FILE=$OUT/%p-%m.profraw

readonly TESTS=(--locked -p shared -p biolink --tests)
step "building the tests" cargo test "${TESTS[@]}" --no-run
step "running the tests" cargo test "${TESTS[@]}" --quiet --no-fail-fast
programs=$(cargo test "${TESTS[@]}" --no-run --message-format=json 2>/dev/null | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')

"$LLVM/llvm-profdata" merge --sparse "$OUT"/*.profraw --output "$OUT/all.profdata"
objects=()
for program in $programs; do objects+=(--object "$program"); done
"$LLVM/llvm-cov" export --format lcov --instr-profile "$OUT/all.profdata" "${objects[@]}" >"$OUT/lcov.info" 2>/dev/null
awk -v goal="${GOAL:-95}" -v root="$ROOT/" -f "$here/coverage.awk" "$OUT/lcov.info"
