#!/usr/bin/env bash
# `make fuzz`: runs each fuzz target on its seeds and then on what libFuzzer makes of them, TIME seconds each. Stops at the first
# finding and says how to replay it.
#   TIME=60        seconds for each target; 0 runs the seeds only
#   TARGET=routes  these targets only, separated by spaces
#   QUICK=1        what CI runs: soon built and slower, without the target that needs the proxy
#   COMPILE=only   builds the targets and runs none
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly FOLDER=$ROOT/fuzz
readonly SECONDS_EACH=${TIME:-10}
HOST=$(rustc -vV | sed -n 's/^host: //p')

"$here/python.sh"
cd "$FOLDER"

targets() {
  for file in fuzz_targets/*.rs; do basename "$file" .rs; done | if [[ -n ${QUICK:-} ]]; then grep -v '^proxy_'; else cat; fi
}
read -ra chosen <<<"${TARGET:-$(targets | tr '\n' ' ')}"

# Without a sanitizer, which nightly alone has: no crate of ours has unsafe code. What overflows panics.
options=(--sanitizer none --target-dir "$FOLDER/target")
if [[ -n ${QUICK:-} ]]; then
  options+=(--dev)
  PROGRAMS=$FOLDER/target/$HOST/debug
else
  options+=(--codegen-units 16)
  PROGRAMS=$FOLDER/target/$HOST/release
fi
for target in "${chosen[@]}"; do
  [[ -f fuzz_targets/$target.rs ]] || fail "there is no fuzz target \`$target\`; there are: $(targets | tr '\n' ' ')"
  # The proxy has most of the dependencies, and one target needs it.
  if [[ $target == proxy_config ]]; then options+=(--features proxy); fi
done
build() { "$TOOLS/python/bin/cargo-fuzz" fuzz build --fuzz-dir "$FOLDER" "${options[@]}" "$@"; }
if [[ -n ${TARGET:-} ]]; then
  for target in "${chosen[@]}"; do step "building $target" build "$target"; done
else
  step "building the fuzz targets" build
fi
if [[ -n ${COMPILE:-} ]]; then exit; fi

# fuzz target: what it finds new is kept beside its program, and runs first the next time.
fuzz() {
  local found=target/corpus/$1 findings=artifacts/$1 dictionary=dictionaries/$1.dict limit=(-runs=0)
  case $1 in page_* | vcards) dictionary=dictionaries/pages.dict ;; esac
  mkdir -p "$found" "$findings"
  # The same inputs each time, so that a change does not fail for what an older one left.
  if [[ -n ${QUICK:-} ]]; then limit+=(-seed=1); fi
  if ((SECONDS_EACH > 0)); then limit=("${limit[@]:1}" "-max_total_time=$SECONDS_EACH"); fi
  if [[ -f $dictionary ]]; then limit+=("-dict=$dictionary"); fi
  # The first call of an MCP tool reads the OpenAPI documents, which takes 2 s of CPU here, and 10 s of a busy machine.
  "$PROGRAMS/$1" "${limit[@]}" -timeout=60 -rss_limit_mb=1024 -print_final_stats=1 \
    "-artifact_prefix=$findings/" "$found" "corpus/$1" >"target/$1.log" 2>&1
}

sum=0 passed=0
for target in "${chosen[@]}"; do
  if ! fuzz "$target"; then
    grep -v '^#' "target/$target.log" | tail -n 40 >&2
    input=$(sed -n 's/.*Test unit written to //p' "target/$target.log" | tail -n 1)
    fail "$target has a finding; replay it: (cd fuzz && ${PROGRAMS#"$FOLDER"/}/$target ${input:-<input>})"
  fi
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "target/$target.log")
  sum=$((sum + executions))
  passed=$((passed + 1))
  printf '%12d  %s\n' "$executions" "$target"
done
printf '%12d  executions, no finding\n' "$sum"
echo "$passed passed in $SECONDS.0s"
