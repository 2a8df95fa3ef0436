#!/usr/bin/env bash
# Builds the edge: its two Workers, `gateway` and `pages`, each index.js and index_bg.wasm in a folder of edge-worker/build, and
# beside them the static assets that both have (site), among them the web app of the console. wrangler calls this too (`build` of
# wrangler.toml and wrangler.pages.toml).
#   WORKER=gateway scripts/build-edge.sh       builds one of the two
#   scripts/build-edge.sh tests/bench/floor    builds the worker of another folder
#   LOCAL=1 scripts/build-edge.sh              for a local run: soon built, large, and in target/local/worker
#   PROGRAMS=FOLDER scripts/build-edge.sh      takes the programs that write bindings and assets from there
#   COMPILE=only scripts/build-edge.sh         needs no such program: compiles the Workers and packages nothing
# cargo decides whether anything has changed. What follows it runs only if its product has.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly CRATE=${1:-edge-worker}
# That of another folder has no name.
WORKERS=("")
if [[ $CRATE == edge-worker ]]; then WORKERS=(gateway pages); fi
case ${WORKER:-} in
"") ;;
gateway | pages) WORKERS=("$WORKER") ;;
*) fail "WORKER is \`gateway\` or \`pages\`, not \`$WORKER\`" ;;
esac
if [[ -n ${LOCAL:-} ]]; then
  PROFILE=local BUILD=$TARGET_DIR/local/worker
else
  PROFILE=edge BUILD=$ROOT/$CRATE/build
