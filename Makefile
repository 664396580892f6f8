# `make demo` scores a real submission; `make test` runs all checks. Both need nothing but Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test test-all test-long test-harness test-lowest prove golden lint peers app space docs bench bench-torchmetrics fuzz soak clean anls.py

help:
	@echo "make demo               score a real DocVQA submission"
	@echo "make test               run linters, type checker and the tests that a change needs: minutes"
	@echo "make test-all           run all of these and every other test: half an hour"
	@echo "make test-long          run the long tests, and those of properties on more examples"
	@echo "make test-harness       test the integrations; installs torchmetrics, lm-eval, Inspect and others (7 GB)"
	@echo "make test-lowest        run the core tests with the lowest supported versions"
	@echo "make prove              run make test five times, two of them beside four busy processes: build/proof"
	@echo "make golden             record the outputs in tests/data/golden again, after an intended change"
	@echo "make anls.py            make the single file that evaluate loads from the package"
	@echo "make app                start the web app on this machine"
	@echo "make space              build the folder of the Space; TO=ORG/anls uploads it, PR=1 as a pull request"
	@echo "make docs               build the documentation site in build/docs and check its links"
	@echo "make fuzz               try hostile inputs; MINUTES=10 of processor time, SEED=1"
	@echo "make soak               score data sets while processes die and disks are full; MINUTES=30, ROWS=600000, SEED=1"
	@echo "make bench              compare speed with other implementations: benchmarks/RESULTS.md"
	@echo "make bench-torchmetrics compare speed with torchmetrics"
	@echo "make clean              remove what these commands installed and wrote"

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

# Python keeps what it compiles, or each of the hundreds of processes that tests start would compile the package again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses logical

test: lint peers
	$(PYTEST)

test-all: test test-long test-lowest test-harness docs

prove:
	$(PYTHON) tools/prove_tests.py

test-long: $(VENV)/.test peers
	$(PYTEST) -m 'long or hypothesis' --hypothesis-profile all

# The single file that evaluate loads.
anls.py: | $(BIN)/python
	$(BIN)/python tools/single_file.py

lint: $(VENV)/.test
	$(BIN)/python tools/single_file.py --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The integrated tools have separate environments: with them installed, evaluate loads torch and transformers at each
# start, and pyarrow is an older version.
TOOLS := .venv-tools
LMMS := .venv-lmms
VERL := .venv-verl
CLUSTERS := .venv-clusters
IN_LMMS := tests/integrations/test_lmms_eval.py
IN_VERL := tests/integrations/test_verl.py
IN_CLUSTERS := tests/integrations/test_clusters.py

# Ray, which verl brings, warns about verl's imports.
test-harness: $(TOOLS)/.installed $(LMMS)/.installed $(VERL)/.installed $(CLUSTERS)/.installed
	$(TOOLS)/bin/python -m pytest tests/integrations anls_eval/integrations \
		--ignore $(IN_LMMS) --ignore $(IN_VERL) --ignore $(IN_CLUSTERS)
	$(LMMS)/bin/python -m pytest $(IN_LMMS)
	$(VERL)/bin/python -m pytest -W ignore::DeprecationWarning $(IN_VERL)
	$(CLUSTERS)/bin/python -m pytest $(IN_CLUSTERS)

# The lowest versions that pyproject.toml allows. That version of Typer warns about today's click.
test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -W ignore::DeprecationWarning -k 'not BruteForce and not dask' \
		tests/text tests/tree tests/rules tests/metric tests/files tests/submission

.venv-lowest/.installed: pyproject.toml tests/lowest.txt | peers
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet --constraint tests/lowest.txt \
		--editable '.[eval]' pytest hypothesis cloudpickle psutil
	@touch $@

.venv-%/.installed: tests/integrations/%.txt pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip --disable-pip-version-check install --quiet --editable . -r $<
	.venv-$*/bin/python -m pip --disable-pip-version-check uninstall --quiet --yes torchvision # lmms-eval installs a CUDA build, which fails with this torch
	@touch $@

golden: $(VENV)/.test
	PYTHONPATH=.:tests/support $(BIN)/python -m golden.record
	git diff --stat tests/data/golden

app: $(VENV)/.space
	$(BIN)/python app.py

space: $(VENV)/.space
	@$(BIN)/python tools/space.py $(TO) $(if $(PR),--create-pr)

# Links, also to headings, are checked; warnings are errors.
docs: .venv-docs/.installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet

.venv-docs/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[docs]'
	@touch $@

# Other implementations to compare with, in a separate folder that only their own processes import from: benchmarks and
# tests of our environment must not depend on them.
peers: .peers/.installed

.peers/.installed: Makefile | $(BIN)/python
	$(PIP) --no-deps --target .peers anls==0.0.2 anls_star==1.0.1 munkres==3.0.0 \
		phonenumberslite==9.0.42 stickler-eval==1.0.0
	@touch $@

# The seed determines all inputs; it is printed, and defaults to the start time.
MINUTES ?= 10
fuzz: $(VENV)/.test
	PYTHONPATH=.:tests/support $(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# The seed of each run is printed; SEED is that of the first.
ROWS ?= 600000
soak: MINUTES := $(if $(filter file,$(origin MINUTES)),30,$(MINUTES))
soak: $(VENV)/.test
	PYTHONPATH=.:tests/support $(BIN)/python -m soak --minutes $(MINUTES) --rows $(ROWS) $(if $(SEED),--seed $(SEED))

bench: $(VENV)/.test peers
	$(BIN)/python -m benchmarks.report

bench-torchmetrics: $(TOOLS)/.installed
	$(TOOLS)/bin/python benchmarks/torchmetrics_peer.py

clean:
	rm -rf $(VENV) $(TOOLS) $(LMMS) $(VERL) $(CLUSTERS) .venv-docs .venv-lowest .peers .mypy_cache .pytest_cache \
		.ruff_cache .hypothesis
