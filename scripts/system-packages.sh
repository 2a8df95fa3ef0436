#!/usr/bin/env bash
# Installs what crates of other languages are built with, where it is missing: a C compiler and CMake (the proxy's zlib-ng),
# pkg-config and OpenSSL's headers (worker-build, for downloads that this project never lets it do).
set -euo pipefail
source "$(dirname "$0")/lib.sh"

missing=()
command -v cc >/dev/null || missing+=(gcc g++ libc6-dev)
command -v cmake >/dev/null || missing+=(cmake)
command -v pkg-config >/dev/null || missing+=(pkg-config)
pkg-config --exists openssl 2>/dev/null || missing+=(libssl-dev)
if ((${#missing[@]})); then step "installing ${missing[*]}" apt_install "${missing[@]}"; fi
ok "C compiler, CMake, pkg-config, OpenSSL"
