#!/usr/bin/env bash
# Installs, upgrades, removes and purges the Debian package in a copy of this machine's file system: an overlay in memory, in a mount
# namespace of its own. `systemctl` is a program that notes what it is told, since nothing is started.
#   unshare --mount tests/package/lifecycle.sh FIRST.deb SECOND.deb
set -euo pipefail

readonly FIRST=$1 SECOND=$2 CONFIG=/etc/utg/proxy.toml
memory=$(mktemp -d)
mount -t tmpfs tmpfs "$memory"
mkdir "$memory"/{changes,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$memory/changes,workdir=$memory/work" "$memory/root"
readonly TOP=$memory/root
cp "$FIRST" "$TOP/first.deb"
cp "$SECOND" "$TOP/second.deb"

inside() { chroot "$TOP" "$@"; }
fail() {
  printf 'error %s\n' "$*"
  cat "$TOP/calls"
  exit 1
}
expect() { "${@:2}" || fail "$1"; }
not() { ! "$@"; }
called() { grep -qx -- "$*" "$TOP/calls"; }
install_package() {
  : >"$TOP/calls"
  # The triggers are those of other packages: `man-db` would read every manual page of this machine.
  inside dpkg --no-triggers --install "$1" </dev/null
}

# The machine has systemd running, and `a` is active if the file /active exists. A start fails if /refuse exists.
mkdir -p "$TOP/run/systemd/system"
cat >"$TOP/usr/bin/systemctl.test" <<'STUB'
#!/bin/sh
echo "$*" >>/calls
case "$*" in
  "is-active --quiet utg-proxy@a") test -e /active ;;
  "is-active "*) false ;;
  "start "*) test ! -e /refuse ;;
esac
STUB
chmod +x "$TOP/usr/bin/systemctl.test"
mv "$TOP/usr/bin/systemctl.test" "$TOP/usr/bin/systemctl"

install_package /first.deb
expect "the user exists" inside getent passwd utg-proxy
expect "only root reads the secrets" test "$(stat -c %a:%U "$TOP/etc/utg/proxy.env")" = 600:root
expect "nothing was started" not grep -q '^start' "$TOP/calls"
expect "systemd read the unit" called daemon-reload
expect "the program runs" inside /usr/bin/utg-proxy --version
expect "the configuration is valid" inside env GRANT_SECRET=0123456789abcdef0123456789abcdef DATA_CENTER=fra \
  /usr/bin/utg-proxy -c "$CONFIG" --check
expect "the unit starts that program" grep -q '^ExecStart=/usr/bin/utg-proxy ' "$TOP/usr/lib/systemd/system/utg-proxy@.service"

echo "# changed by the operator" >>"$TOP$CONFIG"
touch "$TOP/active"
install_package /second.deb
expect "the other instance took over" called start utg-proxy@b
expect "it starts at the next boot" called enable --quiet utg-proxy@b
expect "the first one does not" called disable --quiet utg-proxy@a
expect "the operator's change stays" grep -q "# changed by the operator" "$TOP$CONFIG"

touch "$TOP/refuse"
install_package /second.deb
expect "a start that fails leaves the first instance enabled" not called disable --quiet utg-proxy@a
rm "$TOP/refuse"

mkdir -p "$TOP/var/lib/unified-tool-gateway"
inside dpkg --no-triggers --remove utg-proxy
expect "the service is stopped" called disable --quiet --now utg-proxy@a
expect "the program is gone" not test -e "$TOP/usr/bin/utg-proxy"
expect "the configuration stays" test -e "$TOP$CONFIG"
expect "the state stays" test -d "$TOP/var/lib/unified-tool-gateway"

inside dpkg --no-triggers --purge utg-proxy
expect "the configuration is gone" not test -e "$TOP/etc/utg"
expect "the state is gone" not test -e "$TOP/var/lib/unified-tool-gateway"
expect "the user stays" inside getent passwd utg-proxy
echo "ok    installed, upgraded, removed, purged"
