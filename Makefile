# The project's commands. Each is a script of its own in scripts/, and does only what is missing or has changed.
.DEFAULT_GOAL := help
.PHONY: help run run-direct build test check audit fuzz mutants coverage bench bench-proxy bench-peers bench-edge bench-path bench-cold-start sim costs chaos soak load dist clean-data

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## install what is missing, build, and run demo tools, proxy and edge on this machine
	@scripts/run.sh

run-direct: ## the same without an edge: the proxy serves clients and issues keys itself; AUTHORITY=valkey: limits in a Valkey
	@scripts/run.sh --direct

build: ## target/release/proxy, target/release/loadtest and the worker in edge-worker/build
	@scripts/build.sh

test: ## the whole suite, or a part: KIND=proxy FILTER=waits, or CHANGED=main (CONTRIBUTING.md lists the kinds)
	@scripts/test.sh

check: ## formatting, clippy for this machine and for wasm, documentation, licenses; warnings are errors
	@scripts/check.sh

audit: ## what make check asks of dependencies, and known vulnerabilities (fetches the advisory database)
	@scripts/audit.sh

fuzz: ## fuzz targets on their seeds and 10 s each on new inputs (TIME=60 TARGET=routes; CONTRIBUTING.md tells of them)
	@scripts/fuzz.sh

mutants: ## small changes of the deciding modules, each of which a test must find (FILTER=shared/src/meter SHARD=0/3)
	@scripts/mutants.sh

coverage: ## lines of shared and biolink that tests run; fails below GOAL=95 percent
	@scripts/coverage.sh

bench: ## micro-benchmarks of keys and quotas
	cargo bench --locked -p shared

bench-proxy: ## what a call costs the proxy, next to bare Pingora, nginx, HAProxy, Caddy and Envoy (BENCH="--help" tells its options)
	@scripts/bench-proxy.sh

bench-peers: ## the same in one table; installs nginx, HAProxy, Caddy and Envoy where missing (BENCH=--instructions)
	@scripts/bench-peers.sh

bench-edge: ## what calls and reports cost the worker, next to JavaScript workers (BENCH="other=<checkout>" compares builds)
	@scripts/build-edge.sh
	@scripts/build-edge.sh tests/bench/floor
	scripts/with-node.sh node tests/bench/edge.mjs $(BENCH)
	scripts/with-node.sh node tests/bench/analytics.mjs

bench-path: ## what a call costs edge and proxy together, next to a JavaScript worker and nginx (BENCH="--rounds 15")
	@scripts/bench-path.sh

bench-cold-start: ## how long the worker takes to its first response, next to another commit's (BASE=<commit>, ROUNDS=41)
	@scripts/bench-cold-start.sh

sim: ## the simulators of limiter and exchange (SIM_SEED=n: one random world; TIME=60: random worlds of the objects; MUTANTS=1: faults)
	@if [ -n "$(TIME)" ]; then cargo test --locked --release -p tests --test sim -- --nocapture random_world_of_objects; \
	elif [ -n "$(MUTANTS)" ]; then scripts/with-node.sh node scripts/sim-mutants.mjs; \
	else cargo run --locked --release -p tests --bin sim && cargo test --locked -p transport --lib -- --nocapture exchange_keeps; fi

costs: ## what requests without a key or with a Free key cost in operations and dollars; renews the table in docs/edge.md
	@scripts/build-edge.sh
	cargo run --locked -p tests --bin costs

chaos: ## faults on the real stack under load, ten minutes, with balanced books (SEED=n plays one run again, TIME=60)
	@scripts/chaos.sh

soak: ## the same for two hours without kills, with the slopes of memory, descriptors, latencies and state (TIME=600)
	@scripts/chaos.sh soak

load: ## a tour of the load tests in one minute; leaves target/load/report.html (LOAD takes options of `loadtest run`)
	@scripts/load.sh

dist: ## a release in target/dist: tarball, Debian package, licenses, SBOM, checksums
	@scripts/dist.sh

clean-data: ## forget local keys, counters, pages and logs (.data); secrets stay
	rm -rf .data