fi
name=$(basename "$CRATE")
# That of the Worker which was compiled last.
readonly LIBRARY=$EDGE_TARGET_DIR/wasm32-unknown-unknown/$PROFILE/${name//-/_}.wasm

# wrangler may be the first to ask.
if [[ ! -s $TOOLS/wasm-rust ]]; then "$here/setup.sh"; fi

# What was compiled against another copy of the standard library cannot be linked with this one, and cargo doesn't notice.
discard_what_another_std_built() {
  local stamp=$EDGE_TARGET_DIR/std-stamp libdir now
  libdir=$(rustc --target wasm32-unknown-unknown --print target-libdir)
  now=$(rustc -vV; sha256 "$libdir"/libstd-*.rlib)
  if [[ -e $stamp && $(cat "$stamp") != "$now" ]]; then rm -rf "$EDGE_TARGET_DIR/wasm32-unknown-unknown"; fi
  mkdir -p "$EDGE_TARGET_DIR"
  printf '%s\n' "$now" >"$stamp"
}

# Both Workers share what is compiled of their dependencies. cargo's own file of a library has no hash in its name unless the
# first variable is set (as rustc's own build sets it): of two with other features it would then take one for the other. The
# second one makes wasm-bindgen's macros use js-sys for promises, as the crate worker does. The argument is of the last crate
# alone, with which all others are optimized: docs/decisions/edge.md, "Functions with one caller stay functions".
compile() {
  local features=()
  if [[ -n $1 ]]; then features=(--no-default-features --features "$1"); fi
  if [[ $(cat "$TOOLS/wasm-rust") == debian ]]; then
    export PATH=/usr/bin:$PATH CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld
  fi
  discard_what_another_std_built
  # SHA-256 as a loop. Unrolled it is a third of a microsecond faster for each call, and what V8 optimizes first in a new isolate.
  export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='--cfg sha2_backend="soft" --cfg sha2_backend_soft="compact"'
  CARGO_TARGET_DIR=$EDGE_TARGET_DIR __CARGO_DEFAULT_LIB_METADATA=worker WASM_BINDGEN_USE_JS_SYS=1 \
    cargo rustc --locked --lib --profile "$PROFILE" --target wasm32-unknown-unknown \
    ${features[@]+"${features[@]}"} -- -C llvm-args=-inline-instr-cost=50
}
build_programs() { cargo build --locked -p bindgen -p portal; }

# wasm_opt from to option…, with the features that rustc and wasm-bindgen use, and workerd has. No other may be in the result.
wasm_opt() {
  local from=$1 to=$2 feature features=()
  for feature in mutable-globals sign-ext nontrapping-float-to-int bulk-memory multivalue reference-types exception-handling; do
    features+=("--enable-$feature")
  done
  "$ROOT/node_modules/.bin/wasm-opt" "${@:3}" --debuginfo "${features[@]}" "$from" -o "$to"
}
optimize() {
  # What the compiler has left as functions with one caller stays so, unless it is tiny.
  wasm_opt "$1" "$2" -O --one-caller-inline-max-function-size=60
  # Smaller, compressed: docs/decisions/edge.md, "Functions stand beside those that they are like".
  node "$here/wasm-names.mjs" --place "$2"
  wasm_opt "$2" "$2" --reorder-functions-by-name
}
# Writes entry.js with an empty class in place of each that the other Worker has: migrations name them all, and what they name must
# be exported.
write_entry() {
  local bindings=$1 line classes
  classes=$(<"$bindings/index.js")
  while IFS= read -r line; do
    if [[ $line =~ ^export\ const\ ([A-Za-z]+)\ =\ object && $classes != *"class ${BASH_REMATCH[1]} "* ]]; then
      line="export class ${BASH_REMATCH[1]} {}"
    elif [[ $line == "  queue:"* && $classes != *"export function queue("* ]]; then
      continue
    fi
    printf '%s\n' "$line"
  done <entry.js >"$bindings/entry.js"
}
# package worker folder
package() {
  local bindings=$2/bindings
  rm -rf "$bindings"
  "$PROGRAMS/bindgen" "$LIBRARY" "$bindings"
  # workerd imports a compiled module without the phase.
  sed 's/^import source /import /' "$bindings/index.js" >"$bindings/bindings.js"
  write_entry "$bindings"
  # wasm-bindgen names the module runtime.js twice in one object.
  "$ROOT/node_modules/.bin/esbuild" "$bindings/entry.js" --bundle --minify --format=esm --log-level=warning --outfile="$2/index.js" \
    --alias:bindings="$bindings/bindings.js" --external:./index_bg.wasm --log-override:duplicate-object-key=silent
  if [[ -n ${LOCAL:-} ]]; then
    mv "$bindings/index_bg.wasm" "$2"
  else
    optimize "$bindings/index_bg.wasm" "$2/index_bg.wasm"
    node "$here/wasm-names.mjs" "$2/index_bg.wasm"
    if [[ -n $1 ]]; then node "$here/wasm-parts.mjs" "$1" "$2/index_bg.names"; fi
  fi
  rm -r "$bindings"
}
# A worker that runs has the folder open, so it is replaced only by another one. The time of the commit is that of the feeds, so
# that the same commit gives the same files.
write_assets() {
  export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$ROOT" log -1 --format=%ct 2>/dev/null)}
  rm -rf "$BUILD/site.new"
  "$PROGRAMS/portal" assets "$BUILD/site.new"
  mkdir "$BUILD/site.new/console"
  (cd "$ROOT/portal/web/dist" && cp -R -- * "$BUILD/site.new/console")
  local file
  while IFS= read -r file; do
    [[ -e $BUILD/site.new$file ]] || fail "the site names $file, which the web app lacks: portal/src/docs/layout.rs"
  done < <(grep -oE '/console/assets/[A-Za-z0-9_.-]+' "$BUILD/site.new/landing.html" | sort -u)
  if diff -r "$BUILD/site.new" "$BUILD/site" >/dev/null 2>&1; then
    rm -r "$BUILD/site.new"
  else
    rm -rf "$BUILD/site"
    mv "$BUILD/site.new" "$BUILD/site"
  fi
}
fingerprint() {
  sha256 "$LIBRARY" entry.js "$here/build-edge.sh" "$here"/wasm-{names,parts}.mjs "$ROOT/package-lock.json" "$PROGRAMS/bindgen" | cut -c 1-64
}
# build worker: the next one is compiled into the same file.
build() {
  local out=$BUILD${1:+/$1} what=$CRATE${1:+, $1}
  step "compiling $what" compile "$1"
  if [[ -n ${COMPILE:-} ]]; then return; fi
  mkdir -p "$out"
  if [[ -s $out/index.js && -s $out/index_bg.wasm && $(fingerprint) == "$(cat "$out/fingerprint" 2>/dev/null)" ]]; then
    ok "$what: nothing has changed"
  else
    step "packaging $what: wasm-bindgen, wasm-opt, esbuild" package "$1" "$out"
    fingerprint >"$out/fingerprint"
  fi
  if [[ -n $1 && -z ${LOCAL:-} ]]; then "$here/wasm-size.sh" "$1"; fi
}

cd "$ROOT/$CRATE"
if [[ -z ${COMPILE:-} && -z ${PROGRAMS:-} ]]; then
  build_programs
  PROGRAMS=$TARGET_DIR/debug
fi
for worker in "${WORKERS[@]}"; do build "$worker"; done
if [[ -n ${COMPILE:-} ]]; then exit; fi
if [[ $CRATE == edge-worker ]]; then
  PROGRAMS=$PROGRAMS "$here/build-web.sh"
  step "writing the static assets" write_assets
fi
