# The one gate for people and for CI. `make test` works on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: test check lint types layers native venv system

system:
	.ci/system-packages

venv: $(BIN)/taskx

$(BIN)/taskx: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(BIN)/taskx

test: system venv
	$(BIN)/python setup.py -q build_ext --inplace
	$(BIN)/python -m pytest

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH=$(abspath $(BIN)):$$PATH cython-lint src/taskx/_native

types:
	$(BIN)/mypy
	PATH=$(abspath $(BIN)):$$PATH .ci/stubtest

layers:
	$(BIN)/lint-imports

native:
	PATH=$(abspath $(BIN)):$$PATH .ci/native

check: lint types layers test
