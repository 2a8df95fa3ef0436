#!/usr/bin/env bash
# `make run`: installs what is missing, builds, and runs the whole gateway in the foreground. `--direct`: without the edge
# and what only it needs.
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

if [[ ${1:-} == --direct ]]; then "$here/secrets.sh"; else "$here/setup.sh"; fi
# Not the release profile: its link-time optimisation would double the wait, and this is for a look at it.
step "building the proxy and the demo tools" \
  cargo build --manifest-path "$ROOT/Cargo.toml" --locked --profile local -p proxy -p loadtest -p site
if [[ ${1:-} != --direct ]]; then NATIVE_PROFILE=local "$here/build-edge.sh"; fi
PROFILE=local exec node "$here/run.mjs" "$@"
