#!/usr/bin/env bash
# In place of rustdoc within `cargo test --doc`: writes the documentation of a crate instead of running its examples. A broken link
# is an error.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

options=()
while (($#)); do
  case $1 in
    --test) ;;
    --test-run-directory) shift ;;
    *) options+=("$1") ;;
  esac
  shift
done
exec rustdoc -D warnings --out-dir "$TARGET_DIR/doc" "${options[@]}"
