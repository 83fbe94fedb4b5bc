# One environment, one command per job. pip's own configuration (index, proxy, certificates) is honoured.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run
STAMP := $(VENV)/.dev

.PHONY: help prove test test-live check lint types unit explore bench schemas surfaces claims-records claims-matrix lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/'

$(RUN): pyproject.toml requirements/run.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP): $(RUN) requirements/dev.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

prove: $(RUN)  ## set up, fetch the real vLLM wheel and prove the W4A4 example
	$(BIN)/sparkproof prove examples/qwen3.6-35b-a3b-w4a4/deployment.toml

test: $(STAMP) check unit  ## set up, then lint, types and every test this machine can run

check: lint types

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/pytest -n auto

explore: $(STAMP)  ## put new random input to every property
	SPARKPROOF_TEST_EXAMPLES=explore $(BIN)/pytest -n auto -m hypothesis

LIVE := .venv-live

$(LIVE)/bin/vllm: tests/live/make_env.sh tests/live/overrides.txt tests/live/shim/pyproject.toml
	rm -rf $(LIVE)
	tests/live/make_env.sh $(LIVE)

test-live: $(STAMP) $(LIVE)/bin/vllm  ## boot a real vLLM on the CPU and compare it with the prediction
	$(BIN)/pytest tests/live -m live

bench: $(STAMP)  ## measure against unzip and cuobjdump on a real wheel
	$(BIN)/python benchmarks/device_code.py

schemas: $(STAMP)  ## regenerate the published JSON schemas
	$(BIN)/python -m sparkproof.cli.schemas schemas

CLAIM_RECORDS := src/sparkproof/facts/data/claim_records
RELEASES ?= 0.33.0

claims-records: $(STAMP)  ## put every claim to the wheels of RELEASES (350 MB each) and record it
	$(BIN)/python -m sparkproof.cli.claim_records record $(CLAIM_RECORDS) $(RELEASES:%=vllm==%)

claims-matrix: $(STAMP)  ## draw docs/claims-matrix.md from the records
	$(BIN)/python -m sparkproof.cli.claim_records page docs/claims-matrix.md

surfaces: $(STAMP)  ## regenerate the shipped surfaces of every stable vLLM that the index has
	$(BIN)/python -m sparkproof.cli.ship_surfaces

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

lock:  ## renew the locked versions and their hashes (needs uv)
	$(LOCK) --group build pyproject.toml -o requirements/run.txt
	$(LOCK) --group build --group dev --group oracle -c requirements/run.txt pyproject.toml -o requirements/dev.txt

clean:
	rm -rf $(VENV) $(LIVE) .mypy_cache .ruff_cache .pytest_cache .hypothesis
