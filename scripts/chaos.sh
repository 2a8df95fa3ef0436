#!/usr/bin/env bash
# `make chaos`: the worker, three proxies and fake tools under load and faults, with balanced books at the end.
#   SEED=7      decides the faults; without it a random one, which is printed
#   TIME=600    seconds
# `make soak` (`chaos.sh soak`): the same for two hours (TIME=7200) without kills of processes. It fails if memory, descriptors,
# latencies or state grow faster than their bounds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

if [[ ${1:-} == soak ]]; then export SOAK=1 TIME=${TIME:-7200}; else export TIME=${TIME:-600}; fi
[[ $TIME =~ ^[1-9][0-9]*$ ]] || fail "TIME is \`$TIME\`; expected seconds"
if [[ -z ${SOAK:-} ]] && ((TIME > 600)); then fail "TIME is $TIME; expected 600 at most (make soak runs longer)"; fi

"$here/setup.sh"
"$here/build-edge.sh"
cd "$ROOT"
# All programs at once: package by package, cargo would build their dependencies anew for each set of features.
step "building the proxy and the faults" cargo build --locked --workspace --bins --test chaos
timeout $((TIME + 300)) cargo test --locked --workspace --test chaos
