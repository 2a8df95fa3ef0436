#!/usr/bin/env bash
# Installs the packagers of the crate registry into .tools, once per version: only `make dist` and its tests need them.
# They only drive a build, so they are compiled unoptimised: three times as quick to install, and no slower to use.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly CARGO_DEB=3.8.0
readonly CARGO_CYCLONEDX=0.5.9

# installed program version [subcommand]
installed() { [[ $("$TOOLS/bin/$1" "${@:3}" --version 2>/dev/null) == *"$2" ]]; }

# install package version program option…
install() {
  CARGO_TARGET_DIR=$TOOLS/build CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 \
    cargo install --debug --force --root "$TOOLS" --bin "$3" "${@:4}" "$1@$2"
}

installed cargo-deb "$CARGO_DEB" ||
  step "building cargo-deb $CARGO_DEB (about 1 min)" install cargo-deb "$CARGO_DEB" cargo-deb --locked --no-default-features
installed cargo-cyclonedx "$CARGO_CYCLONEDX" cyclonedx ||
  step "building cargo-cyclonedx $CARGO_CYCLONEDX (about 1 min)" install cargo-cyclonedx "$CARGO_CYCLONEDX" cargo-cyclonedx --locked
rm -rf "$TOOLS/build"
