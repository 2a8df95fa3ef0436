#!/usr/bin/env bash
# `make test`: the whole suite, kind by kind. The last lines count the tests of each kind; the very last one counts them all.
# Fails if a test fails, if a kind could not be run, and if a kind has no tests.
# KIND=proxy runs one kind, and FILTER=waits only those of its tests whose names hold that: no other test counts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/lib.sh"

readonly LOGS=$TARGET_DIR/test-logs
readonly BINARIES=$LOGS/binaries.tsv
readonly KIND=${KIND:-} FILTER=${FILTER:-}
passed_in_all=0
failed_in_all=0
summary=()

# The sums of what the test runners count: cargo's `test result:` lines, the closing lines of node's runner and of pytest, and
# what schemathesis says of each phase (operations; what it skips there has no example or no link, and is no test). Tests that
# FILTER leaves out are none that were skipped.
count() {
  awk '
    /^test result:/          { passed += $4; failed += $6; ignored += $8 }
    /^(#|ℹ) pass /           { passed += $3 }
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

# Builds all test binaries at once: package by package, cargo would build their dependencies anew for each set of features.
# The receiver of webhooks is a workspace of its own.
build_tests() {
  cargo test --locked --workspace --no-run --message-format=json-render-diagnostics >"$LOGS/build.json" &&
    node "$here/test/binaries.mjs" <"$LOGS/build.json" >"$BINARIES" &&
    CARGO_TARGET_DIR=$TARGET_DIR cargo build --locked --manifest-path "$ROOT/tests/clients/webhooks/rust/Cargo.toml"
}

# skipped: the `--skip` options for the transport under test (tests/src/transport.rs). The relay runs every test. Another one leaves
# out the tests that the table of differences names in its fourth column.
skipped() {
  local tests
  if [[ ${UTG_TEST_TRANSPORT:-relay} == relay ]]; then return; fi
  tail -n +2 "$ROOT/tests/vectors/transports.tsv" | cut -f 4 | while read -ra tests; do
    if ((${#tests[@]})); then printf -- '--skip\n%s\n' "${tests[@]}"; fi
  done
}

# run_binaries pattern: runs the test binaries whose `package kind name` matches, all of them whatever happens.
run_binaries() {
  local package target name binary folder status=0 skip
  mapfile -t skip < <(skipped)
  while IFS=$'\t' read -r package target name binary folder; do
    [[ "$package $target $name" =~ ^($1)$ ]] || continue
    printf '\n      %s, %s %s\n' "$package" "$target" "$name"
    (cd "$folder" && "$binary" ${FILTER:+"$FILTER"} "${skip[@]}") </dev/null || status=1
  done <"$BINARIES"
  return "$status"
}

# The same for the proxy's other transport.
on_pingora_proxy() {
  UTG_TEST_TRANSPORT=pingora-proxy run_binaries "$@"
}

# Runs the examples in doc comments: rustdoc compiles those of a crate into one program. The features are those of the other
# kinds, so that no dependency is built again.
doc_tests() {
  cargo test --locked --workspace --doc --no-fail-fast ${FILTER:+-- "$FILTER"} </dev/null
}

# What a release consists of, made of the programs of this build.
package_tests() {
  "$here/cargo-tools.sh"
  run_binaries 'tests test package'
}

# kind name command…: runs one kind of tests and notes the outcome; goes on whatever it is.
kind() {
  local name=$1 status=0 passed failed ignored
  shift
  if [[ -n $KIND && $KIND != "$name" ]]; then return; fi
  step "$name tests" "$@" 2>&1 | tee "$LOGS/$name.log" || status=$?
  read -r passed failed ignored < <(count "$LOGS/$name.log")
  if ((ignored)); then
    echo "error $name: $ignored tests were skipped"
    failed=$((failed + ignored))
  fi
  if ((failed == 0 && (status != 0 || (passed == 0 && !${#FILTER})))); then
    echo "error $name: did not run to its end, or holds no test"
    failed=1
  fi
  passed_in_all=$((passed_in_all + passed))
  failed_in_all=$((failed_in_all + failed))
  summary+=("$name $passed passed, $failed failed")
}

# The clients that are generated in each language, all of them whatever happens.
generated_clients() {
  local language status=0
  for language in typescript python rust; do "$here/clients.sh" "$language" || status=1; done
  return "$status"
}

cd "$ROOT"
mkdir -p "$LOGS"
"$here/setup.sh"
"$here/browser.sh"
"$here/python.sh"
"$here/build-edge.sh"
write_documents "$TARGET_DIR/debug"
write_documents "$TARGET_DIR/debug"
step "building the programs and their tests" build_tests

kind unit run_binaries '[^ ]+ (lib|bin) [^ ]+'
kind doc doc_tests
kind property run_binaries 'shared test [^ ]+'
kind simulation run_binaries 'tests test sim'
kind contract run_binaries 'tests test contract'
kind tools run_binaries 'loadtest test [^ ]+'
kind proxy run_binaries 'proxy test [^ ]+'
kind proxy-pingora on_pingora_proxy 'proxy test it'
kind edge run_binaries 'tests test edge'
kind end-to-end run_binaries 'tests test end_to_end'
kind load run_binaries 'tests test load'
kind package package_tests
kind openapi "$here/clients.sh" lint
kind schemathesis "$here/clients.sh" schemathesis
kind mcp "$here/clients.sh" mcp
kind clients generated_clients
kind browser node --test ${FILTER:+--test-name-pattern="$FILTER"} tests/browser/*.test.mjs

if ((${#summary[@]} == 0)); then fail "there is no kind of test named \`$KIND\`"; fi
if [[ -n $FILTER ]] && ((passed_in_all + failed_in_all == 0)); then fail "there is no test whose name holds \`$FILTER\`"; fi
printf '%s\n' "" "${summary[@]}" "$passed_in_all passed, $failed_in_all failed"
((failed_in_all == 0))
