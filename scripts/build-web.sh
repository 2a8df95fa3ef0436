#!/usr/bin/env bash
# docs/decisions/portal.md, "Clients are generated from the descriptions that are served".
# Builds the web app of the console: portal/web/dist, static files whose names have their hash. Its clients are generated from the
# descriptions that are served. Does nothing if nothing that it is made of has changed.
#   scripts/build-web.sh check [TEST]   type check and unit tests too, or those of that name
#   PROGRAMS=FOLDER …                   takes the program that writes the descriptions from there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly WEB=$ROOT/portal/web
readonly DOCUMENTS=$TARGET_DIR/web-documents
readonly PROGRAMS=${PROGRAMS:-$TARGET_DIR/debug}
# The most that all of it, and what a first visit needs, may weigh as it is sent (gzip), in bytes.
readonly MAX_ALL=300000 MAX_FIRST=130000

# The names and contents of what is built, and the program that writes the descriptions.
fingerprint() {
  (
    cd "$WEB"
    find . \( -name node_modules -o -name dist -o -path ./src/api \) -prune -o -type f -print | LC_ALL=C sort | tr '\n' '\0' | xargs -0 cat
    find . \( -name node_modules -o -name dist -o -path ./src/api \) -prune -o -type f -print | LC_ALL=C sort
    cat "$ROOT"/portal/openapi/*.yaml "$here/build-web.sh"
  ) | sha256 | cut -c 1-64
}

generate() {
  if [[ ! -x $PROGRAMS/portal ]]; then cargo build --locked -p portal; fi
  "$PROGRAMS/portal" assets "$DOCUMENTS"
  mkdir -p "$WEB/src/api"
  local name
  for name in openapi:gateway biolink:biolink; do
    "$WEB/node_modules/.bin/openapi-typescript" "$DOCUMENTS/${name%:*}.json" -o "$WEB/src/api/${name#*:}.d.ts" >/dev/null
  done
  (cd "$DOCUMENTS/problems" && ls) | sed 's/\.html$//' | node -e '
    console.log(JSON.stringify(require("fs").readFileSync(0, "utf8").trim().split("\n")))' >"$WEB/src/api/problem-codes.json"
}
bundle() { (cd "$WEB" && node_modules/.bin/vite build --logLevel warn); }
# What index.html names is loaded first, and Home with it.
weigh() { node "$here/web-size.mjs" "$WEB/dist" "$MAX_ALL" "$MAX_FIRST"; }
check() { (cd "$WEB" && node --run check && node --run test -- ${1:+-t "$1"}); }

"$here/npm.sh" portal/web
now=$(fingerprint)
if [[ -s $WEB/dist/index.html && $now == "$(cat "$WEB/dist/.fingerprint" 2>/dev/null)" ]]; then
  ok "web app: nothing has changed"
else
  step "generating the clients of the web app" generate
  step "building the web app" bundle
  weigh
  printf '%s\n' "$now" >"$WEB/dist/.fingerprint"
fi
if [[ ${1:-} == check ]]; then step "checking the web app" check "${2:-}"; fi
