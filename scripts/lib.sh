# Sourced by the other scripts: where things are, and how progress is told.
# shellcheck shell=bash disable=SC2034

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.tools
TARGET_DIR=${CARGO_TARGET_DIR:-$ROOT/target}
# The worker has its own target folder: it may be built by another rustc (see wasm-std.sh), and never waits for cargo's lock.
EDGE_TARGET_DIR=$TARGET_DIR/edge
export WRANGLER_SEND_METRICS=false WRANGLER_SEND_ERROR_REPORTS=false CLOUDFLARE_CF_FETCH_ENABLED=false
mkdir -p "$TOOLS"

ok() { printf 'ok    %s\n' "$*"; }

fail() {
  printf 'error %s\n' "$*" >&2
  exit 1
}

# step "what is done" command…: says what is about to happen, shows its output, says how long it took.
step() {
  local what=$1 started=$SECONDS status
  shift
  printf '==>   %s\n' "$what"
  # Not `"$@" || …`: within that, a function would go on after a command that failed.
  set +e
  (set -e; "$@")
  status=$?
  set -e
  if ((status != 0)); then
    printf 'error %s: failed after %d s (%s)\n' "$what" $((SECONDS - started)) "$*" >&2
    return "$status"
  fi
  printf 'done  %s (%d s)\n' "$what" $((SECONDS - started))
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

# write_documents programs: renders what a proxy in direct mode serves to people, where it looks for that: beside the folder of
# its program, as in /usr/share beside /usr/bin.
write_documents() {
  "$1/portal" documents "$(dirname "$1")/share/utg-proxy/documents.json"
}
