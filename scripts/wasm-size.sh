#!/usr/bin/env bash
# Prints the size of the built worker; fails over the limit, which is what it may weigh on the wire.
# Why the worker is this small: docs/decisions/edge.md, "The worker is built for size".
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly LIMIT=$((1280 * 1024)) # bytes, gzipped
wasm=$ROOT/edge-worker/build/index_bg.wasm
raw=$(wc -c <"$wasm")
packed=$(gzip -9 -c "$wasm" | wc -c)
kib() { awk -v n="$1" 'BEGIN { printf "%.1f KiB", n / 1024 }'; }
((packed <= LIMIT)) || fail "worker wasm: $(kib "$packed") gzipped is over $(kib "$LIMIT")"
ok "worker wasm: $(kib "$raw"), $(kib "$packed") gzipped (limit $(kib "$LIMIT"))"
