#!/usr/bin/env bash
# Installs what crates of other languages are built with, where it is missing: a C compiler and CMake (the proxy's zlib-ng).
# `system-packages.sh python` installs Python with virtual environments instead, and `system-packages.sh servers`
# redis-server, dnsmasq and promtool, which only tests need; `system-packages.sh peers` what `make bench-peers` compares us with.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

missing=()
if [[ ${1:-} == python ]]; then
  found="Python"
  python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    missing+=(python3 python3-venv)
elif [[ ${1:-} == servers ]]; then
  found="redis-server, dnsmasq, promtool"
  command -v redis-server >/dev/null || missing+=(redis-server)
  command -v dnsmasq >/dev/null || missing+=(dnsmasq-base)
  command -v promtool >/dev/null || missing+=(prometheus)
elif [[ ${1:-} == peers ]]; then
  found="nginx, HAProxy, Caddy, valgrind"
  command -v nginx >/dev/null || missing+=(nginx-light)
  command -v haproxy >/dev/null || missing+=(haproxy)
  command -v caddy >/dev/null || missing+=(caddy)
  command -v valgrind >/dev/null || missing+=(valgrind)
else
  found="C compiler, CMake"
  command -v cc >/dev/null || missing+=(gcc g++ libc6-dev)
  command -v cmake >/dev/null || missing+=(cmake)
fi
if ((${#missing[@]})); then step "installing ${missing[*]}" apt_install "${missing[@]}"; fi
ok "$found"
