#!/usr/bin/env bash
# Checks a running edge from outside, with curl alone: `scripts/smoke.sh https://api.example.com`. One line for each check; fails
# if one of them does. Environment:
#   API_KEY       also calls a tool with this key, which uses up one call
#   ADMIN_SECRET  also issues a key, uses it and revokes it
#   TOOL          what is called, as `tool/action?query`; default a small QR code
#   CA            the authority of the edge's certificate, if it is not a public one
# Secrets go to curl on its standard input, so that `ps` does not show them.
set -euo pipefail

readonly PATIENCE_S=90 # A revocation reaches every location within a minute.
readonly TOOL=${TOOL:-qr/generate?url=https%3A%2F%2Fexample.com&size=64}
[[ $# == 1 && $1 =~ ^https?://[^/]+/?$ ]] || {
  printf 'error expected one URL without a path, such as https://api.example.com, not "%s"\n' "$*" >&2
  exit 64
}
readonly URL=${1%/}
answers=$(mktemp -d)
readonly HEAD=$answers/head BODY=$answers/body
trap 'rm -rf "$answers"' EXIT
passed=0 failed=0 status=000

# request method path [header…]: leaves the response in $status, $HEAD and $BODY. A line `@file` is a body.
request() {
  local method=$1 path=$2 line options=()
  shift 2
  : >"$HEAD"
  : >"$BODY"
  if [[ -n ${CA:-} ]]; then options=(--cacert "$CA"); fi
  for line in "$@"; do
    if [[ $line == @* ]]; then printf 'data-binary = "%s"\n' "$line"; else printf 'header = "%s"\n' "$line"; fi
  done | {
    curl --silent --show-error --max-time 40 --request "$method" --config - ${options[@]+"${options[@]}"} \
      --dump-header "$HEAD" --output "$BODY" --write-out '%{http_code}' "$URL$path" 2>"$answers/error" || true
  } >"$answers/status"
  status=$(tail -c 3 "$answers/status")
}

header() { tr -d '\r' <"$HEAD" | awk -F ': *' -v name="$1" 'tolower($1) == name { sub(/^[^:]*: */, ""); value = $0 } END { print value }'; }
member() { grep -o "\"$1\": *\"[^\"]*\"" "$BODY" | head -n 1 | sed 's/^[^:]*: *"//; s/"$//'; }

# why: what a failed check saw.
why() {
  if [[ -s $answers/error ]]; then cat "$answers/error"; return; fi
  if [[ -n $(header cf-mitigated) ]]; then
    echo "Cloudflare itself refused the request (cf-mitigated): see \"Zone settings\" in docs/deploy.md"
    return
  fi
  printf '%s %s %s\n' "$status" "$(header content-type)" "$(head -c 200 "$BODY" | tr -d '\0\n')"
}

# check "what is expected" command…: one line.
check() {
  local expected=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    printf 'ok    %s\n' "$expected"
  else
    failed=$((failed + 1))
    printf 'error %s; got: %s\n' "$expected" "$(why)"
  fi
}

is() { [[ $status == "$1" && $(header content-type) == "$2"* ]]; }
is_problem() { is "$1" application/problem+json && [[ $(member code) == "$2" ]]; }
is_limited() { [[ $status == 2?? && $(header ratelimit) == *r=* && $(header ratelimit-policy) == *q=* ]]; }
is_served() { [[ $status == 200 && $(header cf-cache-status) != HIT ]]; }
names_url() { is 200 application/json && grep -q "\"url\": *\"$URL\"" "$BODY"; }

without_key() {
  request GET /healthz
  check "GET /healthz is 200" is 200 ''
  if [[ $status == 000 ]]; then return; fi
  request GET /healthz 'User-Agent: python-requests/2.32.3'
  check "a program that is no browser is served" is_served
  request GET /healthz 'User-Agent:'
  check "a program without a user agent is served" is_served
  request GET /v1/status
  check "GET /v1/status is the report of an origin" is 200 application/json
  # The first read begins the history.
  request GET /v1/status/history
  check "GET /v1/status/history is kept" is 200 application/json
  request GET /docs
  check "GET /docs is a page" is 200 text/html
  request GET /openapi.json
  check "GET /openapi.json names $URL (PUBLIC_URL)" names_url
  request GET "/v1/$TOOL"
  check "a call without a key is 401 key-missing" is_problem 401 key-missing
  request GET "/v1/$TOOL" "X-API-Key: utg_live_00000000000000000000"
  check "a call with a mistyped key is 401 key-malformed" is_problem 401 key-malformed
  request OPTIONS "/v1/${TOOL%%\?*}" 'Origin: https://example.com' 'Access-Control-Request-Method: POST'
  check "a preflight is 204" is 204 ''
}

# with_key key: what a key can do. The call is counted.
with_key() {
  request GET /v1/keys/me "X-API-Key: $1"
  check "GET /v1/keys/me is 200" is 200 application/json
  request GET "/v1/$TOOL" "X-API-Key: $1"
  check "a call of /v1/${TOOL%%\?*} is 200 with RateLimit fields" is_limited
}

is_revoked() {
  local key=$1 until=$((SECONDS + PATIENCE_S))
  while request GET "/v1/$TOOL" "X-API-Key: $key"; do
    if is_problem 401 key-revoked; then return; fi
    if ((SECONDS >= until)); then return 1; fi
    sleep 1
  done
}

life_of_a_key() {
  local key id
  (umask 077 && printf '{"email":"smoke@example.com","name":"Smoke test","tier":"free","admin_secret":"%s"}' \
    "$ADMIN_SECRET" >"$answers/issue")
  request POST /v1/keys/issue 'Content-Type: application/json' "@$answers/issue"
  check "a key is issued" is 201 application/json
  if [[ $status != 201 ]]; then return; fi
  key=$(member key) id=$(member id)
  with_key "$key"
  request POST "/v1/keys/$id/revoke" "Authorization: Bearer $ADMIN_SECRET"
  check "the key is revoked" is 200 ''
  check "a call with the revoked key is 401 key-revoked" is_revoked "$key"
}

without_key
if [[ $status != 000 && -n ${API_KEY:-} ]]; then with_key "$API_KEY"; fi
if [[ $status != 000 && -n ${ADMIN_SECRET:-} ]]; then life_of_a_key; fi
if ((failed)); then
  printf '%d of %d checks failed: %s\n' "$failed" $((passed + failed)) "$URL"
  exit 1
fi
printf '%d checks passed: %s\n' "$passed" "$URL"
