# Every command a person or CI needs. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# Images often set it, and then every worker and every service that tests start compiles everything again.
unexport PYTHONDONTWRITEBYTECODE

# The first interpreter found that is new enough; override with `make PYTHON=...`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/:.*## /\t/' | expand -t 18

# --- environment -------------------------------------------------------------

.PHONY: setup
setup: $(STAMP) ## create .venv with the locked packages and the `stud` command

# A stamp, so that every other target can ask for the environment and pay nothing when
# it is there. A venv whose interpreter is gone (moved clone, upgraded Python) is replaced.
$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, none was found" >&2; exit 2; }
	@$(BIN)/python -c 'import sys' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) install -qq --require-hashes -r requirements.lock
	$(PIP) install -qq --no-deps --no-build-isolation --editable .
	@touch $@

# Three files: all that developers need; what an image needs to run; what it needs to be built.
.PHONY: lock
lock: $(STAMP) ## write the lock files; UPGRADE=1 takes newer versions
	$(UV_COMPILE) --extra local --group dev -o requirements.lock pyproject.toml
	$(UV_COMPILE) --constraint requirements.lock -o requirements-runtime.lock pyproject.toml
	$(UV_COMPILE) --constraint requirements.lock --group build -o requirements-build.lock

# Universal: one file for every platform and every Python from 3.11. No index address is
# written, so the files hold names, versions and hashes and nothing about a network.
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-annotate $(if $(UPGRADE),--upgrade)

