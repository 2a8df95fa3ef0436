#!/usr/bin/env bash
# Installs programs of the crate registry into .tools. Each version is built once for all checkouts of a user: the packagers, which `make dist` and its tests need, or with
# `mutants` what `make mutants` needs.
# They only drive a build, so they are compiled unoptimized: three times as quick to install, and no slower to use.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly CARGO_DEB=3.8.0
readonly CARGO_CYCLONEDX=0.5.9
readonly CARGO_MUTANTS=27.1.0

# installed program version [subcommand]
installed() { [[ $("$TOOLS/bin/$1" "${@:3}" --version 2>/dev/null) == *"$2" ]]; }

# Where they are built, or the checkout if there is no such place.
CACHE=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/unified-tool-gateway
mkdir -p "$CACHE" 2>/dev/null || CACHE=$TOOLS/build

# install package version program option…
install() {
  local built=$CACHE/$1-$2
  if ! [[ -x $built/bin/$3 ]]; then
    rm -rf "$built.new"
    CARGO_TARGET_DIR=$TOOLS/build CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 \
      cargo install --debug --root "$built.new" --bin "$3" "${@:4}" "$1@$2"
    rm -rf "$built"
    mv "$built.new" "$built"
  fi
  mkdir -p "$TOOLS/bin"
  cp "$built/bin/$3" "$TOOLS/bin/$3"
}

if [[ ${1:-} == mutants ]]; then
  installed cargo-mutants "$CARGO_MUTANTS" mutants ||
    step "building cargo-mutants $CARGO_MUTANTS (about 2 min)" install cargo-mutants "$CARGO_MUTANTS" cargo-mutants --locked
else
  installed cargo-deb "$CARGO_DEB" ||
    step "building cargo-deb $CARGO_DEB (about 1 min)" install cargo-deb "$CARGO_DEB" cargo-deb --locked --no-default-features
  installed cargo-cyclonedx "$CARGO_CYCLONEDX" cyclonedx ||
    step "building cargo-cyclonedx $CARGO_CYCLONEDX (about 1 min)" install cargo-cyclonedx "$CARGO_CYCLONEDX" cargo-cyclonedx --locked
fi
rm -rf "$TOOLS/build"
