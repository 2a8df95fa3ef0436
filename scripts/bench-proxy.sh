#!/usr/bin/env bash
# `make bench-proxy`: builds what is released and compares it, on one processor, with a bare Pingora proxy and with nginx,
# HAProxy, Caddy and Envoy where they are in PATH. BENCH takes options of `bench-proxy` (tests/bench), as in BENCH="--works proxied --rounds 21".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

(($(nproc) > 1)) || fail "this needs two processors: one for the proxies, one for their clients and their server"
cd "$ROOT"
"$here/setup.sh"
# With the packages of scripts/build.sh, so that dependencies have the same features and are built once.
step "building what is released" \
  cargo build --release --locked -p proxy -p loadtest -p bench -p bare --bin proxy --bin bench-proxy --bin bare
# The last processor calls and answers; the first is the proxies'.
read -ra options <<<"${BENCH:-}"
# Their names have spaces.
if [[ -n ${PEER_NAMES:-} ]]; then options+=(--peers "$PEER_NAMES"); fi
exec taskset -c $(($(nproc) - 1)) "$TARGET_DIR/release/bench-proxy" --programs "$TARGET_DIR/release" "${options[@]}"
