#!/usr/bin/env bash
# Installs Chromium for the browser tests, where there is none: the whole browser, and its engine alone, which most tests take
# because it costs half. CHROMIUM names another one for all of them.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

browser() { command -v "${CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome; }
engine() { command -v "${CHROMIUM:-chromium-headless-shell}"; }

if ! browser >/dev/null; then step "installing Chromium for the browser tests" apt_install chromium; fi
# Not everywhere is it a package, and nobody is asked for a password for it: the whole browser does as well.
if ! engine >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
  step "installing Chromium's engine for the browser tests" apt_install chromium-headless-shell || true
fi
ok "browser $(browser), engine $(engine || browser)"
