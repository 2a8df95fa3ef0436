#!/usr/bin/env bash
# `make dist`: a release in target/dist: a tarball, a Debian package, the Workers, and their checksums.
# SIGNING_KEY=FILE signs the checksums with that SSH key (docs/operating/install.md, "Packages"). It may be a public key whose private
# half an agent has. PROGRAMS=FOLDER takes the programs from there instead of building them, and OUT=FOLDER is where the release
# goes, for the tests.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly OUT=${OUT:-$ROOT/target/dist}
# The Debian package names its files below this folder (proxy/Cargo.toml).
readonly STAGE=$ROOT/target/dist-stage WORKERS=$ROOT/target/dist-worker
VERSION=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml")
HOST=$(rustc -vV | sed -n 's/^host: //p')
readonly VERSION HOST NAME=unified-tool-gateway-$VERSION-$HOST
# The time of the commit, so that the same programs give the same files.
SOURCE_DATE_EPOCH=$(git -C "$ROOT" log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH

build_programs() {
  cargo build --manifest-path "$ROOT/Cargo.toml" --locked --release -p proxy -p loadtest -p portal
}

stage_programs() {
  local program from=${PROGRAMS:-$TARGET_DIR/release}
  for program in proxy loadtest; do
    install -D -m 0755 "$from/$program" "$STAGE/bin/$program"
    strip --strip-all "$STAGE/bin/$program"
  done
  write_documents "$from" "$STAGE/share/utg-proxy/documents.json"
}

# name_sbom file: adds a serial number that is the hash of the rest, as a UUID (RFC 9562, version 8). cyclonedx would draw one,
# and leaves it out with SOURCE_DATE_EPOCH.
name_sbom() {
  local hash uuid
  hash=$(sha256 <"$1")
  uuid=${hash:0:8}-${hash:8:4}-8${hash:13:3}-$(printf %x $((0x${hash:16:1} & 3 | 8)))${hash:17:3}-${hash:20:12}
  sed -i "s/^  \"specVersion\": .*/&\n  \"serialNumber\": \"urn:uuid:$uuid\",/" "$1"
}

# cyclonedx writes a file for each member of the workspace, and paths of this machine into it.
stage_sbom() {
  local file=utg-dist-sbom program
  (cd "$ROOT" && "$TOOLS/bin/cargo-cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps --target "$HOST" --override-filename "$file")
  for program in proxy loadtest; do
    sed "s#$ROOT/#./#g" "$ROOT/$program/$file.json" >"$STAGE/$program.cdx.json"
    name_sbom "$STAGE/$program.cdx.json"
  done
  find "$ROOT" \( -name node_modules -o -path "$ROOT/target" \) -prune -o -name "$file.json" -exec rm {} +
}

stage_texts() {
  node "$here/licenses.mjs" "$STAGE/THIRD-PARTY-LICENSES.txt" proxy loadtest
  # With the layout of the checkout, so that links between the texts hold.
  cp -r "$ROOT"/{conf,docs} "$ROOT"/LICENSE-* "$ROOT"/{README,CHANGELOG,ARCHITECTURE,CONTRIBUTING,SECURITY}.md "$STAGE"
  cp "$ROOT/packaging/Containerfile" "$STAGE"
  mkdir "$STAGE/man"
  "$STAGE/bin/proxy" man "$STAGE/man"
  "$STAGE/bin/loadtest" man "$STAGE/man"
  mkdir "$STAGE/loadtest"
  cp -r "$ROOT"/loadtest/{README.md,scenarios,prices.json} "$STAGE/loadtest"
  # That of the Debian package, whose program has another place and name.
  sed 's#/usr/local/bin/proxy#/usr/bin/utg-proxy#' "$ROOT/conf/proxy.service" >"$STAGE/utg-proxy@.service"
}

# The changelog that Debian's tools read. Ours is CHANGELOG.md.
stage_debian_changelog() {
  printf 'utg-proxy (%s-1) unstable; urgency=medium\n\n  * /usr/share/doc/utg-proxy/CHANGELOG.md says what has changed.\n\n -- %s  %s\n' \
    "$VERSION" "The Unified Tool Gateway authors <utg-proxy@localhost>" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" \
    >"$STAGE/debian-changelog"
}

# The Workers with the layout of the checkout, and their files of wrangler without the command that builds them.
stage_workers() {
  local part config
  rm -rf "$WORKERS"
  "$here/build-edge.sh"
  for part in gateway pages; do
    mkdir -p "$WORKERS/edge-worker/build/$part"
    cp "$ROOT/edge-worker/build/$part"/index{.js,_bg.wasm} "$WORKERS/edge-worker/build/$part"
  done
  cp -r "$ROOT/edge-worker/build/site" "$WORKERS/edge-worker/build"
  for config in wrangler.toml wrangler.pages.toml; do
    awk '/^\[/ { of_build = /^\[build\]/ } !of_build' "$ROOT/$config" >"$WORKERS/$config"
  done
  cp "$ROOT"/LICENSE-* "$WORKERS"
}

# pack folder name option…
pack() {
  tar --create --directory "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --transform="s#^\.#${2%%.t*}#" "${@:3}" . | gzip --no-name >"$OUT/$2"
}
pack_tarball() { pack "$STAGE" "$NAME.tar.gz" --exclude='./utg-proxy@.service' --exclude='./debian-changelog'; }
pack_workers() { pack "$WORKERS" "unified-tool-gateway-worker-$VERSION.tgz"; }

# Programs of a test are packed in a fifth of the time, and a fifth larger.
pack_debian() {
  (cd "$ROOT" && "$TOOLS/bin/cargo-deb" --quiet --package proxy --no-build --no-strip ${PROGRAMS:+--fast} --output "$OUT")
}

# The namespace `file` is that of files in general: a signature for git or a login does not verify as one of a release.
sign_checksums() {
  ssh-keygen -q -Y sign -f "$SIGNING_KEY" -n file "$OUT/SHA256SUMS"
}

if [[ -n ${SIGNING_KEY:-} && ! -r $SIGNING_KEY ]]; then fail "SIGNING_KEY: no file \`$SIGNING_KEY\`; expected an SSH key"; fi
"$here/cargo-tools.sh"
rm -rf "$STAGE"
mkdir -p "$STAGE" "$OUT"
rm -f "$OUT"/*.tar.gz "$OUT"/*.tgz "$OUT"/*.deb "$OUT"/SHA256SUMS*
if [[ -z ${PROGRAMS:-} ]]; then step "building the proxy and the load generator" build_programs; fi
stage_programs
step "listing what is linked (SBOM)" stage_sbom
step "collecting license texts" stage_texts
step "packing the tarball" pack_tarball
step "building the Workers" stage_workers
step "packing the Workers" pack_workers
if command -v dpkg-shlibdeps >/dev/null; then
  stage_debian_changelog
  step "packing the Debian package" pack_debian
else
  echo "      no Debian package: dpkg-shlibdeps (dpkg-dev) is missing"
fi
(cd "$OUT" && shopt -s nullglob && sha256sum -- *.tar.gz *.tgz *.deb >SHA256SUMS)
if [[ -n ${SIGNING_KEY:-} ]]; then step "signing the checksums" sign_checksums; fi
ls -l "$OUT" "$STAGE/bin"
