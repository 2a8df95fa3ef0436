#!/usr/bin/env bash
# Installs worker-build, the wasm-bindgen CLI, and with an option cargo-deny or the packagers into .tools, from the crate registry, once per version.
# They only drive the build, so they are compiled unoptimised: three times as quick to install, and no slower to use.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly WORKER_BUILD=0.8.7
readonly CARGO_DENY=0.20.2
readonly CARGO_DEB=3.8.0
readonly CARGO_CYCLONEDX=0.5.9
# The CLI refuses any crate but its own version, so the lock file decides.
WASM_BINDGEN=$(locked_version wasm-bindgen)
[[ -n $WASM_BINDGEN ]] || fail "Cargo.lock holds no wasm-bindgen"

# installed program version [subcommand]
installed() { [[ $("$TOOLS/bin/$1" "${@:3}" --version 2>/dev/null) == *"$2" ]]; }

# install package version program option…
install() {
  CARGO_TARGET_DIR=$TOOLS/build CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 \
    cargo install --debug --force --root "$TOOLS" --bin "$3" "${@:4}" "$1@$2"
}

if ! installed worker-build "$WORKER_BUILD"; then
  step "building worker-build $WORKER_BUILD (about 1 min)" install worker-build "$WORKER_BUILD" worker-build --locked
fi
# Its packaged lock file does not resolve, hence no --locked; its TLS only serves a test runner that is not installed.
if ! installed wasm-bindgen "$WASM_BINDGEN"; then
  step "building the wasm-bindgen CLI $WASM_BINDGEN (about 1 min)" \
    install wasm-bindgen-cli "$WASM_BINDGEN" wasm-bindgen --no-default-features
fi
# Only `make check` and `make audit` need it.
if [[ ${1:-} == --deny ]] && ! installed cargo-deny "$CARGO_DENY"; then
  step "building cargo-deny $CARGO_DENY (about 1 min)" install cargo-deny "$CARGO_DENY" cargo-deny --locked
fi
# Only `make dist` and its tests need them.
if [[ ${1:-} == --dist ]]; then
  if ! installed cargo-deb "$CARGO_DEB"; then
    step "building cargo-deb $CARGO_DEB (about 1 min)" install cargo-deb "$CARGO_DEB" cargo-deb --locked --no-default-features
  fi
  if ! installed cargo-cyclonedx "$CARGO_CYCLONEDX" cyclonedx; then
    step "building cargo-cyclonedx $CARGO_CYCLONEDX (about 1 min)" install cargo-cyclonedx "$CARGO_CYCLONEDX" cargo-cyclonedx --locked
  fi
fi
rm -rf "$TOOLS/build"
ok "worker-build $WORKER_BUILD, wasm-bindgen $WASM_BINDGEN"
