# The verbs of the project. `make` alone lists them; every workflow step is one of these targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

TRIPLE := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
BIN_DIR := $(TARGET_DIR)/$(TRIPLE)/release
RUNNER := $(BIN_DIR)/bench-runner
SERVER := $(BIN_DIR)/plumbkv
DATABASE := $(abspath $(TARGET_DIR))/plumbkv-results.sqlite
# One static build serves native runs, the image and the runner: the file in the image is the file that runs natively.
STATIC := RUSTFLAGS='-C target-feature=+crt-static' cargo build --locked --release --target $(TRIPLE)
STATIC_BENCH := RUSTFLAGS='-C target-feature=+crt-static' cargo bench --locked --target $(TRIPLE)
DRIVERS := $(addprefix -p plumbkv-driver-,plumbkv redb fjall sqlite postgres axum)
# Those that take long to compile: RocksDB's C++ alone is 20 to 40 minutes of one CPU.
# The newest kevy that this Rust compiles: later ones need 1.97.
KEVY := kevy@3.17.3
RIVALS := $(addprefix -p plumbkv-driver-,rocksdb lmdb)
PROFILE ?= quick
BENCH = RUNNER=$(RUNNER) SERVER=$(SERVER) PROFILE=$(PROFILE) TARGET_DIR=$(TARGET_DIR) SITE_URL=$(SITE_URL) .ci/bench
# What the gate is asked and where its verdict lies; workflows give these by environment, and recipes quote them.
BASE ?= main
HEAD ?= HEAD
BUDGET ?= 20m
GATE_OUT ?= target/bench-gate
ARTIFACT ?= $(GATE_OUT)/gate.json
COMMENT ?= $(GATE_OUT)/pull-request.md
SLICE ?= 60m
CASES ?=
MEASURE_IDENTICAL ?=
export BASE HEAD BUDGET GATE_OUT ARTIFACT COMMENT SLICE MEASURE_IDENTICAL
ACTIONLINT := v1.7.12
SITE_URL := http://127.0.0.1:8370

.PHONY: help setup build drivers rivals bench bench-all components test test-rust test-model test-shuttle simulate mutants test-repeat package fuzz test-drivers test-rivals kill-drivers test-python test-smoke test-site compat cap crosscheck faults cold torture generator costs site readme serve server fmt lint image image-binary image-from-source toolchain clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: ## Install what the tests need (Debian/Ubuntu packages, Node and Python packages) and say what was done
	@.ci/setup test

build: ## Build the server and the runner, static and optimised
	@$(STATIC) -p plumbkv-server -p plumbkv-bench-runner

runner:
	@$(STATIC) -p plumbkv-bench-runner

drivers: ## Build the programs that drive embedded engines and PostgreSQL (a few minutes)
	@$(STATIC) $(DRIVERS)

rivals: ## Build the drivers of all embedded rivals, RocksDB and LMDB too, and the server kevy (20 to 40 minutes of one CPU, once)
	@.ci/setup rivals
	@$(STATIC) $(DRIVERS) $(RIVALS)
	@cargo install --quiet $(KEVY) --locked --root $(TARGET_DIR)/rivals

bench: ## Measure the server beside Redis here, and build the pages: 10 minutes; 20 if nothing is compiled yet
	@$(BENCH) core

bench-all: ## Measure everything here: all scenarios, all rivals found, the parts of the store (over an hour)
	@$(BENCH) all

components: ## Run the criterion benchmarks of all parts, beside like parts of other libraries, into target/criterion (15 minutes)
	@rm -rf $(TARGET_DIR)/criterion
	@CRITERION_HOME=$(abspath $(TARGET_DIR))/criterion $(STATIC_BENCH) -p plumbkv-components -p plumbkv-resp --quiet 2>&1 | grep -E '^[a-z-]+/[^ ]+$$|time:|error|panicked' || { echo 'components: the criterion benchmarks gave no estimate' >&2; exit 1; }

test: setup fmt-check clippy lint-docs build-beside-site test-rust test-shuttle simulate test-scripts test-python compat test-smoke test-browser ## Everything that must hold: format, lints, unit, property, integration, orders of threads, smoke, site
	@echo "make test: all parts passed"

.PHONY: build-beside-site site-checked test-browser runner gate gate-verdict gate-artifact gate-comment gate-post bless second-repository valgrind calibrate count-identical rehearse machine-check propose
.PHONY: fmt-check clippy lint-docs deny actionlint zizmor lint-tools test-scripts image-push image-index
fmt-check:
	@cargo fmt --all --check