# What the image's build stage runs (deploy/docker/Dockerfile): a wheel of the project and the
# runtime lock in an environment of their own, without compilers, tests or a server binary.
IMAGE_ENV ?= var/image
.PHONY: image-install
image-install: ## install the project as an image has it, into IMAGE_ENV
	$(PYTHON) -m venv --clear $(IMAGE_ENV)-build
	$(IMAGE_ENV)-build/bin/python -m pip install -qq --require-hashes -r requirements-build.lock
	rm -rf $(IMAGE_ENV)-dist
	$(IMAGE_ENV)-build/bin/python -m pip wheel -qq --no-deps --no-build-isolation --wheel-dir $(IMAGE_ENV)-dist .
	$(PYTHON) -m venv --clear $(IMAGE_ENV)
	$(IMAGE_ENV)/bin/python -m pip install -qq --require-hashes -r requirements-runtime.lock
	$(IMAGE_ENV)/bin/python -m pip install -qq --no-deps --no-index $(IMAGE_ENV)-dist/*.whl
	rm -rf $(IMAGE_ENV)-build $(IMAGE_ENV)-dist

# --- contract ----------------------------------------------------------------

.PHONY: proto
proto: $(STAMP) ## regenerate libs/stud from protos/
	@$(BIN)/python tools/generate_proto.py
	@$(BIN)/python -m tools.generate_errors
	@$(BIN)/python -m tools.generate_player_calls
	@$(BIN)/python -m tools.generate_envoy
	@$(BIN)/python -m tools.generate_events
	@$(BIN)/python -m tools.generate_rules_coverage
	@$(BIN)/python -m tools.generate_settings
	@$(BIN)/python -m tools.generate_metrics

.PHONY: proto-baseline
proto-baseline: $(STAMP) ## accept the contract as it is: later changes must not break it
	$(BIN)/buf build --exclude-source-info -o protos/baseline.binpb

# --- checks ------------------------------------------------------------------

CODE := libs services tests tools benches

.PHONY: fmt
fmt: $(STAMP) ## format, and fix what ruff can fix
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

.PHONY: check
check: $(STAMP) ## everything that can be said without running the code
	@echo "== format"
	@$(BIN)/ruff format --check --output-format concise $(CODE)
	@echo "== lint"
	@$(BIN)/ruff check --output-format concise $(CODE)
	@echo "== types"
	@$(BIN)/mypy $(CODE)
	@echo "== imports"
	@$(BIN)/lint-imports --no-logo
	@echo "== dead code"
	@$(BIN)/vulture
	@echo "== contract"
	@$(BIN)/buf lint
	@test -f protos/baseline.binpb || { echo "no baseline: run make proto-baseline" >&2; exit 1; }
	@$(BIN)/buf breaking --against protos/baseline.binpb
	@echo "== generated code"
	@$(BIN)/python tools/generate_proto.py --check
	@$(BIN)/python -m tools.generate_errors --check
	@$(BIN)/python -m tools.generate_player_calls --check
	@$(BIN)/python -m tools.generate_envoy --check
	@$(BIN)/python -m tools.generate_events --check
	@$(BIN)/python -m tools.generate_rules_coverage --check
	@$(BIN)/python -m tools.generate_settings --check
	@$(BIN)/python -m tools.generate_metrics --check
	@echo "check: all good"

SEARCHING := tests/property tests/exhaustive tests/oracle
PYTEST := $(BIN)/pytest -n auto
# Three for two cores: many tests wait for a server, a service or a clock.
WORKERS ?= 3

.PHONY: test
test: check ## check, then every test, with coverage
	@rm -f .coverage .coverage.*
	@mkdir -p var
	$(BIN)/pytest -n $(WORKERS) -m untraced </dev/null
	$(BIN)/pytest -n $(WORKERS) -m "not untraced" --cov --cov-report= --cov-report=json:var/coverage.json </dev/null
	@$(BIN)/python tools/coverage_gate.py var/coverage.json

# What can be had while the coffee is poured: no server, no process, and searches of fewer examples.
.PHONY: quick
quick: $(STAMP) ## the tests that start no process, without the searches, in a minute
	STUD_QUICK=1 $(PYTEST) -q -m "not process" </dev/null

# Suites whose numbers grow with STUD_DEEP=1. The time limit of a test is that of its long version.
DEEP := $(SEARCHING) tests/unit/referee/test_honest_hands.py tests/unit/hands/test_adjudicate_every_field.py \
	tests/component/test_pings.py tests/e2e/test_node_client.py tests/e2e/test_extending.py tests/e2e/test_web_page.py

.PHONY: deep
deep: $(STAMP) ## the searching tests again, with many times the examples, and pings at their real pace
	STUD_DEEP=1 $(BIN)/pytest -n 2 --timeout=3600 $(DEEP) </dev/null

.PHONY: mutation
mutation: $(STAMP) ## change one thing in the rules at a time: does a test fail? AREA=pots for a part
	@$(BIN)/python tools/mutation.py $(AREA) $(ARGS)

# --- running -----------------------------------------------------------------

.PHONY: web
web: ## build the page of examples/web with npm, for `stud up --web`
	cd examples/web && npm ci --silent && npm run --silent build

.PHONY: demo
demo: $(STAMP) ## bots play real hands through the four services, then the audit
	$(BIN)/stud demo $(ARGS)

.PHONY: up
up: $(STAMP) ## run the four services here on an embedded server until Ctrl-C
	$(BIN)/stud up $(ARGS)

.PHONY: bench
bench: $(STAMP) ## every figure of docs/capacity.md on this machine, medians of three runs: about an hour
	$(BIN)/stud bench $(ARGS)

# Parts whose ratios stand still on a machine that does other things too.
.PHONY: bench-brief
bench-brief: $(STAMP) ## the ratios in a minute: none may be a third below what is recorded, three times in a row
	$(BIN)/stud bench --brief --only engine,rebuild,append,start,system --against benches/recorded.json --tries 3 $(ARGS)

.PHONY: hostile
hostile: $(STAMP) ## six callers who ask for all they can get, beside 24 bots: what do the bots notice?
	$(BIN)/python benches/hostile.py $(ARGS)

.PHONY: clean
clean: ## remove caches and reports; keeps .venv and var/
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
