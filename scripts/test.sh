#!/usr/bin/env bash
# `make test`: the whole suite. Kinds run side by side, and the output of each is shown as a whole when it ends or soon after. The
# last lines count the tests of each kind; the very last one counts them all.
# Fails if a test fails, if a kind could not be run, and if a kind has no tests.
# KIND=proxy runs one kind, and FILTER=waits only those of its tests whose names hold that: no other test counts.
# CHANGED=main runs the kinds that what has changed since that commit can affect.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly LOGS=$TARGET_DIR/test-logs
readonly BINARIES=$LOGS/binaries.tsv
readonly FAILED=$LOGS/failed.tsv
readonly KIND=${KIND:-} FILTER=${FILTER:-} CHANGED=${CHANGED:-}
# The faults of `chaos`. A test that is run again plays the same ones.
export SEED=${SEED:-$RANDOM}
# Hundreds of processes of node compile the same few packages.
export NODE_COMPILE_CACHE=$TARGET_DIR/node-compile-cache
# As many kinds at a time: enough for two cores, and few enough for tests that hold a response to a timeout. If it is more than
# one, what only computes has the rest of the processor.
readonly AT_ONCE=${AT_ONCE:-2}

# The sums of what the test runners count: cargo's `test result:` lines, the closing lines of node's runner and of pytest, and
# what schemathesis says of each phase (operations; what it skips there has no example or no link, and is no test). Tests that
# FILTER leaves out are none that were skipped.
count() {
  awk '
    /^test result:/          { passed += $4; failed += $6; ignored += $8 }
    /^(#|ℹ) pass /           { passed += $3 }
    /^ +Tests .*\([0-9]+\)$/ { for (at = 2; at < NF; at++) { if ($(at + 1) ~ /^passed/) passed += $at; if ($(at + 1) ~ /^failed/) failed += $at } }
    /^(#|ℹ) (fail|cancelled) / { failed += $3 }
    /^(#|ℹ) (skipped|todo) /   { ignored += $3 }
    /# (SKIP )?test name does not match pattern$/ { ignored-- }
    /^[0-9]+ (passed|failed|errors?|skipped|deselected).* in [0-9.]+s/ || /^ +(✅|❌|🚫) +[0-9]+ (passed|failed|errors?)/ {
      for (at = 1; at < NF; at++) {
        if ($(at + 1) ~ /^passed/) passed += $at
        if ($(at + 1) ~ /^(failed|error)/) failed += $at
        if ($(at + 1) ~ /^skipped/ && $0 !~ /⏭/) ignored += $at
      }
    }
    END { print passed + 0, failed + 0, ignored + 0 }' "$1"
}

# Builds all programs and tests in one go: package by package, cargo would build their dependencies anew for each set of features.
# One kind has its own targets built, of the whole workspace for the same reason. The receiver of webhooks is a workspace of its
# own.
build_tests() {
  local built=(build --all-targets)
  if [[ -n $KIND ]]; then read -ra built < <(targets_of "$KIND"); fi
  linting cargo "${built[@]}" --locked --workspace --message-format=json-render-diagnostics >"$LOGS/build.json" &&
    node "$here/test/binaries.mjs" <"$LOGS/build.json" >"$BINARIES" || return
  if needs receiver; then
    CARGO_TARGET_DIR=$TARGET_DIR cargo build --locked --manifest-path "$ROOT/tests/clients/webhooks/rust/Cargo.toml"
  fi
}

# skipped: the `--skip` options for the transport under test (tests/src/transport.rs). The relay runs every test. Another one leaves
# out the tests that the table of differences names in its fourth column, and the modules whose tests no transport decides.
skipped() {
  local tests
  if [[ -n ${LEFT_OUT:-} ]]; then printf -- '--skip\n%s\n' "$LEFT_OUT"; fi
  if [[ ${UTG_TEST_TRANSPORT:-relay} == relay ]]; then return; fi
  grep -v '^#' "$ROOT/tests/vectors/modules_above_transports.txt" | while read -r tests; do printf -- '--skip\n%s\n' "$tests"; done
  tail -n +2 "$ROOT/tests/vectors/transports.tsv" | cut -f 4 | while read -ra tests; do
    if ((${#tests[@]})); then printf -- '--skip\n%s\n' "${tests[@]}"; fi
  done
}

# The tests that the output of a test binary lists as failed, below its last `failures:`.
failed_tests() {
  awk '/^failures:$/ { count = 0 }
    /^    [^ ]+$/ { names[count++] = $1 }
    END { for (at = 0; at < count; at++) print names[at] }' "$1"
}

# run_binaries pattern [test]: runs the test binaries, or one test of them, whose `package kind name` matches, all of them whatever happens. The tests that
# fail are noted for `run_again`.
run_binaries() {
  local package target name binary folder status=0 skip output failed only huge_pages
  mapfile -t skip < <(skipped)
  while IFS=$'\t' read -r package target name binary folder; do
    [[ "$package $target $name" =~ ^($1)$ ]] || continue
    printf '\n      %s, %s %s\n' "$package" "$target" "$name"
    output=$LOGS/$package-$target-$name-${UTG_TEST_TRANSPORT:-relay}.out
    only=${2:-$FILTER}
    # The proxy's allocator asks for pages of 2 MiB, and the kernel clears each: a seventh of what those tests cost which start a
    # proxy for a second. `memory` weighs the proxy as it is.
    huge_pages=1
    if [[ "$package $name" == "proxy it" ]]; then huge_pages=0; fi
    if ! (cd "$folder" && MIMALLOC_ALLOW_THP=$huge_pages "$binary" ${only:+"$only"} "${skip[@]}") </dev/null | tee "$output"; then
      status=1
      while read -r failed; do
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$NAME" "${UTG_TEST_TRANSPORT:-relay}" "$folder" "$binary" "$failed" 1 >>"$FAILED"
      done < <(failed_tests "$output")
    fi
  done <"$BINARIES"
  return "$status"
}

# The simulator of the exchange needs what is private in its crate.
readonly SIMULATED=sim::exchange_keeps_its_promises_in_random_worlds
unit_tests() { LEFT_OUT=$SIMULATED run_binaries '[^ ]+ (lib|bin) [^ ]+'; }
property_tests() { run_binaries '(shared|biolink|portal) test [^ ]+'; }
# The limiter, the objects, and the exchange of the transport.
simulation_tests() {
  local status=0
  run_binaries 'tests test sim' || status=1
  if [[ -z $FILTER || $SIMULATED == *"$FILTER"* ]]; then run_binaries 'transport lib transport' "$SIMULATED" || status=1; fi
  return "$status"
}
contract_tests() { run_binaries 'tests test contract'; }
tools_tests() { run_binaries 'loadtest test [^ ]+'; }
proxy_tests() { run_binaries 'proxy test [^ ]+'; }
proxy_pingora_tests() { UTG_TEST_TRANSPORT=pingora-proxy run_binaries 'proxy test it'; }
# Most of their time they wait for one of a worker's timers.
edge_tests() { RUST_TEST_THREADS=4 run_binaries 'tests test edge'; }
end_to_end_tests() { run_binaries 'tests test end_to_end'; }
chaos_tests() { run_binaries 'tests test chaos'; }
# Most of its ten seconds a scenario waits until the next call is due.
load_tests() { RUST_TEST_THREADS=4 run_binaries 'tests test load'; }

# Runs the examples in doc comments: rustdoc compiles those of a crate into one program. The features are those of the other
# kinds, so that no dependency is built again.
doc_tests() {
  linting cargo test --locked --workspace --doc --no-fail-fast ${FILTER:+-- "$FILTER"} </dev/null
}

# What a release consists of, made of the programs of this build.
package_tests() {
  "$here/cargo-tools.sh"
  run_binaries 'tests test package'
}

openapi_tests() { "$here/clients.sh" lint; }
schemathesis_tests() { "$here/clients.sh" schemathesis; }
mcp_tests() { "$here/clients.sh" mcp; }

# Each target on its corpus and for five seconds on what is made of it, the same each time.
fuzz_tests() { QUICK=1 TIME=5 "$here/fuzz.sh"; }

# The clients that are generated in each language, and what importers make of the descriptions, all of them whatever happens.
clients_tests() {
  local language status=0
  for language in typescript python rust importers; do "$here/clients.sh" "$language" || status=1; done
  return "$status"
}

# The web app of the console: types, and what decides in it. Chromium runs it under `browser`.
web_tests() { NO_COLOR=1 PROGRAMS=$TARGET_DIR/debug "$here/build-web.sh" check ${FILTER:+"$FILTER"}; }

# Three files at a time: most of its time a test waits until a page is quiet. The longest comes first, or it ends alone.
# shellcheck disable=SC2046,SC2012 # names of ours, without a blank
browser_tests() { run_browser --test-concurrency=3 $(ls -S tests/browser/*.test.mjs); }
lighthouse_tests() { run_browser tests/browser/lighthouse.mjs; }
# The tests that fail are noted for `run_again`.
run_browser() {
  local status=0 output=$LOGS/$NAME.out file failed number
  node --test --test-reporter=tap ${FILTER:+--test-name-pattern="$FILTER"} "$@" | tee "$output" || status=1
  while IFS=$'\t' read -r file failed number; do
    printf '%s\tbrowser\t%s\t%s\t%s\t%s\n' "$NAME" "$ROOT" "$file" "$failed" "$number" >>"$FAILED"
  done < <(failed_in_browser "$output")
  return "$status"
}

# The tests that node's runner says failed: the file, the name of one of the first level, and how many that is with those in it.
failed_in_browser() {
  awk '/^ *not ok / { count++ }
    /^ok / { count = 0 }
    /^not ok / { name = $0; sub(/^not ok [0-9]+ - /, "", name); gsub(/\\#/, "#", name) }
    /^  location: / && name {
      split($0, parts, "\047"); sub(/:[0-9]+:[0-9]+$/, "", parts[2])
      print parts[2] "\t" name "\t" count
      name = ""; count = 0
    }' "$1"
}

# Those that wait come first, beside what only computes, which takes the processor meanwhile; the targets of `fuzz` are built by
# then. The two of Chromium fill two cores alone, and one of them measures time: they come when nothing computes any more, with
# the shortest last, so that none is left alone at the end.
readonly SIDE_BY_SIDE=(edge proxy schemathesis proxy-pingora end-to-end chaos clients load tools package fuzz lighthouse browser openapi web mcp)
# They wait for nothing, and nothing in them is held to a timeout.
readonly COMPUTING=(simulation unit property contract doc)
readonly KINDS=("${SIDE_BY_SIDE[@]}" "${COMPUTING[@]}")

# targets_of kind: the command of cargo that builds what one kind runs.
targets_of() {
  local folders=()
  case $1 in
    unit) echo test --no-run --lib --bins ;;
    property) folders=(shared/tests biolink/tests) ;;
    tools) folders=(loadtest/tests) ;;
    proxy | proxy-pingora) folders=(proxy/tests) ;;
    simulation) echo test --no-run --lib --test sim ;;
    contract | edge | end-to-end | package | chaos | load) echo build --bins --test "${1//-/_}" ;;
    # Those of other languages, and those that cargo builds when it runs them.
    *) echo build --bins ;;
  esac
  if ((${#folders[@]})); then
    echo build --bins "$(cd "$ROOT" && find "${folders[@]}" -maxdepth 2 \( -path '*/tests/*.rs' ! -path '*/tests/*/*' -o -name main.rs \) |
      sed 's#/main.rs$##; s#.*/##; s#\.rs$##; s#^#--test #' | tr '\n' ' ')"
  fi
}

# needs_of kind: what has to be there before it runs, besides programs and tests: packages of npm and of Python, a browser,
# servers, the built worker, the documents that a proxy in direct mode serves, and the receiver of webhooks.
needs_of() {
  case $1 in
    unit | property | simulation | doc | tools | fuzz) ;;
    contract) echo npm ;;
    proxy | proxy-pingora) echo servers documents ;;
    package) echo npm python servers worker documents ;;
    edge | end-to-end) echo npm python servers worker documents receiver ;;
    chaos | load) echo npm servers worker documents ;;
    browser | lighthouse) echo npm browser worker documents ;;
    web) echo npm ;;
    *) echo npm python worker documents ;;
  esac
}

