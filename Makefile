# `make demo` scores a real submission, `make test` sets up and runs every check. Both start from nothing but Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test lint peers app bench clean

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

test: lint peers
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

app: $(VENV)/.space
	$(BIN)/python app.py

# Other implementations, to compare with. PyPI's anls has the module name of ours: they get a folder of their own, which
# only processes of their own look into, and never our environment.
peers: .peers/.installed

.peers/.installed: Makefile | $(BIN)/python
	$(PIP) --no-deps --target .peers anls==0.0.2 anls_star==1.0.1 munkres==3.0.0 \
		phonenumberslite==9.0.42 stickler-eval==1.0.0
	@touch $@

bench: $(VENV)/.test peers
	$(BIN)/python benchmarks/flat.py
	$(BIN)/python benchmarks/tree.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/submission.py

clean:
	rm -rf $(VENV) .peers .mypy_cache .pytest_cache .ruff_cache .hypothesis
