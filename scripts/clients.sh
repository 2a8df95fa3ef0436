#!/usr/bin/env bash
# Parts that nobody here wrote, against the built worker in workerd and against the proxy in direct mode:
# `clients.sh lint|schemathesis|mcp|typescript|python|rust|importers`. scripts/test.sh builds what is needed and calls this.
#   lint           redocly and spectral read the OpenAPI descriptions; every example of the bio-link one is sent
#   schemathesis   makes calls of them and checks the responses against them, bio-link's beside the others
#   mcp            the official TypeScript and Python clients of the Model Context Protocol, pinned to its revisions, list and
#                  call tools, as FastMCP does; its conformance suite asks what it can of a server of tools; the edge alone serves it
#   typescript, python, rust
#                  generate clients from both of them, compile them strictly, and make calls with them:
#                  openapi-typescript, orval, @hey-api/openapi-ts, swagger-typescript-api and openapi-generator;
#                  openapi-python-client and openapi-generator; progenitor
#   importers      the packages with which Postman, Bruno and Insomnia import a description make requests of both of them
# `with-gateway` starts the parts and calls this script again, once for each of the two. FILTER=cursor takes only the calls
# whose names hold that.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly CLIENTS=$ROOT/tests/clients
readonly FILTER=${FILTER:-}
export PATH=$TOOLS/python/bin:$ROOT/node_modules/.bin:$PATH PYTHONDONTWRITEBYTECODE=1

node_tests() { node --test --test-reporter=spec ${FILTER:+--test-name-pattern="$FILTER"} "$@"; }

# pytest ends with 5 if it runs no test.
python_tests() {
  pytest -q -p no:cacheprovider -p no:schemathesis --color=no ${FILTER:+-k "$FILTER"} "$@" ||
    { local status=$?; [[ -n $FILTER && $status == 5 ]]; }
}

lint() { node_tests "$CLIENTS/lint.test.mjs" "$CLIENTS/examples.test.mjs"; }

mcp() {
  node_tests "$CLIENTS/mcp/client.test.mjs" "$CLIENTS/mcp/revisions.test.mjs" "$CLIENTS/mcp/oauth.test.mjs" "$CLIENTS/mcp/conformance.test.mjs"
  python_tests "$CLIENTS/mcp"
}

# Calls what one description names: the gateway's, or with DESCRIPTION=biolink that of bio-link pages.
schemathesis() {
  local absent=()
  cd "$CLIENTS/schemathesis"
  # The descriptions name their public address.
  if [[ ${DESCRIPTION:-} == biolink ]]; then
    st --no-color --config-file biolink.toml run --url "$GATEWAY_URL" "$GATEWAY_URL/biolink/openapi.json"
    return
  fi
  # Only the edge has the history of the status, and bio-link pages.
  if [[ $GATEWAY_BOUNDARY != edge ]]; then absent=(--exclude-path-regex '^/(v1/status/|status[.]atom)'); fi
  st --no-color run --url "$GATEWAY_URL" "${absent[@]}" "$GATEWAY_URL/openapi.json"
}

# Saves the descriptions that the boundary serves, without the address of their server, which is another one in each run.
# What is made of them is made again only if they have changed: both boundaries serve the same text.
save_descriptions() {
  mkdir -p "$1"
  # shellcheck disable=SC2016 # node reads the expressions
  node --input-type=module -e '
    import { existsSync, readFileSync, writeFileSync } from "node:fs";
    const served = { gateway: "/openapi.json", ...(process.env.GATEWAY_BOUNDARY === "edge" && { biolink: "/biolink/openapi.json" }) };
    for (const [name, path] of Object.entries(served)) {
      const response = await fetch(process.env.GATEWAY_URL + path);
      const text = (await response.text()).replaceAll(process.env.GATEWAY_URL, "https://gateway.example");
      const file = `${process.argv[1]}/${name}.json`;
      if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
    }
  ' "$1"
}

# Runs `command folder`, which makes the folder of the files that follow, unless it was made of the same ones.
make_once() {
  local folder=$1 command=$2 stamp now
  shift 2
  stamp=$folder/.made-of
  now=$(sha256 "$@")
  if [[ $now == "$(cat "$stamp" 2>/dev/null)" ]]; then return; fi
  rm -rf "$folder"
  mkdir -p "$folder"
  step "making the clients in ${command#make_}" "$command" "$folder"
  printf '%s\n' "$now" >"$stamp"
}

# Generates a client with openapi-generator, without its documents and tests. It runs for seconds, which are too few for what Java
# makes of a program that runs for hours.
openapi_generator() {
  local language=$1 name=$2 output=$3
  JDK_JAVA_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" openapi-generator-cli generate -g "$language" -i "$DESCRIPTIONS/$name.json" -o "$output" \
    --additional-properties="packageName=openapi_generator_$name" \
    --global-property=apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false >"$output.log" 2>&1 ||
    { cat "$output.log"; return 1; }
}

