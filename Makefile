# `make demo` scores a real submission, `make test` sets up and runs every check. Both start from nothing but Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test test-harness test-lowest golden lint peers app bench bench-torchmetrics fuzz clean anls.py

help:
	@echo "make demo    score the real DocVQA submission in examples/docvqa"
	@echo "make test    lint, type check and every test"
	@echo "make test-harness  the tests inside torchmetrics, lm-eval, Inspect and other tools, which it installs (5 GB)"
	@echo "make test-lowest   the core tests with the lowest versions allowed"
	@echo "make golden  record all outputs anew, where a change of a number is meant: tests/data/golden"
	@echo "make anls.py the one file that evaluate loads, made from the package"
	@echo "make app     the web app on this machine"
	@echo "make fuzz    hostile inputs for MINUTES=10 of a processor, with SEED=1"
	@echo "make bench   timings beside the other implementations: benchmarks/RESULTS.md"
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

# One file for evaluate's loader, made from the package.
anls.py: | $(BIN)/python
	$(BIN)/python tools/single_file.py

lint: $(VENV)/.test
	$(BIN)/python tools/single_file.py --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The tools that the metric works in have environments of their own: with them installed, evaluate loads torch and
# transformers at each start, and pyarrow is an older one.
TOOLS := .venv-tools
LMMS := .venv-lmms
IN_LMMS := test_lmms_eval.py

test-harness: $(TOOLS)/.installed $(LMMS)/.installed
	$(TOOLS)/bin/python -m pytest tests/integrations anls_eval/integrations --ignore tests/integrations/$(IN_LMMS)
	$(LMMS)/bin/python -m pytest tests/integrations/$(IN_LMMS)

# The lowest versions that pyproject.toml allows. Typer of then warns of click of now.
test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -W ignore::DeprecationWarning -k 'not BruteForce' \
		tests/text tests/tree tests/rules tests/metric tests/files tests/submission

.venv-lowest/.installed: pyproject.toml tests/lowest.txt | peers
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet --constraint tests/lowest.txt \
		--editable '.[eval]' pytest hypothesis cloudpickle
	@touch $@

.venv-%/.installed: tests/integrations/%.txt pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip --disable-pip-version-check install --quiet --editable . -r $<
	.venv-$*/bin/python -m pip --disable-pip-version-check uninstall --quiet --yes torchvision # lmms-eval brings one for graphics cards, which fails beside this torch
	@touch $@

golden: $(VENV)/.test
	PYTHONPATH=.:tests/support $(BIN)/python -m golden.record
	git diff --stat tests/data/golden

app: $(VENV)/.space
	$(BIN)/python app.py

# Other implementations, to compare with. PyPI's anls has the module name of ours: they get a folder of their own, which
# only processes of their own look into, and never our environment.
peers: .peers/.installed

.peers/.installed: Makefile | $(BIN)/python
	$(PIP) --no-deps --target .peers anls==0.0.2 anls_star==1.0.1 munkres==3.0.0 \
		phonenumberslite==9.0.42 stickler-eval==1.0.0
	@touch $@

# Every input follows from the seed, which is printed: the time of the start unless it is given.
MINUTES ?= 10
fuzz: $(VENV)/.test
	PYTHONPATH=.:tests/support $(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

bench: $(VENV)/.test peers
	$(BIN)/python -m benchmarks.report

bench-torchmetrics: $(TOOLS)/.installed
	$(TOOLS)/bin/python benchmarks/torchmetrics_peer.py

clean:
	rm -rf $(VENV) $(TOOLS) $(LMMS) .venv-lowest .peers .mypy_cache .pytest_cache .ruff_cache .hypothesis
