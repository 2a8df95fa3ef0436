#!/usr/bin/env bash
# `make build`: everything that is deployed, optimized: the proxy, the load generator (also the demo tools) and the worker.
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

"$here/setup.sh"
step "building the proxy and the load generator" \
  cargo build --manifest-path "$ROOT/Cargo.toml" --locked --release -p proxy -p loadtest -p bindgen -p portal
PROGRAMS=$TARGET_DIR/release "$here/build-edge.sh"
write_documents "$TARGET_DIR/release"
