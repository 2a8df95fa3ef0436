#!/usr/bin/env bash
# `make run`: installs what is missing, builds, and runs the whole gateway in the foreground. `--direct`: without the edge
# and what only it needs. PORTS=free takes other ports in place of those that are in use.
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

readonly STARTED=$SECONDS
number=0
# The time of each stage, which run.mjs prints at the end.
times=""

# stage "name" "what is done" command…: says which stage of how many it is, and remembers how long it took.
stage() {
  local name=$1 what=$2 started=$SECONDS
  shift 2
  number=$((number + 1))
  printf '\n[%d/%d] %s\n' "$number" "$STAGES" "$what"
  "$@"
  times+="$name $((SECONDS - started)) s, "
}

build_native() { cargo build --manifest-path "$ROOT/Cargo.toml" --locked --profile local "$@"; }
build_worker() { LOCAL=1 PROGRAMS=$TARGET_DIR/local "$here/build-edge.sh"; }

# Ports that are in use are found before anything is built. Without Node, setup.sh says what is missing.
if command -v node >/dev/null; then
  chosen=$(node "$here/run/choose-ports.mjs" "$@") || exit 1
  eval "$chosen"
fi
# Not the release profiles: this is for a look at it, and should be soon.
if [[ ${1:-} == --direct ]]; then
  readonly STAGES=4
  stage secrets "making secrets, if there are none" "$here/secrets.sh"
  stage proxy "building the proxy and the demo tools" build_native -p proxy -p loadtest -p portal
  stage console "building the console" write_documents "$TARGET_DIR/local"
else
  readonly STAGES=4
  stage tools "installing packages and build tools" "$here/setup.sh"
  stage proxy "building the proxy and the demo tools" build_native -p proxy -p loadtest -p bindgen -p portal
  stage worker "building the worker" build_worker
fi
printf '\n[%d/%d] starting\n' "$STAGES" "$STAGES"
BUILD_SECONDS=$((SECONDS - STARTED)) BUILD_TIMES=$times PROFILE=local exec node "$here/run.mjs" "$@"
