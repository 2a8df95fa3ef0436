#!/usr/bin/env bash
# Installs the packagers, which only `make dist` and its tests need, into .tools: from the crate registry, once per version.
# They only drive the build, so they are compiled unoptimised: three times as quick to install, and no slower to use.
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

if ! installed cargo-deb "$CARGO_DEB"; then
  step "building cargo-deb $CARGO_DEB (about 1 min)" install cargo-deb "$CARGO_DEB" cargo-deb --locked --no-default-features
fi
if ! installed cargo-cyclonedx "$CARGO_CYCLONEDX" cyclonedx; then
  step "building cargo-cyclonedx $CARGO_CYCLONEDX (about 1 min)" install cargo-cyclonedx "$CARGO_CYCLONEDX" cargo-cyclonedx --locked
fi
rm -rf "$TOOLS/build"
