#!/usr/bin/env bash
# Parts that nobody here wrote, against the built worker in workerd and against the proxy in direct mode:
# `clients.sh lint|schemathesis|mcp|typescript|python|rust`. scripts/test.sh builds what is needed and calls this.
#   lint           redocly and spectral read the OpenAPI descriptions; every example of the bio-link one is sent
#   schemathesis   makes calls of them and checks the responses against them
#   mcp            the official client of the Model Context Protocol lists and calls tools; the edge alone serves it
#   typescript, python, rust
#                  generate a client from it (openapi-typescript, openapi-python-client, progenitor) and make calls with it
# `with-gateway` starts the parts and calls this script again, once for each of the two. FILTER=cursor takes only the calls
# whose names hold that.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly CLIENTS=$ROOT/tests/clients
readonly FILTER=${FILTER:-}
export PATH=$TOOLS/python/bin:$ROOT/node_modules/.bin:$PATH PYTHONDONTWRITEBYTECODE=1

node_tests() { node --test --test-reporter=spec ${FILTER:+--test-name-pattern="$FILTER"} "$@"; }

lint() { node_tests "$CLIENTS/lint.test.mjs" "$CLIENTS/examples.test.mjs"; }

mcp() { node_tests "$CLIENTS/mcp/client.test.mjs"; }

schemathesis() {
  local status=0
  cd "$CLIENTS/schemathesis"
  st --no-color run "$GATEWAY_URL/openapi.json" || status=1
  # Only the edge serves bio-link pages.
  if [[ $GATEWAY_BOUNDARY == edge ]]; then
    st --no-color --config-file biolink.toml run "$GATEWAY_URL/biolink/openapi.json" || status=1
  fi
  return "$status"
}

# Saves the description without the address of its server, which is another one in each run. cargo builds again only what
# has changed.
save_description() {
  local saved=$TARGET_DIR/clients/openapi.json
  mkdir -p "${saved%/*}"
  node --input-type=module -e '
    const response = await fetch(`${process.env.GATEWAY_URL}/openapi.json`);
    process.stdout.write((await response.text()).replaceAll(process.env.GATEWAY_URL, "https://gateway.example"));
  ' >"$saved.new"
  if cmp -s "$saved.new" "$saved"; then rm "$saved.new"; else mv "$saved.new" "$saved"; fi
  printf '%s\n' "$saved"
}

typescript() {
  local folder=$CLIENTS/typescript
  openapi-typescript "$1" -o "$folder/generated/gateway.d.ts"
  tsc -p "$folder"
  esbuild "$folder/client.ts" --bundle --platform=node --format=esm --log-level=warning --outfile="$folder/generated/client.js"
  node_tests "$folder/client.test.mjs"
}

python() {
  local folder=$CLIENTS/python
  rm -rf "$folder/generated"
  mkdir "$folder/generated"
  openapi-python-client generate --path "$1" --meta none --fail-on-warning --output-path "$folder/generated/gateway_client"
  # pytest ends with 5 if it runs no test.
  PYTHONPATH=$folder/generated pytest -q -p no:cacheprovider -p no:schemathesis --color=no ${FILTER:+-k "$FILTER"} "$folder" ||
    { local status=$?; [[ -n $FILTER && $status == 5 ]]; }
}

rust() {
  cd "$CLIENTS/rust"
  OPENAPI=$1 CARGO_TARGET_DIR=$TARGET_DIR cargo test --locked --quiet --test client ${FILTER:+"$FILTER"}
}

case ${1:-} in
  lint | schemathesis | mcp | typescript | python | rust) ;;
  *) fail "usage: clients.sh lint|schemathesis|mcp|typescript|python|rust" ;;
esac
if [[ -n ${GATEWAY_URL:-} ]]; then
  case $1 in
    lint | schemathesis | mcp) "$1" ;;
    typescript | python | rust) "$1" "$(save_description)" ;;
  esac
else
  "$here/python.sh" >/dev/null
  status=0
  for boundary in edge direct; do
    if [[ $1 == mcp && $boundary != edge ]]; then continue; fi
    printf '\n      %s: %s\n' "$1" "$boundary"
    "$TARGET_DIR/debug/with-gateway" "$boundary" "$here/clients.sh" "$1" || status=1
  done
  exit "$status"
fi