clippy:
	@cargo clippy --locked --all-targets -- -D warnings
	@cargo clippy --locked -p plumbkv --no-default-features -- -D warnings
	@cargo clippy --locked -p plumbkv --features parts -- -D warnings
	@for fuzzer in engine/*/fuzz; do cargo metadata --locked --format-version 1 --manifest-path $$fuzzer/Cargo.toml >/dev/null || \
	{ echo "$$fuzzer/Cargo.lock is stale: run 'cargo update --workspace' in that folder" >&2; exit 1; }; done

test-rust: ## Unit, property and integration tests of the workspace; those of the server over both back ends, and on a store in a directory
	@cargo test --locked
	@TEST_IO=epoll cargo test --locked --test wire
	@TEST_STORE=durable cargo test --locked --test wire

test-repeat: ## The Rust tests RUNS=10 times: alone, beside a busy CPU, on one CPU; ARGS="-p plumbkv --test resident" chooses tests
	@.ci/repeat $(or $(RUNS),10) $(ARGS)

test-scripts: ## The workflows' scripts: tables of cases
	@.ci/test-scripts | grep -v '^ok: '

test-model: ## The durable store beside a sorted map and fjall, on random steps: PROPTEST_CASES=60; builds fjall
	@cargo test --locked -p plumbkv-model

test-shuttle: ## Orders of threads, drawn at random: a memtable that is read and written, and writers that commit together; under a minute when it is built
	@RUSTFLAGS='--cfg shuttle' CARGO_TARGET_DIR=$(TARGET_DIR)/shuttle cargo test --locked -p plumbkv --lib shuttle

simulate: ## The whole durable store under simulated threads, disk, clock, faults and power cuts: SEEDS=2000 from FROM=0 on; SEED=n tells one step by step
	@RUSTFLAGS='--cfg shuttle' CARGO_TARGET_DIR=$(TARGET_DIR)/shuttle $(if $(SEED),SIMULATE_SEED=$(SEED)) SIMULATE_FROM=$(or $(FROM),0) SIMULATE_SEEDS=$(or $(SEEDS),2000) \
	cargo test --locked -p plumbkv --lib simulation:: -- --nocapture

mutants: ## Break the durable store in one place after the other: which of SEEDS=20000 simulations finds each? NAMES="..." chooses; about an hour
	@.ci/mutants $(or $(SEEDS),20000) $(NAMES)

package: ## Pack the store as a crate, and build the README's example against what was packed
	@.ci/package

fuzz: ## Fuzz what reads files, scripts, and rules of users, SECONDS=60 for each of TARGETS="record block index filter edit calls script conversion acl", without cargo-fuzz
	@.ci/fuzz $(or $(SECONDS),60) $(TARGETS)

test-drivers: ## Lints and tests of the drivers: every engine reads back what it was given
	@cargo clippy --locked $(DRIVERS) --all-targets -- -D warnings
	@cargo test --locked $(DRIVERS)

test-rivals: ## The same for RocksDB and LMDB; CI never compiles these. Optimised, so that one compilation serves build, lints and tests
	@.ci/setup rivals
	@$(subst cargo build,cargo clippy,$(STATIC)) $(RIVALS) --all-targets -- -D warnings
	@$(subst cargo build,cargo test,$(STATIC)) $(RIVALS)

kill-drivers: ## Kill each embedded engine CYCLES=100 times in the middle of its writes: is what it acknowledged there? Needs `make rivals`
	@for engine in plumbkv rocksdb fjall redb lmdb sqlite; do folder=$$(mktemp -d -p $(TARGET_DIR)); failed=; \
	$(BIN_DIR)/plumbkv-driver-$$engine --kill-test $(or $(CYCLES),100) "$$folder" || failed=1; rm -rf "$$folder"; [ -z "$$failed" ]; done

test-python: build ## redis-py against the real server
	@.ci/with-server $(SERVER) .venv/bin/python engine/server/tests/python/test_redis_py.py
	@.ci/with-server $(SERVER) .venv/bin/python engine/server/tests/python/test_redis_asyncio.py

test-smoke: build ## The smoke profile through the real binary and a real container; what `make bench` takes
	@$(BENCH) --check
	@.ci/smoke $(RUNNER) $(SERVER)

test-site: site-checked test-browser ## Unit tests, build and browser tests of the site

# The optimised build ends with one crate on one CPU; meanwhile the other one checks and builds the site.
build-beside-site:
	@mkdir -p $(TARGET_DIR); $(MAKE) --no-print-directory site-checked >$(TARGET_DIR)/site-checked.log 2>&1 & site=$$!; \
	$(MAKE) --no-print-directory build || { kill $$site; exit 1; }; \
	wait $$site || { cat $(TARGET_DIR)/site-checked.log >&2; exit 1; }

site-checked:
	@.ci/setup site browser
	@cd website && npm run --silent typecheck && npm test --silent && npm run --silent build

test-browser:
	@cd website && npm run --silent e2e

compat: setup build ## redis-benchmark, redis-cli and redis-py find the same as in redis-server: both back ends, and a container without io_uring
	@.ci/compat $(SERVER)

crosscheck: build ## Compare our load generator with redis-benchmark and wrk on the same cells
	@.ci/crosscheck $(RUNNER) $(SERVER)
	@.ci/crosscheck-http $(RUNNER)

cap: ## Peak memory beside the cap under everything that makes it grow: 2, 64, 512 MiB, every policy, SECONDS=60 each, both back ends
	@for io in epoll auto; do echo "io $$io"; TEST_IO=$$io PLUMBKV_CAP_SECONDS=$(or $(SECONDS),60) cargo test --locked --release -p plumbkv-server --test wire cap:: -- --nocapture; done

faults: ## What badly behaved clients do to a release build: full numbers, both back ends, latency beside them judged
	@failed=; for io in epoll auto; do echo "faults: --io $$io"; PLUMBKV_FAULTS=full TEST_IO=$$io \
	cargo test --locked --release -p plumbkv-server --test wire -- faults:: backpressure:: restart:: transactions:: --test-threads=1 --nocapture || failed=1; done; \
	[ -z "$$failed" ]

torture: ## Kill a durable store CYCLES=5000 times in the middle of its writes: release build; counts, seed and versions go to engine/store/docs/torture.log
	@PLUMBKV_TORTURE=$(or $(CYCLES),5000) PLUMBKV_TORTURE_LOG=$(abspath engine/store/docs/torture.log) \
	PLUMBKV_TORTURE_ABOUT=", commit $$(git rev-parse --short=12 HEAD), $$(rustc -V | cut -d' ' -f1-2), $$(uname -srm), $$(df --output=fstype $(or $(wildcard $(TARGET_DIR)),.) | tail -1), $$(nproc) CPUs" \
	cargo test --locked --release -p plumbkv --test kill -- --nocapture
cold: ## A client that asks for one key while another reads a store that is in no cache: release build, both back ends, p99 judged (< 1 ms); sixteen are printed
	@PLUMBKV_COLD=full cargo test --locked --release -p plumbkv-server --test wire cold:: -- --nocapture


costs: build ## What scripts, transactions and TLS cost beside redis-server: CPU time of the server for each request, with their bounds
	@.ci/costs $(SERVER) $(ROUNDS)

generator: build ## What our load generator costs per request, beside redis-benchmark's
	@.ci/generator $(RUNNER)

gate: runner ## Is HEAD slower than where it left BASE? BUDGET=20m; MEASURE_IDENTICAL=1 measures equal programs, too; verdict in target/bench-gate
	@BENCH_GATE_BASE="$$BASE" BENCH_GATE_HEAD="$$HEAD" BENCH_GATE_BUDGET="$$BUDGET" BENCH_GATE_OUT="$$GATE_OUT" \
	BENCH_GATE_MEASURE_IDENTICAL="$$MEASURE_IDENTICAL" BENCH_GATE_RUNNER="$(abspath $(RUNNER))" .github/actions/bench-gate/gate.sh

gate-verdict: ## Fail unless the gate's verdict, or an accepted override, lets the change in
	@mkdir -p "$$GATE_OUT" && .ci/pull >"$$GATE_OUT/pull.json"
	@pull="$$GATE_OUT/pull.json"; [ -s "$$pull" ] || pull=; .ci/verdict "$$GATE_OUT/gate.json" $${pull:+"$$pull"}

gate-artifact: ## Hosted CI only: fetch the artifact of the gate's run RUN_ID to ARTIFACT
	@.ci/fetch-artifact

gate-comment: runner ## Turn a gate's verdict (ARTIFACT, json or zip) into the comment COMMENT
	@mkdir -p "$$(dirname "$$COMMENT")"
	@$(RUNNER) comment "$$ARTIFACT" $${HEAD_SHA:+--head-commit "$$HEAD_SHA"} --out "$$COMMENT"

gate-post: ## Hosted CI only: put COMMENT on the pull request whose head is HEAD_SHA
	@.ci/post-comment

bless: runner ## Write down the loss that pull request PULL was let in with (ARTIFACT of its gate); DAYS=90
	@.ci/bless "$(abspath $(RUNNER))"

calibrate: runner ## Measure how often the gate errs, one SLICE=60m; goes on where the last one ended
	@$(RUNNER) calibrate --slice "$$SLICE"

count-identical: runner ## Hosted CI only: add the gates of unchanged programs that pull requests have measured to the calibration
	@.ci/count-identical "$(abspath $(RUNNER))"

rehearse: ## The gate's and the comment's steps on made-up changes in a clone; CASES="docs spin" chooses
	@.ci/rehearse $(CASES)

second-repository: runner ## Guard a toy server in a temporary repository, following only docs/guarding.md
	@.ci/second-repository "$(abspath $(RUNNER))"

machine-check: runner ## Is this machine fit to have its results kept? Says what to change, and why
	@$(RUNNER) machines check

propose: runner ## Hosted CI only: make a pull request of what was measured
	@.ci/propose "$(abspath $(RUNNER))"

site: ## Build the site from results/ into website/build; with a built runner, offer the records as a database
	@.ci/setup site
	@if [ -x $(RUNNER) ]; then $(RUNNER) db rebuild --out $(DATABASE); export PLUMBKV_DATABASE=$(DATABASE); \
	else echo "site: no runner is built ('make build'), so the pages offer no database"; fi; \
	cd website && npm run --silent build

readme: ## Write the README's chart, claims and table from the stored results
	@.ci/setup site
	@cd website && npm run --silent readme

serve: ## Serve the built site
	@test -d website/build || { echo "serve: the site is not built yet; run 'make site'" >&2; exit 1; }
	@echo "$(SITE_URL)/" && cd website && npm run --silent serve -- --host 127.0.0.1 --port 8370 --no-open

server: build ## Run the server on 127.0.0.1:6379
	@$(SERVER) serve

fmt: ## Format the sources
	@cargo fmt --all

lint: fmt-check clippy lint-docs deny actionlint zizmor test-scripts ## Format, clippy, documents, licences and sources of dependencies, workflows

lint-docs: ## Stale sentences, typed figures and unknown names in the documents
	@.ci/lint-docs

deny:
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check licenses bans sources; \
	else echo "lint: cargo-deny is not installed, licences not checked (cargo install cargo-deny --locked)"; fi

actionlint:
	@if tool=$$(command -v actionlint || ls "$$(go env GOPATH 2>/dev/null)/bin/actionlint" 2>/dev/null); then "$$tool"; \
	else echo "lint: actionlint is not installed, workflows not checked (go install github.com/rhysd/actionlint/cmd/actionlint@latest)"; fi

zizmor:
	@if tool=$$(ls .venv/bin/zizmor 2>/dev/null || command -v zizmor); then "$$tool" --quiet --offline .github; \
	else echo "lint: zizmor is not installed, workflows not audited (make setup)"; fi

lint-tools: ## Hosted CI only: what checks workflows, where `make setup` does not run
	@python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check -r .ci/requirements.txt
	@go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT)

image-binary: ## The static server binary that an image takes, in docker/build/
	@$(STATIC) -p plumbkv-server
	@mkdir -p docker/build && cp $(SERVER) docker/build/plumbkv

image: image-binary ## Build the image from the prebuilt static binary (podman or docker)
	@runtime=$$(command -v podman || command -v docker) || { echo "image: neither podman nor docker is installed" >&2; exit 1; }; \
	format=(); [ "$$(basename "$$runtime")" = podman ] && format=(--format docker); \
	"$$runtime" build "$${format[@]}" --pull=never --target prebuilt -f docker/server.Dockerfile -t plumbkv -t plumbkv:$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1) docker/build

image-from-source: ## Build the image from a clone, compiling inside it (needs an image registry)
	@runtime=$$(command -v docker || command -v podman) || { echo "image: neither docker nor podman is installed" >&2; exit 1; }; \
	"$$runtime" build --target server -f docker/server.Dockerfile -t plumbkv:source .

image-push: image-binary ## Hosted CI only: push this architecture's image by digest
	@.ci/image-push

image-index: ## Hosted CI only: make one index of the pushed digests
	@.ci/image-index

toolchain: ## Hosted CI only: install the Rust that Cargo.toml names, and make it the default
	@version=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	rustup toolchain install "$$version" --profile minimal --component clippy,rustfmt && rustup default "$$version"

valgrind: ## Hosted CI only: install valgrind, with which the gate counts instructions
	@command -v valgrind >/dev/null || { sudo apt-get update -qq && sudo apt-get install -yqq --no-install-recommends valgrind; }

clean: ## Remove what was built (results/ stays)
	@rm -rf $(TARGET_DIR) website/build website/.docusaurus docker/build
