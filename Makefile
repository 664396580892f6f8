# `make demo` scores a real submission, `make test` sets up and runs every check. Both start from nothing but Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test lint app bench clean

help:
	@echo "make demo    score the real DocVQA submission in examples/docvqa"
	@echo "make test    lint, type check and every test"
	@echo "make app     the web app on this machine"
	@echo "make bench   timings beside the other implementations"
	@echo "make clean   remove what the commands above installed and wrote"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed") if sys.version_info < (3, 10) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.metric: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.space: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[space]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test,lint,bench]'
	@touch $@

demo: $(VENV)/.metric
	@$(BIN)/python examples/docvqa/score.py

test: lint
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

app: $(VENV)/.space
	$(BIN)/python app.py

# PyPI's anls has the module name of ours: it gets a folder and a process of its own, never our environment.
.peers/anls: | $(BIN)/python
	$(PIP) --no-deps --target .peers anls==0.0.2

bench: $(VENV)/.test .peers/anls
	$(BIN)/python benchmarks/flat.py

clean:
	rm -rf $(VENV) .peers .mypy_cache .pytest_cache .ruff_cache .hypothesis