# needs thing: whether a kind that is to run needs it.
needs() { [[ " $NEEDS " == *" $1 "* ]]; }

# kinds_of file: the kinds that a change of the file can affect. `contract` reads all sources. A file that is not named here can
# affect every kind.
kinds_of() {
  case $1 in
    # The web app of the console, and the script of the reference: the edge serves them, the proxy the first, and no program has them.
    portal/web/*) echo contract web proxy edge browser lighthouse ;;
    portal/assets/*) echo unit contract edge end-to-end browser lighthouse package ;;
    portal/*) echo unit property doc contract edge end-to-end load openapi schemathesis mcp clients web browser lighthouse package ;;
    biolink/*) echo unit property simulation doc contract edge end-to-end openapi schemathesis mcp clients browser lighthouse ;;
    # The limiter of the edge: no program of the proxy asks for a lease.
    shared/src/lease_cache*) echo unit property simulation doc contract edge end-to-end chaos ;;
    # What only tools say of themselves.
    shared/src/catalog*) echo unit property doc contract proxy edge end-to-end openapi mcp clients browser ;;
    proxy/*) echo unit doc contract proxy proxy-pingora end-to-end chaos load package openapi schemathesis clients ;;
    edge-worker/* | wrangler*.toml) echo unit doc contract edge end-to-end chaos load openapi schemathesis mcp clients browser lighthouse ;;
    loadtest/*) echo unit doc contract tools edge end-to-end load package ;;
    docs/* | *.md | conf/* | packaging/*) echo contract tools proxy edge end-to-end package ;;
    fuzz/*) echo fuzz ;;
    tests/edge/*) echo contract edge ;;
    tests/chaos/*) echo contract chaos ;;
    tests/end_to_end/*) echo contract end-to-end ;;
    tests/load/*) echo contract load ;;
    tests/package/*) echo contract package ;;
    tests/sim/*) echo contract simulation ;;
    tests/contract/*) echo contract ;;
    tests/browser/*) echo contract browser lighthouse ;;
    tests/clients/*) echo contract edge end-to-end openapi schemathesis mcp clients ;;
    *) echo "${KINDS[@]}" ;;
  esac
}

# The kinds that the files can affect which have changed since the commit CHANGED, new files included.
due_kinds() {
  local file files
  files=$(git diff --name-only --merge-base "$CHANGED" && git ls-files --others --exclude-standard)
  while read -r file; do
    if [[ -n $file ]]; then kinds_of "$file"; fi
  done <<<"$files" | tr ' ' '\n' | sort -u
}

# Whether this kind is to run.
is_due() {
  if [[ -n $KIND ]]; then [[ $KIND == "$1" ]]; else [[ -z $CHANGED || $'\n'$DUE$'\n' == *$'\n'"$1"$'\n'* ]]; fi
}

# kind name: runs one kind of tests with its output in a log, and notes how many passed and failed. A single kind shows its output
# while it runs.
kind() {
  local name=$1 status=0 passed failed ignored
  readonly NAME=$name
  if [[ -n $KIND ]]; then
    step "$name tests" "${name//-/_}_tests" 2>&1 </dev/null | tee "$LOGS/$name.log" || status=$?
    : >"$LOGS/$name.shown"
  else
    step "$name tests" "${name//-/_}_tests" >"$LOGS/$name.log" 2>&1 </dev/null || status=$?
  fi
  times >"$LOGS/$name.times"
  read -r passed failed ignored < <(count "$LOGS/$name.log")
  if ((ignored)); then
    echo "error $name: $ignored tests were skipped" >>"$LOGS/$name.log"
    failed=$((failed + ignored))
  fi
  if ((failed == 0 && (status != 0 || (passed == 0 && !${#FILTER})))); then
    echo "error $name: did not run to its end, or holds no test" >>"$LOGS/$name.log"
    failed=1
  fi
  echo "$passed $failed" >"$LOGS/$name.count"
}

# show_processor: the table of what the kinds and everything together cost, by what `times` says of the children of a shell. A kind
# whose steps took longer has waited.
show_processor() {
  local name
  printf '\nseconds of the processor of each kind\n'
  times >"$LOGS/in all.times"
  for name in "${KINDS[@]}" "in all"; do
    [[ -e $LOGS/$name.times ]] || continue
    awk -v name="$name" 'NR == 2 { split($1 $2, parts, "[ms]"); printf "%6d  %s\n", 60 * (parts[1] + parts[3]) + parts[2] + parts[4], name }' "$LOGS/$name.times"
  done
}

# failures log: what the log of a kind names as failed, by the words of each runner: cargo's, node's (TAP and spec), vitest,
# pytest, and schemathesis, which has a section with a heading for each operation and its reasons. If nothing is named, what the
# scripts say of it.
failures() {
  local names
  names=$(awk '
    /^test .* \.\.\. FAILED$/ { sub(/^test /, ""); sub(/ \.\.\. FAILED$/, ""); print }
    /^ *not ok [0-9]+ - / { sub(/^ *not ok [0-9]+ - /, ""); print }
    /^ *✖ .* \([0-9.]+ms\)$/ { sub(/^ *✖ /, ""); sub(/ \([0-9.]+ms\)$/, ""); print }
    /^ FAIL  |^(FAILED|ERROR) [^ ]+::/ { sub(/^ *[A-Z]+ +/, ""); print }
    /^=+ [A-Z ]+ =+$/ { section = $2 }
    section ~ /^(FAILURES|ERRORS)$/ && (/^_+ .* _+$/ || /^- /) { gsub(/^_+ | _+$/, ""); print }' "$1" | awk '!seen[$0]++ || /^- /')
  if [[ -z $names ]]; then names=$(grep '^error ' "$1" | sed 's/^error //'); fi
  printf '%s\n' "$names"
}

# show_failures: for each kind, the first names of what failed and did not pass alone. They stand near the end, which is what a
# record of a run keeps.
show_failures() {
  local name passed failed
  for name in "${KINDS[@]}"; do
    if ! read -r passed failed 2>/dev/null <"$LOGS/$name.count" || ((failed == 0)); then continue; fi
    printf '\nfailed: %s\n' "$name"
    failures "$LOGS/$name.log" | grep -vxF -f <(printf '%s\n' "${UNSTEADY[@]#* }" | grep .) |
      awk '++count <= 10 { print "  " substr($0, 1, 200) } END { if (count > 10) print "  and " count - 10 " more" }' || true
  done
}

# Shows the logs of the kinds that have ended, each once.
show_ended() {
  local name
  for name in "${KINDS[@]}"; do
    if [[ -e $LOGS/$name.count && ! -e $LOGS/$name.shown ]]; then
      cat "$LOGS/$name.log"
      : >"$LOGS/$name.shown"
    fi
  done
}

# Does what only computes, one after the other and at a low priority: a third kind at a time, which takes the processor while the
# other two wait for something and leaves it to them when they need it.
compute() {
  local name
  renice -n 10 "$BASHPID" >/dev/null
  # The kind itself says what is wrong with a target that cannot be built.
  if [[ -z $KIND ]] && is_due fuzz; then COMPILE=only fuzz_tests >/dev/null 2>&1 </dev/null || true; fi
  for name in "${COMPUTING[@]}"; do
    if is_due "$name"; then (kind "$name"); fi
  done
}

# The number of kinds that run, without what `compute` does.
running() { jobs -rp | grep -cvx "${COMPUTE:-}"; }

# kinds at_once name…: runs those of these kinds that are due, in their order and so many at a time.
kinds() {
  local at_once=$1 name
  shift
  for name in "$@"; do
    is_due "$name" || continue
    while (($(running) >= at_once)); do
      wait -n || true
      show_ended
    done
    kind "$name" &
  done
  wait
  show_ended
}

# Runs the tests that failed once more, with nothing beside them: two cores make some wait longer than they may. One that passes
# now counts as passed, and the closing lines name it as unsteady: it is a defect, and no reason to refuse a change. More than a
# handful are a reason, and each of them stays failed. A kind whose runner names no test to repeat is repeated as a whole.
run_again() {
  local name transport folder binary test number passed failed
  if (($(wc -l <"$FAILED") > 5)); then return; fi
  while IFS=$'\t' read -r name transport folder binary test number; do
    step "$name: running $test again" run_test "$transport" "$folder" "$binary" "$test" </dev/null || continue
    read -r passed failed <"$LOGS/$name.count"
    echo "$((passed + number)) $((failed - number))" >"$LOGS/$name.count"
    UNSTEADY+=("$name $test")
  done <"$FAILED"
  for name in schemathesis clients openapi mcp; do
    if [[ -n $KIND || ! -e $LOGS/$name.count ]]; then continue; fi
    read -r passed failed <"$LOGS/$name.count"
    if ((failed == 0 || failed > 5)); then continue; fi
    (kind "$name")
    cat "$LOGS/$name.log"
    if [[ $(cat "$LOGS/$name.count") == *" 0" ]]; then UNSTEADY+=("$name"); fi
  done
}

# run_test transport|browser folder binary|file test: runs one test of a binary, or of a file of node's runner with those in it.
run_test() {
  local pattern
  cd "$2"
  if [[ $1 != browser ]]; then
    UTG_TEST_TRANSPORT=$1 "$3" --exact "$4"
    return
  fi
  # shellcheck disable=SC2001,SC2016 # a class of characters, none of which is to be expanded
  pattern=$(sed 's#[][\\.*^$()+?{}|/]#\\&#g' <<<"$4")
  # Without a test of this name the runner has nothing to complain of.
  node --test --test-reporter=tap --test-name-pattern="^$pattern" "$3" | tee "$LOGS/again.out" && grep -q '^# pass [1-9]' "$LOGS/again.out"
}

prepare_tools() {
  if needs npm; then "$here/npm.sh"; fi
  if needs browser; then "$here/browser.sh"; fi
  if needs python; then "$here/python.sh"; fi
}

cd "$ROOT"
mkdir -p "$LOGS"
note_steps "$LOGS/seconds.txt"
if [[ -n $KIND && " ${KINDS[*]} " != *" $KIND "* ]]; then fail "there is no kind of test named \`$KIND\`"; fi
DUE=""
if [[ -n $CHANGED ]]; then DUE=$(due_kinds); fi
readonly DUE
rm -f "$LOGS"/*.{log,count,shown,out,times}
: >"$FAILED"
UNSTEADY=()
NEEDS=$(for name in "${KINDS[@]}"; do if is_due "$name"; then needs_of "$name"; fi; done | tr '\n' ' ')
readonly NEEDS
NPM=later "$here/setup.sh"
if needs servers; then "$here/system-packages.sh" servers; fi
# The worker's last steps have one thread, and the tools are downloaded.
status=0
beside prepare_tools
if needs worker; then COMPILE=only beside "$here/build-edge.sh"; fi
step "building the programs and their tests" build_tests || status=1
join_beside || status=1
((status == 0)) || fail "nothing was tested"
# What only computes needs nothing of what follows, which has one thread. It begins no other kind if that fails.
if ((AT_ONCE > 1)); then
  compute &
  COMPUTE=$!
  trap 'kill "$COMPUTE" 2>/dev/null || true' EXIT
fi
if needs worker; then PROGRAMS=$TARGET_DIR/debug "$here/build-edge.sh"; fi
if needs documents; then write_documents "$TARGET_DIR/debug"; fi

if ((AT_ONCE > 1)); then
  kinds "$AT_ONCE" "${SIDE_BY_SIDE[@]}"
else
  kinds 1 "${SIDE_BY_SIDE[@]}" "${COMPUTING[@]}"
fi
run_again

show_steps
show_processor
show_failures
passed_in_all=0
failed_in_all=0
echo
for name in "${KINDS[@]}"; do
  is_due "$name" || continue
  # A kind without a count was ended from outside.
  read -r passed failed < <(cat "$LOGS/$name.count" || echo 0 1)
  passed_in_all=$((passed_in_all + passed))
  failed_in_all=$((failed_in_all + failed))
  echo "$name $passed passed, $failed failed"
done
for name in "${UNSTEADY[@]}"; do echo "unsteady: $name failed beside others and passed alone"; done
if [[ -n $FILTER ]] && ((passed_in_all + failed_in_all == 0)); then fail "there is no test whose name holds \`$FILTER\`"; fi
echo "$passed_in_all passed, $failed_in_all failed"
((failed_in_all == 0))
