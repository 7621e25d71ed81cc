# `make quickstart` and `make test` install into .venv first; a second call starts at once.
SHELL := bash
PYTHON ?= python3
PYTEST_FLAGS ?= -q -n auto --dist loadfile
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help quickstart test lint browser

help:
	@echo "make quickstart   train on Kuhn poker for four minutes and compare before and after"
	@echo "make test         lint, types, import direction, tests"
	@echo "make lint         the same without the tests"
	@echo "PYTHON=python3.12 names another interpreter for the first install"

quickstart: $(STAMP)
	$(BIN)/coevo train mars --env coevo/kuhn_poker-v0 --budget 4m --threads 1

test: lint browser
	$(BIN)/pytest $(PYTEST_FLAGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p coevo
	cd .typecheck && ../$(BIN)/lint-imports --config ../pyproject.toml --cache-dir ../.import_linter_cache --no-logo

# The report page is tested in Chromium. Without one, and without the right to install one, those
# tests are skipped and say so.
browser:
	@command -v chromium >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
			&& echo "Installing Chromium for the tests of the report page" \
			&& { apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null; \
	} || echo "No Chromium: tests of the report page are skipped"

# Makefile edits do not reinstall; a change of what is installed does.
$(STAMP): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing coevo with $$(grep -c == constraints.txt) pinned packages into $(VENV); the first time takes some minutes"
	@set -o pipefail; SECONDS=0; \
	$(BIN)/pip install --disable-pip-version-check -c constraints.txt -e '.[train,test,dev]' \
		| { grep --line-buffered -oE 'Downloading .* MB\)' || true; } \
		&& echo "Installed in $$SECONDS s"
	@touch $@

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "coevo needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)" >&2; \
		echo "Name another interpreter: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' lacks the venv module; on Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
