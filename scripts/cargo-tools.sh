#!/usr/bin/env bash
# Installs programs of the crate registry into .tools, once per version: those that are named, or the packagers, which only
# `make dist` and its tests need.
# They only drive a build, so they are compiled unoptimised: three times as quick to install, and no slower to use.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly CARGO_DEB=3.8.0
readonly CARGO_CYCLONEDX=0.5.9
readonly CARGO_FUZZ=0.13.2

# installed program version [subcommand]
installed() { [[ $("$TOOLS/bin/$1" "${@:3}" --version 2>/dev/null) == *"$2" ]]; }

# install package version program option…
install() {
  CARGO_TARGET_DIR=$TOOLS/build CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 \
    cargo install --debug --force --root "$TOOLS" --bin "$3" "${@:4}" "$1@$2"
}

if (($# == 0)); then set -- cargo-deb cargo-cyclonedx; fi
for program; do
  case $program in
    cargo-deb)
      installed cargo-deb "$CARGO_DEB" ||
        step "building cargo-deb $CARGO_DEB (about 1 min)" install cargo-deb "$CARGO_DEB" cargo-deb --locked --no-default-features
      ;;
    cargo-cyclonedx)
      installed cargo-cyclonedx "$CARGO_CYCLONEDX" cyclonedx ||
        step "building cargo-cyclonedx $CARGO_CYCLONEDX (about 1 min)" install cargo-cyclonedx "$CARGO_CYCLONEDX" cargo-cyclonedx --locked
      ;;
    cargo-fuzz)
      installed cargo-fuzz "$CARGO_FUZZ" fuzz ||
        step "building cargo-fuzz $CARGO_FUZZ (about 30 s)" install cargo-fuzz "$CARGO_FUZZ" cargo-fuzz --locked
      ;;
    *) fail "no program \`$program\`; there are cargo-deb, cargo-cyclonedx and cargo-fuzz" ;;
  esac
done
rm -rf "$TOOLS/build"
