#!/usr/bin/env bash
# `make load`: a tour of the load tests in one minute, against a proxy in direct mode on ports of its own. Leaves a report in
# target/load. LOAD takes options of `loadtest run`, as in LOAD="--rate 800 --connections 128".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly FOLDER=$TARGET_DIR/load
export PROXY_PORT=${PROXY_PORT:-18080} ADMIN_PORT=${ADMIN_PORT:-19090} TOOLS_PORT=${TOOLS_PORT:-19100} PROFILE=local

"$here/secrets.sh"
cd "$ROOT"
CONTROL_PORT=$(node --input-type=module -e 'import { portsFrom } from "./scripts/run/ports.mjs"; console.log(portsFrom(process.env).control)')
step "building the proxy and the load generator" cargo build --locked --profile local -p proxy -p loadtest
mkdir -p "$FOLDER"
node "$here/run.mjs" --direct >"$FOLDER/gateway.log" 2>&1 &
gateway=$!
trap 'kill "$gateway" 2>/dev/null; wait "$gateway" || true' EXIT
until grep -q "Gateway is up" "$FOLDER/gateway.log"; do
  kill -0 "$gateway" 2>/dev/null || fail "the gateway did not start: $FOLDER/gateway.log"
  sleep 0.2
done
set -a
# shellcheck disable=SC1091
source "$ROOT/.dev.vars"
set +a
read -ra options <<<"${LOAD:-}"
status=0
"$TARGET_DIR/local/loadtest" run --scenario tour --url "http://127.0.0.1:$PROXY_PORT" \
  --admin-env ADMIN_SECRET --control "http://127.0.0.1:$CONTROL_PORT" --metrics "http://127.0.0.1:$ADMIN_PORT" \
  --log "$FOLDER/run.bin" --html-file "$FOLDER/report.html" ${options[@]+"${options[@]}"} || status=$?
ok "report $FOLDER/report.html"
exit "$status"
