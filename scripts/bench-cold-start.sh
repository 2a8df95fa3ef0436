#!/usr/bin/env bash
# `make bench-cold-start`: how long the worker takes from the start of its process to its first response, next to the worker
# of another commit, which is built first: BASE=35633e1 make bench-cold-start. ROUNDS is the number of starts of each (41).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly BASE=${BASE:-$(git -C "$ROOT" rev-parse 'HEAD~1')}
CHECKOUT=$TARGET_DIR/cold-start/$(git -C "$ROOT" rev-parse --short=12 "$BASE")
readonly CHECKOUT

# The other commit, with the tools of this checkout and what it compiled before.
checkout_base() {
  mkdir -p "$CHECKOUT"
  git -C "$ROOT" archive "$BASE" | tar -x -C "$CHECKOUT"
  ln -sfn "$TOOLS" "$CHECKOUT/.tools"
  ln -sfn "$ROOT/node_modules" "$CHECKOUT/node_modules"
}

cd "$ROOT"
"$here/build-edge.sh"
if [[ ! -s $CHECKOUT/edge-worker/build/gateway/index_bg.wasm ]]; then
  step "checking out $BASE" checkout_base
  CARGO_TARGET_DIR=$CHECKOUT/target "$CHECKOUT/scripts/build-edge.sh"
fi
exec node tests/bench/cold_start.mjs --rounds "${ROUNDS:-41}" "base=$CHECKOUT" "this=$ROOT"
