#!/usr/bin/env bash
# Prints the size of a built Worker, `gateway` or `pages`; fails over its limit, which is what it may weigh on the wire. Why the worker is this small: docs/decisions/edge.md, "The worker is built for size".
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly WORKER=$1
# KiB, gzipped.
case $WORKER in
gateway) LIMIT=405 ;;
pages) LIMIT=1024 ;;
*) fail "there is no worker \`$WORKER\`" ;;
esac
wasm=$ROOT/edge-worker/build/$WORKER/index_bg.wasm
raw=$(wc -c <"$wasm")
packed=$(gzip -9 -c "$wasm" | wc -c)
kib() { awk -v n="$1" 'BEGIN { printf "%.1f KiB", n / 1024 }'; }
((packed <= LIMIT * 1024)) || fail "$WORKER wasm: $(kib "$packed") gzipped is over $LIMIT KiB"
ok "$WORKER wasm: $(kib "$raw"), $(kib "$packed") gzipped (limit $LIMIT KiB)"
