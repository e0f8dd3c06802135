# Run `make` to see what there is. Everything installs into .venv, from the locked files in requirements/.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# Tests wait for processes about half of their time: more workers than cores are faster.
WORKERS ?= $(shell echo $$(( $$(nproc) * 3 / 2 )))
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
ifdef UV
MAKE_VENV := $(UV) venv -q --python $(PYTHON) $(VENV)
INSTALL := $(UV) pip install -q --python $(BIN)/python
else
MAKE_VENV := $(PYTHON) -m venv $(VENV)
INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check
endif

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What jangar itself needs: enough for `make run`.
$(RUNTIME): requirements/runtime.txt requirements/build.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) not found; install Python 3.11 or later, or set PYTHON=" >&2; exit 1; }
	@test -x $(BIN)/python || $(MAKE_VENV)
	$(INSTALL) --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# What changing jangar needs on top: linters, type checker, tests.
$(STAMP): requirements/dev.txt $(RUNTIME)
	$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

.PHONY: setup
setup: $(STAMP) ## Install everything that development needs into .venv (uv if present, else pip)

.PHONY: run
run: $(RUNTIME) ## Install jangar into .venv, start it on this machine, and run the first example
	@$(BIN)/jangar up --detach >/dev/null
	$(BIN)/jangar run examples/01-hello-dag
	@echo
	@$(BIN)/jangar status
	@printf '%s\n' '' 'Next:' \
	  '  export PATH=$(CURDIR)/$(BIN):$$PATH' \
	  '  jangar list' \
	  '  jangar run examples/03-failure-and-skip' \
	  '  jangar down'

.PHONY: test
test: setup check ## Run every check and the tests that need nothing but Python
	KUBEBUILDER_ASSETS=$(CURDIR)/.no-real-parts JANGAR_PLANNER_TRIALS=300 $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

FAST := tests/unit tests/property tests/architecture

.PHONY: test-fast
test-fast: setup ## Run the unit, property and architecture tests (under 3 minutes on two cores)
	JANGAR_PLANNER_TRIALS=300 $(BIN)/python -m pytest -n $(WORKERS) $(FAST)

.PHONY: coverage
coverage: setup ## Print which share of each module the fast tests cover
	JANGAR_PLANNER_TRIALS=300 $(BIN)/python -m coverage run -m pytest -n $(WORKERS) $(FAST)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

.PHONY: prove
prove: setup ## Run every test in full, also against a real kube-apiserver (make envtest); writes docs/reliability.md
	JANGAR_SIMULATION=all JANGAR_EXAMPLES=all JANGAR_PROVE_PAGE=docs/reliability.md JANGAR_PROVE_DATE=$$(date -u +%F) $(BIN)/python -m pytest -n auto --dist loadgroup

.PHONY: check
check: setup ## Format, lint, types, layers, generated files in sync, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m jangar.crdgen --check
	$(BIN)/python -m jangar.controllers.rbac --check
	$(BIN)/python -m jangar.settings --check
	$(BIN)/python -m jangar.cli.reference --check
	$(BIN)/python scripts/agents/chart-reference --check
	$(BIN)/python -m pytest tests/architecture

.PHONY: format
format: setup ## Format the code and apply automatic fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: generate
generate: setup ## Write the CRDs and the references of the API, the settings and the commands from the code
	$(BIN)/python -m jangar.crdgen
	$(BIN)/python -m jangar.controllers.rbac
	$(BIN)/python -m jangar.settings
	$(BIN)/python -m jangar.cli.reference
	$(BIN)/python scripts/agents/chart-reference

.PHONY: web
web: setup ## Build the web page into the package (needs node 20); commit the result
	cd web && npm install --no-save --no-audit --no-fund
	PYTHON=$(BIN)/python scripts/web-types
	cd web && npm run build
	scripts/web-fingerprint > src/jangar/server/web/sources.sha256

.PHONY: web-test
web-test: setup ## Check types, lint and format of the web page, and test its parts and components (needs node 20)
	cd web && npm install --no-save --no-audit --no-fund
	PYTHON=$(BIN)/python scripts/web-types --check
	cd web && npm run check && npm test

.PHONY: web-e2e
web-e2e: setup ## Test the web page in a real browser (needs chromium, and node 20 for axe)
	$(INSTALL) --require-hashes -r requirements/browser.txt
	cd web && npm install --no-save --no-audit --no-fund
	$(BIN)/python -m pytest tests/web

