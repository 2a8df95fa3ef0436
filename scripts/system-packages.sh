#!/usr/bin/env bash
# Installs what crates of other languages are built with, where it is missing: a C compiler and CMake (the proxy's zlib-ng),
# pkg-config and OpenSSL's headers (worker-build, for downloads that this project never lets it do).
# `system-packages.sh python` installs Python with virtual environments instead, which only tests need.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

missing=()
if [[ ${1:-} == python ]]; then
  found="Python"
  python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    missing+=(python3 python3-venv)
else
  found="C compiler, CMake, pkg-config, OpenSSL"
  command -v cc >/dev/null || missing+=(gcc g++ libc6-dev)
  command -v cmake >/dev/null || missing+=(cmake)
  command -v pkg-config >/dev/null || missing+=(pkg-config)
  pkg-config --exists openssl 2>/dev/null || missing+=(libssl-dev)
fi
if ((${#missing[@]})); then step "installing ${missing[*]}" apt_install "${missing[@]}"; fi
ok "$found"
