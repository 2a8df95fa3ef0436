#!/usr/bin/env bash
# Installs a Chromium for the browser tests, where there is none. CHROMIUM names another one.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

browser() { command -v "${CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome; }

if ! browser >/dev/null; then
  step "installing Chromium for the browser tests" apt_install chromium
fi
ok "browser $(browser)"
