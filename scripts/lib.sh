# Sourced by the other scripts: where things are, and how progress is told.
# shellcheck shell=bash disable=SC2034

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.tools
TARGET_DIR=${CARGO_TARGET_DIR:-$ROOT/target}
# The worker has its own target folder: it may be built by another rustc (see wasm-std.sh), and never waits for cargo's lock.
EDGE_TARGET_DIR=$TARGET_DIR/edge
export WRANGLER_SEND_METRICS=false WRANGLER_SEND_ERROR_REPORTS=false CLOUDFLARE_CF_FETCH_ENABLED=false
mkdir -p "$TOOLS"
# The project's own Node with its npm, which npm.sh installs where the machine's is older than package.json asks for.
OWN_NODE=$TOOLS/node
NODE_ASKED=$(sed -n 's/.*"node": ">=\([0-9.]*\)".*/\1/p' "$ROOT/package.json")

# node_serves: whether the first Node of PATH is as new as package.json asks for.
node_serves() {
  local major minor rest
  IFS=. read -r major minor rest <<<"$(node --version 2>/dev/null)"
  major=${major#v}
  ((${major:-0} > ${NODE_ASKED%.*} || (${major:-0} == ${NODE_ASKED%.*} && minor >= ${NODE_ASKED#*.})))
}

if ! node_serves; then export PATH=$OWN_NODE/bin:$PATH; fi

ok() { printf 'ok    %s\n' "$*"; }

fail() {
  printf 'error %s\n' "$*" >&2
  exit 1
}

# step "what is done" command…: says what is about to happen, shows its output, says how long it took. The seconds are noted in
# the file STEP_SECONDS too, if there is one: `make check` and `make test` end with that table.
step() {
  local what=$1 started=$SECONDS status
  shift
  printf '==>   %s\n' "$what"
  # Not `"$@" || …`: within that, a function would go on after a command that failed.
  set +e
  (set -e; "$@")
  status=$?
  set -e
  if [[ -n ${STEP_SECONDS:-} ]]; then printf '%6d  %s\n' $((SECONDS - started)) "$what" >>"$STEP_SECONDS"; fi
  if ((status != 0)); then
    printf 'error %s: failed after %d s (%s)\n' "$what" $((SECONDS - started)) "$*" >&2
    return "$status"
  fi
  printf 'done  %s (%d s)\n' "$what" $((SECONDS - started))
}

# note_steps file: steps are noted there from now on, those of scripts that this one calls as well.
note_steps() {
  mkdir -p "$(dirname "$1")"
  export STEP_SECONDS=$1
  : >"$STEP_SECONDS"
}

# show_steps: the table of what was noted. Steps that ran side by side add up to more than the last row.
show_steps() {
  printf '\nseconds of each step\n'
  cat "$STEP_SECONDS"
  printf '%6d  in all\n' "$SECONDS"
}

BESIDE=()
BESIDE_LOGS=()

# beside command…: starts it in the background. `join_beside` waits for all of these, shows the output of each as a whole, and
# fails if one has failed.
beside() {
  local log
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null &
  BESIDE+=($!)
  BESIDE_LOGS+=("$log")
}

join_beside() {
  local nth status=0
  for ((nth = 0; nth < ${#BESIDE[@]}; nth++)); do
    wait "${BESIDE[nth]}" || status=1
    cat "${BESIDE_LOGS[nth]}"
    rm "${BESIDE_LOGS[nth]}"
  done
  BESIDE=()
  BESIDE_LOGS=()
  return "$status"
}

# sha256 file…: checksums as `sha256sum` prints them. macOS has `shasum` instead.
# shellcheck disable=SC2120 # without a file it reads its input
sha256() {
  if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# as_root command…: for Debian's package manager only.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root, and there is no sudo; run as root: $*"
  fi
}

# apt_install package…: Debian and its relatives; anyone else is told what to install.
apt_install() {
  command -v apt-get >/dev/null || fail "please install these packages (or what corresponds to them here): $*"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}

# linting cargo…: clippy compiles the crates of this workspace in place of rustc, so that one build compiles and lints. What it finds
# is an error.
linting() {
  RUSTC_WORKSPACE_WRAPPER=$(cd "$ROOT" && rustc --print sysroot)/bin/clippy-driver \
    CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ "$@"
}

# write_documents programs [file]: builds the console and renders what a proxy in direct mode serves to people, where it looks for
# that: beside the folder of its program, as in /usr/share beside /usr/bin.
write_documents() {
  PROGRAMS=$1 "$ROOT/scripts/build-web.sh"
  "$1/portal" documents "${2:-$(dirname "$1")/share/utg-proxy/documents.json}" "$ROOT/portal/web/dist"
}
