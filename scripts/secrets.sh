#!/usr/bin/env bash
# Makes .dev.vars (mode 0600), the secrets of a local installation: adds those that are missing, never changes one that is there.
# `scripts/secrets.sh FILE` makes another file, for a deployment.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
umask 077

readonly FILE=${1:-$ROOT/.dev.vars}
readonly NAMES=(ADMIN_SECRET KEY_SIGNING_SECRET GRANT_SECRET WEBHOOK_ENCRYPTION_SECRET)

# 256 random bits as 43 characters of base64url.
random_secret() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }

added=()
next=$(mktemp "$FILE.XXXXXX")
trap 'rm -f "$next"' EXIT
if [[ -e $FILE ]]; then cat "$FILE" >"$next"; fi
# A last line without its newline would swallow the next name.
if [[ -n $(tail -c 1 "$next") ]]; then echo >>"$next"; fi
for name in "${NAMES[@]}"; do
  if ! grep -q "^$name=." "$next"; then
    printf '%s=%s\n' "$name" "$(random_secret)" >>"$next"
    added+=("$name")
  fi
done
if ((${#added[@]})); then mv "$next" "$FILE"; fi
chmod 600 "$FILE"
ok "secrets in ${FILE#"$ROOT/"}${added[*]:+ (made: ${added[*]})}"
