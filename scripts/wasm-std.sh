#!/usr/bin/env bash
# Makes sure that some rustc on this machine can build for wasm32-unknown-unknown, and records which (.tools/wasm-rust: `rustup` or `debian`).
# The normal way is a rustup target. Where rustup cannot reach its server (it then hangs), Debian's rustc takes its place, with a
# standard library built once from Debian's own packaged sources.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

readonly TRIPLE=wasm32-unknown-unknown
readonly RUSTUP_PATIENCE=20 # seconds
readonly DEBIAN_PACKAGES=(rustc-web cargo-web rust-web-src lld)

# Uses rustc from the PATH, as rust-toolchain.toml resolves it.
has_rustup_std() {
  compgen -G "$(cd "$ROOT" && rustc --target "$TRIPLE" --print target-libdir)/libstd-*.rlib" >/dev/null
}

debian_libdir() { /usr/bin/rustc --target "$TRIPLE" --print target-libdir; }

# The library is only good for the very rustc that built it.
has_debian_std() {
  [[ -x /usr/bin/rustc && -x /usr/bin/cargo ]] && command -v wasm-ld >/dev/null || return 1
  compgen -G "$(debian_libdir)/libstd-*.rlib" >/dev/null &&
    [[ $(/usr/bin/rustc -vV) == "$(cat "$(debian_libdir)/built-by" 2>/dev/null)" ]]
}

# Debian's Rust takes the place of a rustup that hangs. Where there is no `timeout` (macOS), there is no Debian either.
add_rustup_target() {
  local add=(rustup target add "$TRIPLE")
  command -v rustup >/dev/null || return 1
  if command -v timeout >/dev/null; then add=(timeout "$RUSTUP_PATIENCE" "${add[@]}"); fi
  (cd "$ROOT" && "${add[@]}") && has_rustup_std
}

# cargo's build-std, run by Debian's cargo over Debian's sources.
build_debian_std() {
  local work out dest
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the value of now is meant
  trap "rm -rf '$work'" EXIT
  mkdir "$work/src" "$work/out"
  printf '[package]\nname = "seed"\nversion = "0.0.0"\nedition = "2021"\n' >"$work/Cargo.toml"
  : >"$work/src/lib.rs"
  # Bitcode keeps link-time optimization possible for the crates that will be linked with this library.
  (cd "$work" && PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes CARGO_TARGET_DIR=$work/target \
    /usr/bin/cargo build --release --target "$TRIPLE" -Zbuild-std=std,panic_abort,panic_unwind,proc_macro)
  out=$work/target/$TRIPLE/release/deps
  rm -f "$out"/libseed-*
  /usr/bin/rustc -vV >"$work/out/built-by"
  cp "$out"/*.rlib "$work/out/"
  dest=$(debian_libdir)
  as_root rm -rf "$dest"
  as_root mkdir -p "$dest"
  as_root cp "$work"/out/* "$dest/"
}

record() {
  printf '%s\n' "$1" >"$TOOLS/wasm-rust"
  ok "wasm32 standard library ($2)"
}

if has_rustup_std; then
  record rustup "$(cd "$ROOT" && rustc --version), by rustup"
elif has_debian_std; then
  record debian "$(/usr/bin/rustc --version), by Debian"
elif step "adding the target $TRIPLE with rustup (given up after $RUSTUP_PATIENCE s)" add_rustup_target; then
  record rustup "$(cd "$ROOT" && rustc --version), by rustup"
else
  echo "      rustup cannot reach its server: taking Debian's Rust for the worker instead"
  step "installing Debian's Rust for wasm: ${DEBIAN_PACKAGES[*]}" apt_install "${DEBIAN_PACKAGES[@]}"
  step "building the $TRIPLE standard library from Debian's sources (about 30 s)" build_debian_std
  has_debian_std || fail "the standard library was built, but $(debian_libdir) does not hold it"
  record debian "$(/usr/bin/rustc --version), by Debian"
fi
