#!/usr/bin/env bash
# `make run`: installs what is missing, builds, and runs the whole gateway in the foreground.
set -euo pipefail
here=$(dirname "$0")

"$here/build.sh"
exec node "$here/run.mjs"
