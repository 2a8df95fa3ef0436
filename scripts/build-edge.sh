#!/usr/bin/env bash
# Builds the worker: edge-worker/build/index.js and index_bg.wasm, and its static assets in edge-worker/build/site. wrangler calls
# this too (wrangler.toml, [build]). NATIVE_PROFILE is that of the program that writes the assets: what else is built for this machine
# has the same, so that nothing is compiled twice.
# The folder of another worker can be given: scripts/build-edge.sh tests/bench/floor
# cargo decides whether anything has changed; wasm-bindgen, wasm-opt, esbuild and wasm-names.mjs run only if its product has.
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

readonly PROFILE=edge
readonly CRATE=${1:-edge-worker}
readonly OUT=$ROOT/$CRATE/build
name=$(basename "$CRATE")
readonly LIBRARY=$EDGE_TARGET_DIR/wasm32-unknown-unknown/$PROFILE/${name//-/_}.wasm

ENTRY=()
if [[ -e $ROOT/$CRATE/entry.js ]]; then ENTRY=(entry.js); fi

# wrangler may be the first to ask.
if [[ ! -s $TOOLS/wasm-rust || ! -x $TOOLS/bin/worker-build || ! -x $TOOLS/bin/wasm-bindgen ]]; then "$here/setup.sh"; fi

export CARGO_TARGET_DIR=$EDGE_TARGET_DIR
# A client that hangs up does not strand what its request has begun.
export RUN_TO_COMPLETION=1
# What worker-build itself sets for cargo: the same here, or it would compile everything again.
export WASM_BINDGEN_USE_JS_SYS=1
export WASM_BINDGEN_BIN=$TOOLS/bin/wasm-bindgen
export WASM_OPT_BIN=$ROOT/node_modules/.bin/wasm-opt
export ESBUILD_BIN=$ROOT/node_modules/.bin/esbuild
# worker-build only warns about a missing one, and then downloads its own.
for program in "$WASM_BINDGEN_BIN" "$WASM_OPT_BIN" "$ESBUILD_BIN"; do
  [[ -x $program ]] || fail "$program is missing: run scripts/setup.sh"
done
if [[ $(cat "$TOOLS/wasm-rust") == debian ]]; then
  export PATH=/usr/bin:$PATH CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld
fi

# What was compiled against another copy of the standard library cannot be linked with this one, and cargo doesn't notice.
discard_what_another_std_built() {
  local stamp=$EDGE_TARGET_DIR/std-stamp libdir now
  libdir=$(rustc --target wasm32-unknown-unknown --print target-libdir)
  now=$(rustc -vV; sha256sum "$libdir"/libstd-*.rlib)
  if [[ -e $stamp && $(cat "$stamp") != "$now" ]]; then rm -rf "$EDGE_TARGET_DIR/wasm32-unknown-unknown"; fi
  mkdir -p "$EDGE_TARGET_DIR"
  printf '%s\n' "$now" >"$stamp"
}

compile() { cargo build --locked --lib --profile "$PROFILE" --target wasm32-unknown-unknown; }
# The worker's own entry stands before the one that worker-build writes.
replace_entry() {
  mv "$OUT/index.js" "$OUT/built.js"
  "$ESBUILD_BIN" entry.js --bundle --minify --format=esm --log-level=warning --outfile="$OUT/index.js" \
    --external:./index_bg.wasm '--external:cloudflare:*'
  rm "$OUT/built.js"
}
package() {
  "$TOOLS/bin/worker-build" --profile "$PROFILE" --locked
  node "$here/wasm-names.mjs" "$OUT/index_bg.wasm"
  if ((${#ENTRY[@]})); then replace_entry; fi
}
write_assets() {
  env CARGO_TARGET_DIR="$TARGET_DIR" cargo run --locked --quiet --profile "${NATIVE_PROFILE:-dev}" -p site -- "$OUT/site.new"
  rm -rf "$OUT/site"
  mv "$OUT/site.new" "$OUT/site"
}
fingerprint() { sha256sum "$LIBRARY" Cargo.toml "${ENTRY[@]}" "$here/build-edge.sh" "$here/wasm-names.mjs" "$ROOT/package-lock.json" "$WASM_BINDGEN_BIN" "$TOOLS/bin/worker-build" | cut -c 1-64; }

here=$(cd "$here" && pwd)
cd "$ROOT/$CRATE"
discard_what_another_std_built
compile
if [[ -s $OUT/index.js && -s $OUT/index_bg.wasm && $(fingerprint) == "$(cat "$OUT/fingerprint" 2>/dev/null)" ]]; then
  ok "worker: nothing has changed"
else
  step "packaging $CRATE: wasm-bindgen, wasm-opt, esbuild" package
  fingerprint >"$OUT/fingerprint"
fi
if [[ $CRATE == edge-worker ]]; then
  step "writing the static assets" write_assets
  "$here/wasm-size.sh"
fi
