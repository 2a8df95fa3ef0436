#!/usr/bin/env bash
# Runs a command with the Node that the scripts have: the machine's, or the project's own where that is too old.
#   scripts/with-node.sh npx wrangler whoami
set -euo pipefail
source "$(dirname "$0")/lib.sh"
exec "$@"
