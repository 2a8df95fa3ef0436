#!/usr/bin/env bash
# Installs what package-lock.json pins (workerd with wrangler and miniflare, wasm-opt, esbuild, playwright-core), when the lock has changed.
# `npm.sh tests/clients/typescript` installs what the lock of that folder pins, which only its tests need.
# First of all the project's own Node, if the machine's is too old: what scripts/node/package-lock.json pins
# (docs/decisions/edge.md, "A checkout brings Node where the machine's is too old").
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

readonly FOLDER=$ROOT/${1:-.}
readonly STAMP=$FOLDER/node_modules/.installed-lock
readonly NODE_LOCK=$here/node/package-lock.json

# No package's own script is run: the binaries that are needed come as packages of their own.
install() { npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund "${@:2}"; }

# Takes its place as a whole, so that a script which looks for Node meanwhile finds the machine's.
install_node() {
  local fresh
  fresh=$(mktemp -d "$TOOLS/node.XXXXXX")
  cp "$here/node/package.json" "$NODE_LOCK" "$fresh"
  # The machine's npm warns that Node is too old for the new one.
  install "$fresh" --loglevel=error
  ln -s node_modules/.bin "$fresh/bin"
  if ! "$fresh/bin/node" --version; then
    rm -rf "$fresh"
    fail "Node $NODE_ASKED or newer is needed, and there is no package of it for this machine (https://nodejs.org)"
  fi
  rm -rf "$OWN_NODE"
  mv "$fresh" "$OWN_NODE"
}

command -v npm >/dev/null || fail "Node with npm is needed (https://nodejs.org)"
if [[ ":$PATH:" == *":$OWN_NODE/bin:"* ]] && ! cmp -s "$NODE_LOCK" "$OWN_NODE/package-lock.json"; then
  step "installing Node, as this machine's is older than $NODE_ASKED" install_node
fi
if cmp -s "$FOLDER/package-lock.json" "$STAMP"; then
  ok "npm packages"
  exit
fi
step "installing npm packages" install "$FOLDER"
cp "$FOLDER/package-lock.json" "$STAMP"
