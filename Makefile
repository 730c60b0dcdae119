# `make run` and `make test` are the whole set-up: each installs what it needs into .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where torch's CPU build comes from when pip's own indexes do not have it.
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu
ARGS ?=
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -qq --no-deps --no-input

.PHONY: run test lint types unit editors ext vsix e2e e2e-tools clean help
.DEFAULT_GOAL := help

help:
	@echo 'make run    set up .venv and start the server with the bundled model (ARGS="--port 9000" passes flags on)'
	@echo 'make test   set up .venv, then ruff, mypy and the tests, with the real engine'
	@echo 'make editors  the tests in a real Neovim'
	@echo 'make ext    the VS Code extension: types, linters, unit tests'
	@echo 'make vsix   vscode-extension/codeserve.vsix, for "Install from VSIX…"'
	@echo 'make e2e    the extension in a real VS Code, before the real server (Debian; as root it installs Chromium)'
	@echo 'make clean  remove .venv and caches'

run: $(VENV)/.cpu
	@exec $(BIN)/codeserve serve $(ARGS)

test: lint types unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	$(BIN)/python -m pytest --ignore=tests/editors $(ARGS)

editors: $(VENV)/.editors
	$(BIN)/python -m pytest tests/editors $(ARGS)

# The extension's tools run on the Node that pip brings, whatever else is installed.
EXT := vscode-extension
NODE := cd $(EXT) && PATH="$(CURDIR)/$(VENV)/node/bin:$$PATH"

ext: $(EXT)/node_modules/.installed
	@$(NODE) npm run -s typecheck
	@$(NODE) npm run -s lint
	@$(NODE) npm run -s test

vsix: $(EXT)/codeserve.vsix

e2e: e2e-tools
	@$(NODE) npm run -s e2e

e2e-tools: $(EXT)/codeserve.vsix $(EXT)/.e2e/wheels/.downloaded $(VENV)/.cpu
	@$(NODE) e2e/install.sh .e2e

# What the install command of the extension takes from an index; the case of it does without one.
$(EXT)/.e2e/wheels/.downloaded: $(EXT)/dist/.wheel requirements/cpu.lock
	@$(BIN)/python -m pip download -qq --disable-pip-version-check -d $(@D) -c requirements/cpu.lock $(EXT)/dist/*.whl
	@touch $@

$(EXT)/codeserve.vsix: $(EXT)/dist/.wheel $(EXT)/node_modules/.installed $(wildcard $(addprefix $(EXT)/,src/*.ts src/logic/*.ts media/* media/*/* scripts/*.mjs *.md .vscodeignore))
	@$(NODE) npm run -s package -- -o codeserve.vsix

# The extension brings codeserve along: its name on an index may be anybody's.
$(EXT)/dist/.wheel: $(VENV)/.build pyproject.toml README.md LICENSE $(shell find codeserve lsp models/presets models/training/heldout.toml -type f ! -name '*.pyc')
	@rm -f $(EXT)/dist/*.whl
	@$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation -w $(EXT)/dist .
	@touch $@

$(EXT)/node_modules/.installed: $(EXT)/package.json $(EXT)/package-lock.json $(VENV)/.node
	@echo '  what the extension is built with …'
	@$(NODE) npm ci --silent --ignore-scripts
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info < (3, 13)))' || \
	  { echo "codeserve needs Python 3.11 or 3.12; $$($(PYTHON) --version 2>&1) is here. Try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv module is missing. On Debian or Ubuntu: sudo apt install python3-venv"; rm -rf $(VENV); exit 1; }

# The engine: torch's CPU build first, then everything else as locked.
$(VENV)/.cpu: requirements/cpu.lock requirements/torch-cpu.lock pyproject.toml scripts/fetch-tcmalloc.sh | $(BIN)/python
	@echo 'Setting up $(VENV). The first time some minutes: about 1.3 GB to download.'
	@echo '  torch …'
	@log=$$(mktemp); $(PIP) -r requirements/torch-cpu.lock 2>$$log || \
	  $(PIP) --index-url $(TORCH_CPU_INDEX) -r requirements/torch-cpu.lock || { cat $$log >&2; rm -f $$log; exit 1; }; rm -f $$log
	@echo '  vLLM and what it needs …'
	@$(PIP) -r requirements/cpu.lock
	@$(PIP) --no-build-isolation --editable .
	@sh scripts/fetch-tcmalloc.sh $(VENV)/lib
	@touch $@

$(VENV)/.dev: $(VENV)/.cpu requirements/dev.lock
	@echo '  what the tests need …'
	@$(PIP) -r requirements/dev.lock
	@touch $@

$(VENV)/.build: requirements/build.lock | $(BIN)/python
	@$(PIP) -r requirements/build.lock
	@touch $@

$(VENV)/.node: requirements/node.lock scripts/link-node.sh | $(BIN)/python
	@echo '  Node …'
	@$(PIP) -r requirements/node.lock
	@sh scripts/link-node.sh $(BIN)/python $(VENV)/node
	@touch $@

$(VENV)/.editors: $(VENV)/.dev requirements/editors.lock requirements/editors-client.lock
	@$(PIP) --require-hashes -r requirements/editors.lock
	@$(PIP) -r requirements/editors-client.lock
	@touch $@

clean:
	rm -rf $(EXT)/node_modules $(EXT)/dist $(EXT)/.e2e $(EXT)/codeserve.vsix
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
