#!/usr/bin/env bash
# `make bench-path`: the whole path of a call, client → edge → proxy → tool, beside client → lease.js → nginx → tool. BENCH takes
# options of tests/bench/path.mjs, as in BENCH="--rounds 15".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

(($(nproc) > 1)) || fail "this needs two processors: one for edge and proxy, one for their client and their tool"
command -v nginx >/dev/null || fail "this needs nginx in PATH"
cd "$ROOT"
"$here/build-edge.sh"
# With the packages of scripts/bench-proxy.sh, so that dependencies have the same features and are built once.
step "building the proxy" cargo build --release --locked -p proxy -p loadtest -p bench -p bare --bin proxy
read -ra options <<<"${BENCH:-}"
exec node tests/bench/path.mjs --programs "$TARGET_DIR/release" "${options[@]}"
