# Everything runs from this clone: the Python environment in .venv, jars and data under .build.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
KEEP ?= 0
DEMO_FLAGS := $(if $(filter-out 0,$(KEEP)),--keep) $(if $(PORTS),--ports $(PORTS))

.DEFAULT_GOAL := help
.PHONY: help install lock demo stop breaks bench readiness bench-assignors bench-brokers bench-streams bench-decode bench-waiting bench-start bench-growth bench-history bench-hostile fuzz sweep postgresql attack foreign share probing advised chaos oracle test test-of check audit metrics-page rooms picture clean

help:  ## list these targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install:  ## create .venv from requirements.lock and put the command at .venv/bin/rebalance-monitor
	@$(PYTHON) lab/install.py

demo: install  ## start Kafka, Connect, PostgreSQL and the job on loopback, break things, show the verdicts (KEEP=1 leaves it running)
	@exec $(BIN)/python -m lab.demo.play $(DEMO_FLAGS)

stop:  ## end a demo that was left running
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m lab.demo.kept; else echo "nothing is installed here, so nothing was left running"; fi

breaks: install  ## break six things on a cluster, and print what page, API, alerts and notifications say of each (about 12 min)
	@exec $(BIN)/python -m lab.demo.breaks $(ARGS)

bench: install  ## measure latency, drain, memory and idle CPU of the whole job; writes docs/benchmarks.md (ARGS="--quiet-s 60" is shorter)
	@exec $(BIN)/python -m lab.bench.job $(ARGS)

readiness: install  ## is the job ready while nothing is wrong, at 0 to 20,000 commits a second (ARGS="--seconds 600"; a soak: ARGS="--rates 150 --rebalances 6 --seconds 4200")
	@exec $(BIN)/python -m lab.readiness $(ARGS)

bench-assignors: install  ## time our assignors against Kafka's own class; writes docs/benchmarks-assignors.md (FAMILY=consumer: docs/benchmarks-consumers.md)
	@exec $(BIN)/python -m lab.bench.assigning.$(if $(filter consumer,$(FAMILY)),consumers,assignors)

bench-brokers: install  ## time our broker-side assignors against Kafka's own; writes docs/benchmarks-brokers.md
	@exec $(BIN)/python -m lab.bench.assigning.brokers

bench-streams: install  ## time our Streams assignor against Kafka's own class; writes docs/benchmarks-streams.md
	@exec $(BIN)/python -m lab.bench.assigning.streams

oracle: install  ## compare our assignors with Kafka's own on random inputs (FAMILY=connect|consumer|broker|streams RELEASE=3.2.3 SCENARIOS=1000 SEED=1)
	@exec $(BIN)/python -m lab.oracle.compare$(if $(filter consumer broker,$(FAMILY)),_$(FAMILY)s)$(if $(filter streams,$(FAMILY)),_streams) $(if $(RELEASE),--release $(RELEASE)) $(if $(SCENARIOS),--scenarios $(SCENARIOS)) $(if $(SEED),--seed $(SEED))

bench-waiting: install  ## time a batch while up to 12,000 records of its group wait (about 3 min)
	@exec $(BIN)/python -m lab.bench.waiting

bench-start: install  ## time the smallest commands beside an interpreter that does nothing
	@exec $(BIN)/python -m lab.bench.start

bench-growth: install  ## measure drains of growing loads, one dimension at a time; writes docs/sizing.md (about 10 min)
	@exec $(BIN)/python -m lab.bench.growth $(ARGS)

bench-history: install  ## what a generation takes in the database, and 40 days of a fleet in virtual time (about 15 min)
	@$(BIN)/python -m lab.bench.stored
	@exec $(BIN)/python -m lab.bench.month $(ARGS)

bench-hostile: install  ## what becomes of small groups while another load does its worst (about 8 min)
	@exec $(BIN)/python -m lab.bench.hostile $(ARGS)

bench-decode: install  ## measure decoding against kafka-python on one core; writes docs/benchmarks-decode.md
	@exec $(BIN)/python -m lab.bench.decoding.compared

fuzz: install  ## throw 200,000 damaged records at every decoder and 5,000 damaged captures at the fold (about 15 min)
	@RM_LONG=1 $(BIN)/pytest -q -s tests/schemas/test_fuzzing.py tests/schemas/test_memory.py tests/streaming/core/test_damaged_captures.py

sweep: install  ## every sweep of the unit tier at its full size (hours)
	@RM_LONG=1 exec $(BIN)/python -m lab.tiers unit $(ARGS)

postgresql: install  ## run the tests of the database on each supported version of PostgreSQL (about 20 min)
	@RM_LONG=1 exec $(BIN)/pytest -q tests/streaming/store/test_each_postgresql.py $(ARGS)

foreign: install  ## judge groups that clients of other languages lead: librdkafka, kafka-python, franz-go (needs Go; ARGS="--steps 14")
	@exec $(BIN)/python -m lab.foreign $(ARGS)

share: install  ## judge real share groups of Kafka's own clients on a broker (ARGS="--steps 14")
	@exec $(BIN)/python -m lab.share $(ARGS)

probing: install  ## judge Streams applications whose copies restore slowly, or never, on a broker (4 min; ARGS="--seconds 190")
	@exec $(BIN)/python -m lab.probing $(ARGS)

advised: install  ## what advise computes of another setting, against real clusters that have it (about 7 min; ARGS="--only range-to-cooperative")
	@exec $(BIN)/python -m lab.advised $(ARGS)

attack: install  ## judge captures and simulated clusters with wrong clocks, holes and late starts (at most an hour; resumes)
	@exec $(BIN)/python -m lab.attack $(ARGS)

chaos: install  ## kill parts of a running system, and count what is lost, doubled or wrong (20 min; as root with nft: cut networks, full disks, too; ARGS="--kills 200" resumes)
	@exec $(BIN)/python -m lab.chaos $(ARGS)

test: install  ## run every test, one line per tier (TIER=unit: one tier; ARGS="-x" goes to pytest)
	@exec $(BIN)/python -m lab.tiers $(TIER) $(ARGS)

test-of: install  ## run what a change in one folder needs, without the integration tier (ROOM=streaming/store ARGS="-x")
	@exec $(BIN)/python -m lab.room_tests $(ROOM) $(ARGS)

check: install  ## static checks: ruff, its format, mypy, import contracts
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

audit: install  ## ask OSV what is known against the locked packages; where it does not answer, verify the lock's hashes
	@exec $(BIN)/python -m lab.supply.audit

metrics-page: install  ## write docs/metrics.md anew, every series with a sample
	@$(BIN)/python -m tests.streaming.metrics.metrics_page

rooms: install  ## draw the rooms in docs/architecture.md anew, from the import contracts
	@$(BIN)/python -m tests.architecture.rooms

picture: install  ## make the pictures in docs anew: the page over replayed captures, by Chromium, and drawings of concepts
	@$(BIN)/python -m tests.web.concepts
	@$(BIN)/python -m tests.web.picture

lock:  ## resolve requirements.lock anew (needs uv on PATH)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q -o requirements.lock
	uv pip compile pyproject.toml --extra run --extra audit --extra dashboards --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q -c requirements.lock -o requirements-run.lock
	echo pip-audit | uv pip compile - --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q -o requirements-audit.lock

clean:  ## remove the environment, the jars and the demo's data
	rm -rf .venv .build .demo
