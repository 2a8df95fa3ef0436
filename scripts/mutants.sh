#!/usr/bin/env bash
# `make mutants`: changes the modules that .cargo/mutants.toml names, one small change at a time, and runs the tests of their crate.
# A change that no test finds is a survivor: it fails the run, until a test finds it or that file accepts it with a reason.
#   FILTER=shared/src/meter  changes whose file or description matches this regular expression
#   SHARD=0/3                each third change, from the first one
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

"$here/cargo-tools.sh" mutants
readonly OUT=$TARGET_DIR/mutants
mkdir -p "$OUT"
cd "$ROOT"
options=(--output "$OUT")
if [[ -n ${FILTER:-} ]]; then options+=(--re "$FILTER"); fi
if [[ -n ${SHARD:-} ]]; then options+=(--shard "$SHARD" --sharding round-robin); fi

# Without what makes a build slow. The random cases are few, because each change gets them.
export CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_TEST_DEBUG=false CARGO_TARGET_DIR=$OUT/build
export PROPTEST_CASES=16 PROPTEST_MAX_SHRINK_ITERS=0
status=0
"$TOOLS/bin/cargo-mutants" mutants "${options[@]}" || status=$?

count() { cat "${@/#/$OUT/mutants.out/}" | wc -l; }
found=$(count caught.txt timeout.txt)
all=$(count caught.txt timeout.txt missed.txt)
if ((all > 0)); then echo "$found of $all found: $((found * 1000 / all / 10)).$((found * 1000 / all % 10)) %"; fi
# A change that never ends is found too.
if ((status == 3)); then status=0; fi
exit "$status"