CLIENTS := build/clients

.PHONY: nightly
nightly: setup envtest ## Run real clients on the embedded Kubernetes API: kubectl, helm, kopf, the official Python client
	@test -x $(CLIENTS)/bin/python || $(subst $(VENV),$(CLIENTS),$(MAKE_VENV))
	$(subst $(BIN)/python,$(CLIENTS)/bin/python,$(INSTALL)) --require-hashes -r requirements/clients.txt
	JANGAR_NIGHTLY=$(CURDIR)/$(CLIENTS) $(BIN)/python -m pytest tests/clients tests/e2e/test_kubectl_access.py tests/e2e/test_kubectl_apply.py tests/e2e/test_kubectl_life.py tests/e2e/test_kubectl_logs.py tests/e2e/test_kubectl_read.py tests/e2e/test_kubectl_write.py tests/e2e/test_node_agent.py

AGENT_CLIS := build/agent-clis

.PHONY: agent-clis
agent-clis: setup ## Run real agent CLIs on a laptop against a scripted model (needs node 20)
	@mkdir -p $(AGENT_CLIS) && cp tests/agent_clis/package.json tests/agent_clis/package-lock.json $(AGENT_CLIS)
	cd $(AGENT_CLIS) && npm ci --no-audit --no-fund
	JANGAR_AGENT_CLIS=$(CURDIR)/$(AGENT_CLIS)/node_modules/.bin $(BIN)/python -m pytest tests/agent_clis

.PHONY: verify
verify: generate check ## Regenerate, check, and fail if that changed a tracked file
	@git diff --exit-code -- charts/agents docs/reference src/jangar/crdgen/definitions.json || { echo "generated files were out of date; commit the result of 'make generate'" >&2; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard charts/agents/crds docs/reference src/jangar/crdgen/definitions.json)" || { echo "generated files are not tracked; git add them" >&2; exit 1; }

.PHONY: builtin-schemas
builtin-schemas: setup ## Write what the API server knows of built-in kinds, from a real one (needs 'make envtest')
	$(BIN)/python scripts/generate-builtin-schemas

.PHONY: envtest
envtest: ## Provide a real kube-apiserver, etcd and kubectl for the tests (built once; needs Go)
	scripts/envtest/build

.PHONY: cluster
cluster: ## Start a whole real Kubernetes, one node (root, Debian packages); scripts/cluster/cluster stop ends it
	scripts/cluster/cluster start

IMAGE ?= jangar.local/jangar:$(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/jangar/__init__.py)

.PHONY: image
image: setup ## Build the container image as dist/jangar-image.tar, without a container engine (Debian 12; no root)
	PYTHON=$$($(BIN)/python -c 'import sys; print(sys._base_executable)') scripts/image/make-root build/image
	$(BIN)/python scripts/image/write-oci $(IMAGE) dist/jangar-image.tar build/image/base build/image/wheels build/image/product

.PHONY: transcripts
transcripts: setup envtest ## Record how a real kube-apiserver answers every conformance case
	PYTHONPATH=tests $(BIN)/python -m contract.kubernetes_api.record_transcripts

.PHONY: bench
bench: setup ## Benchmark the planner, lint and start-up; fails if a goal is missed
	$(BIN)/python -m benchmarks

.PHONY: bench-apiserver
bench-apiserver: setup ## Benchmark the embedded API server and a real one (needs make envtest)
	$(BIN)/python -m benchmarks.bench_apiserver

.PHONY: bench-engine
bench-engine: setup ## Benchmark the engine on a laptop and on a real API server, and other engines (half an hour)
	$(BIN)/python -m benchmarks.bench_engine

.PHONY: mutation
mutation: setup ## Mutation-test the rules (about half an hour); prints the share killed
	scripts/mutation-test

PIN := uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --upgrade

.PHONY: lock
lock: ## Pin the dependencies again (needs uv)
	$(PIN) pyproject.toml -o requirements/runtime.txt
	$(PIN) --group build -c requirements/runtime.txt -o requirements/build.txt
	$(PIN) pyproject.toml --group dev -o requirements/dev.txt
	$(PIN) --group browser -c requirements/dev.txt -o requirements/browser.txt
	$(PIN) --group clients -c requirements/dev.txt -o requirements/clients.txt
