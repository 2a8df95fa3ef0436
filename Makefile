# The project's commands. Each is a script of its own in scripts/, and does only what is missing or has changed.
.DEFAULT_GOAL := help
.PHONY: help run build test check bench sim clean-data

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## install what is missing, build, and run demo tools, proxy and edge on this machine
	@scripts/run.sh

build: ## target/release/proxy, target/release/loadtest and the worker in edge-worker/build
	@scripts/build.sh

test: ## the whole suite: unit, property, simulation, contract, tools, proxy, edge in workerd, end to end, browser
	@scripts/test.sh

check: ## formatting, clippy with warnings denied, for this machine and for wasm
	@scripts/check.sh

bench: ## micro-benchmarks of keys and quotas
	cargo bench --locked -p shared

sim: ## the limiter's simulator: many isolates, losses, crashes and skewed clocks, in thousands of random worlds (SIM_SEED repeats one)
	cargo test --locked --profile local -p tests --test sim -- --nocapture

clean-data: ## forget local keys, counters, pages and logs (.data); secrets stay
	rm -rf .data