# Waits for the processes that are named, and fails if one has failed.
wait_for() {
  local status=0 process
  for process in "$@"; do wait "$process" || status=1; done
  return "$status"
}

make_typescript() {
  local folder=$CLIENTS/typescript modules=$CLIENTS/typescript/node_modules/.bin
  mkdir "$1/openapi-generator"
  openapi_generator typescript-fetch gateway "$1/openapi-generator/gateway" &
  local first=$!
  openapi_generator typescript-fetch biolink "$1/openapi-generator/biolink" &
  local second=$!
  node "$folder/generate.mjs" "$DESCRIPTIONS" >"$1/generate.log" || { cat "$1/generate.log"; return 1; }
  wait_for "$first" "$second"
  "$modules/tsc" -p "$folder"
  esbuild "$folder/generators/all.ts" --bundle --packages=external --platform=node --format=esm --log-level=warning \
    --outfile="$1/clients.js"
}

typescript() {
  local folder=$CLIENTS/typescript
  make_once "$folder/generated" make_typescript "$DESCRIPTIONS"/*.json "$folder"/{generate.mjs,package-lock.json,tsconfig.json} \
    "$folder"/generators/*.ts "$CLIENTS/requirements.txt"
  node_tests "$folder/client.test.mjs"
}

make_python() {
  local name generators=()
  for name in gateway biolink; do
    openapi_generator python "$name" "$1/openapi-generator-$name" &
    generators+=($!)
  done
  for name in gateway biolink; do
    openapi-python-client generate --path "$DESCRIPTIONS/$name.json" --config "$CLIENTS/python/openapi-python-client.yaml" \
      --meta none --fail-on-warning --output-path "$1/openapi_python_client_$name"
  done
  wait_for "${generators[@]}"
  # A package lies in a folder of its own, beside files of its project.
  for name in gateway biolink; do
    mv "$1/openapi-generator-$name/openapi_generator_$name" "$1"
    rm -r "$1/openapi-generator-$name"
  done
  mypy --config-file "$CLIENTS/python/mypy.ini"
}

python() {
  local folder=$CLIENTS/python
  make_once "$folder/generated" make_python "$DESCRIPTIONS"/*.json "$folder"/*.{py,ini,yaml} "$CLIENTS/requirements.txt"
  PYTHONPATH=$folder/generated python_tests "$folder" --ignore "$folder/generated"
}

rust() {
  local skipped=()
  # Only the edge serves bio-link pages.
  if [[ $GATEWAY_BOUNDARY != edge ]]; then skipped=(--skip pages::); fi
  cd "$CLIENTS/rust"
  export CARGO_TARGET_DIR=$TARGET_DIR
  step "compiling the client in rust" cargo test --locked --quiet --test client --no-run
  cargo test --locked --quiet --test client -- ${FILTER:+"$FILTER"} ${skipped[@]+"${skipped[@]}"}
}

make_importers() { node "$CLIENTS/importers/import.mjs" "$DESCRIPTIONS"; }

importers() {
  local folder=$CLIENTS/importers
  make_once "$folder/generated" make_importers "$DESCRIPTIONS"/*.json "$folder"/{import.mjs,package-lock.json}
  node_tests "$folder/import.test.mjs"
}

case ${1:-} in
  lint | schemathesis | mcp | typescript | python | rust | importers) ;;
  *) fail "usage: clients.sh lint|schemathesis|mcp|typescript|python|rust|importers" ;;
esac
if [[ -n ${GATEWAY_URL:-} ]]; then
  case $1 in
    lint | schemathesis | mcp) "$1" ;;
    typescript | python | rust | importers)
      export DESCRIPTIONS=$TARGET_DIR/clients/$1
      save_descriptions "$DESCRIPTIONS"
      "$1"
      ;;
  esac
else
  "$here/python.sh" >/dev/null
  if [[ $1 == typescript || $1 == importers ]]; then "$here/npm.sh" "tests/clients/$1"; fi
  status=0
  case $1 in
    lint | schemathesis) boundaries=(edge-with-domains direct) ;;
    mcp | importers) boundaries=(edge) ;;
    *) boundaries=(edge direct) ;;
  esac
  if [[ $1 == schemathesis ]]; then
    # Most calls are for bio-link pages, and most of its time a call waits: they have a gateway of their own beside the others.
    beside env DESCRIPTION=biolink "$TARGET_DIR/debug/with-gateway" edge-with-domains "$here/clients.sh" schemathesis
  fi
  for boundary in "${boundaries[@]}"; do
    printf '\n      %s: %s\n' "$1" "$boundary"
    "$TARGET_DIR/debug/with-gateway" "$boundary" "$here/clients.sh" "$1" || status=1
  done
  if [[ $1 == schemathesis ]]; then
    printf '\n      %s: bio-link pages\n' "$1"
    join_beside || status=1
  fi
  exit "$status"
fi
