# Everything a fresh machine needs: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: venv demo test lint format bench crash lock clean

venv: $(STAMP)

# Every third-party file is pinned and checked against its hash; our own two
# distributions are then linked in without touching the index again.
$(STAMP): requirements.lock pyproject.toml client/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e ./client -e .
	@touch $@

demo: venv
	@$(BIN)/python examples/demo.py

test: venv lint
	$(BIN)/python -m pytest

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: venv
	$(BIN)/python -m bench

# The long form of the crash test: 190 rounds of SIGKILL at a random moment.
crash: venv
	$(BIN)/python -m pytest -m crash -n 1 --timeout 3600 tests/crash

# Needs `uv`. Resolves for every supported Python and platform at once.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--quiet --group dev --extra cli --no-emit-package reflexion-client --output-file requirements.lock \
		pyproject.toml client/pyproject.toml

clean:
	rm -rf $(VENV)
