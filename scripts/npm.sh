#!/usr/bin/env bash
# Installs what package-lock.json pins (workerd with wrangler and miniflare, wasm-opt, esbuild, playwright-core), when the lock has changed.
# `npm.sh tests/clients/typescript` installs what the lock of that folder pins, which only its tests need.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly FOLDER=$ROOT/${1:-.}
readonly STAMP=$FOLDER/node_modules/.installed-lock
command -v node >/dev/null || fail "Node 20 or newer is needed (https://nodejs.org)"
major=$(node -p 'process.versions.node.split(".")[0]')
((major >= 20)) || fail "Node 20 or newer is needed, and this is $(node --version)"

if cmp -s "$FOLDER/package-lock.json" "$STAMP"; then
  ok "npm packages"
  exit
fi
# No package's own script is run: the binaries that are needed come as packages of their own.
step "installing npm packages" npm ci --prefix "$FOLDER" --ignore-scripts --no-audit --no-fund
cp "$FOLDER/package-lock.json" "$STAMP"
