# Stoker's two main commands are `make up` and `make test`; both first install missing packages into .venv.

.DEFAULT_GOAL := help
SHELL := /bin/sh
.SUFFIXES:
.DELETE_ON_ERROR:

# the tests start hundreds of Python processes, each of which would compile all modules again
unexport PYTHONDONTWRITEBYTECODE
# of other programs: they change which modules Python imports and how it runs them
unexport PYTHONHOME PYTHONPATH PYTHONSAFEPATH PYTHONINSPECT PYTHONOPTIMIZE PYTHONWARNINGS

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# the first of these that is new enough and can make a virtual environment is used; PYTHON=... goes before them
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14
FIT := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

# the line of requirements.lock that ends the packages of the platform; the Dockerfile has it, too
TOOLS := \# only to work on the project

# vLLM's environment is large: 0.6 GB to download, 2.4 GB on the disk
CPU_RUNTIMES := llama_server ct2 llama_cpp sherpa vllm whisper

.PHONY: help up test quick test-slow test-clients test-hostile test-gpu test-limits test-runtimes test-s3 runtimes fuzz-schemas fuzz-optoken lint bench bench-dialects bench-engines bench-gpu bench-growth bench-on-demand bench-peers bench-idle bench-locality bench-ui ui ui-check ui-pictures ui-shots test-ui openapi demo-model lock clean

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16

up: $(VENV)/up.stamp ## run the whole platform: Redis, API, workers, Flower, a demo model
	@$(BIN)/python -m stoker up $(ARGS)

# four processes, since many tests wait for programs that they start; ARGS runs some, also slow ones, in one process
test: $(VENV)/dev.stamp ## run the tests of all parts (ARGS="tests/config -k merge" runs some)
	@$(BIN)/python -m pytest $(or $(ARGS),--slow without -n 4 --dist loadfile --no-loadscope-reorder)

test-slow: $(VENV)/dev.stamp ## run the tests that start whole platforms, or take many seconds
	@$(BIN)/python -m pytest $(or $(ARGS),--slow only -n 4 --dist loadfile --no-loadscope-reorder)

quick: $(VENV)/dev.stamp ## run the tests that start no process and no services of the API, in less than a minute
	@HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest --quick -rfE $(or $(ARGS),-n 2 --dist loadfile --no-loadscope-reorder)

test-clients: $(VENV)/dev.stamp ## run the clients of docs/clients.md against a running platform (four of them need Node 20)
	@$(BIN)/python -m pytest -m clients tests/clients $(ARGS)

test-hostile: $(VENV)/dev.stamp ## attack the API of a running platform, and kill processes with many streams
	@$(BIN)/python -m pytest -m hostile $(ARGS)

test-limits: $(VENV)/dev.stamp ## many processes against one limit and one queue (100,000 requests), and with one opToken (1,000 rounds)
	@STOKER_ADMISSIONS=100000 $(BIN)/python -m pytest -m hostile tests/scheduler/test_many_processes.py $(ARGS)
	@STOKER_ROUNDS=1000 $(BIN)/python -m pytest -m hostile tests/api/approvals/lifecycle/test_many_processes.py $(ARGS)

test-runtimes: $(VENV)/dev.stamp runtimes ## run the contract tests on each runtime that needs no GPU, and measure it
	@$(BIN)/python -m pytest -m "(engines or contract) and not gpu" $(ARGS)

test-gpu: $(VENV)/dev.stamp ## run the tests that need an NVIDIA GPU (docs/gpu.md)
	@$(BIN)/python -m tests.gpu $(ARGS)

test-s3: $(VENV)/dev.stamp ## test files in a bucket of S3, which a server in Python has (it installs s3fs and moto)
	@$(PIP) install "s3fs>=2026.3" "moto[s3]>=5.2,<6" "flask-cors>=6,<7"
	@$(BIN)/python -m pytest -m s3 tests/api/files $(ARGS)

fuzz-schemas: $(VENV)/dev.stamp ## send 10,000 hostile tool schemas to each engine on the CPU that has grammars
	@STOKER_FUZZED_SCHEMAS=10000 $(BIN)/python -m pytest -m engines tests/backends/test_hostile_schemas.py $(ARGS)

fuzz-optoken: $(VENV)/dev.stamp ## fuzz the verifier of opTokens against a second one (SECONDS=600)
	@$(BIN)/python -m tests.governance.op_tokens.fuzz $(or $(SECONDS),600)

runtimes: $(VENV)/up.stamp ## install the runtimes that need no GPU (stoker runtimes list shows all)
	@$(BIN)/python -m stoker runtimes install $(CPU_RUNTIMES)

lint: $(VENV)/dev.stamp ## check style, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

bench: $(VENV)/dev.stamp ## measure latency, throughput and CPU against a bare proxy
	@$(BIN)/python -m benchmarks $(ARGS)

bench-engines: $(VENV)/dev.stamp ## measure each engine through the platform against the same engine called directly
	@$(BIN)/python -m benchmarks.engines $(ARGS)

bench-gpu: $(VENV)/dev.stamp ## measure the engines on a GPU, with models of random weights
	@$(BIN)/python -m benchmarks.gpu $(ARGS)

bench-peers: $(VENV)/dev.stamp ## measure Stoker beside LiteLLM, SMG and vllm-router, and check the bars
	@$(BIN)/python -m benchmarks.peers $(ARGS)

bench-idle: $(VENV)/dev.stamp ## measure what 10,000 idle streams cost one API process
	@$(BIN)/python -m benchmarks.idle_streams $(ARGS)

bench-growth: $(VENV)/dev.stamp ## measure whether a request costs more on a larger platform
	@$(BIN)/python -m benchmarks.growth $(ARGS)

bench-on-demand: $(VENV)/dev.stamp ## simulate which models are loaded on demand, against LRU and FIFO
	@$(BIN)/python -m benchmarks.on_demand $(ARGS)

bench-locality: $(VENV)/dev.stamp ## measure what is reused of cached prompts, beside SMG and vllm-router; or simulate it
	@$(BIN)/python -m benchmarks.locality $(ARGS)

bench-ui: $(VENV)/dev.stamp ## measure what an update of each page of the UI costs a browser on a large platform (apt-get install chromium)
	@$(BIN)/python -m tests.ui.limits

bench-dialects: $(VENV)/dev.stamp ## measure what each client API costs beside Chat Completions
	@$(BIN)/python -m benchmarks.dialects $(ARGS)

ui: $(VENV)/up.stamp ## build the pages of the UI into api/static/ui (needs Node 20)
	@PYTHON=$(BIN)/python ui/scripts/build.sh

ui-check: $(VENV)/dev.stamp ## check the sources of the UI, and that a fresh build equals api/static/ui
	@PYTHON=$(BIN)/python ui/scripts/check.sh

test-ui: $(VENV)/dev.stamp ## test the UI of a running platform in Chromium (apt-get install chromium-headless-shell; needs Node 20)
	@test -e ui/node_modules/axe-core || (. ui/scripts/node.sh && cd ui && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	@$(BIN)/python -m pytest -m browser $(or $(ARGS),tests/ui/browser -n 2 --dist loadfile)

ui-shots: $(VENV)/dev.stamp ## write pictures of every page of the UI to .cache/ui-shots (FOLDER=...; apt-get install chromium)
	@$(BIN)/python -m tests.ui.shots $(or $(FOLDER),.cache/ui-shots)

ui-pictures: $(VENV)/dev.stamp ## make the pictures of the documentation again, in docs/pictures (apt-get install chromium)
	@$(BIN)/python -m tests.ui.doc_pictures

openapi: $(VENV)/up.stamp ## write the OpenAPI document to docs/openapi.json
	@$(BIN)/python -m stoker openapi > docs/openapi.json

demo-model: | $(VENV)/made.stamp ## train the demo model, in an environment of its own (it needs torch)
	@$(BIN)/python -m venv .cache/train
	@.cache/train/bin/pip install --quiet -r models/demo/requirements.txt
	@.cache/train/bin/python models/demo/train.py models/stoker-demo.gguf

# the packages of the platform come first in the lock, so that `make up` and the Dockerfile install its first part
lock: $(VENV)/dev.stamp ## pin the newest versions that fit pyproject.toml, with their hashes
	@mkdir -p .cache/lock
	@compile="$(BIN)/uv pip compile --quiet --universal --no-annotate --no-header --python-version 3.11 pyproject.toml" \
	  && $$compile --upgrade --generate-hashes --extra up --extra dev -o .cache/lock/all \
	  && $$compile --extra up -c .cache/lock/all -o .cache/lock/platform \
	  && awk "$$SPLIT_LOCK" .cache/lock/platform .cache/lock/all > .cache/lock/split && mv .cache/lock/split requirements.lock
	@$(BIN)/python -m tests.engines.environments
	@$(BIN)/python -m benchmarks.peers.environments

clean: ## remove .venv and the caches, but not the data in .stoker
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made.stamp:
	@for python in $(CANDIDATES); do \
	  if $$python -c '$(FIT)' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "Stoker needs Python 3.11 or newer with its venv module; install it, or give its path: make up PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$($$found --version)"; \
	$$found -m venv $(VENV)
	@touch $@

$(VENV)/up.stamp: requirements.lock pyproject.toml | $(VENV)/made.stamp
	@sed '/^$(TOOLS)/,$$d' $< > $(VENV)/platform.lock
	@$(call install,$(VENV)/platform.lock,the platform)
	@touch $@

# installs a superset of the packages of `make up`, in the same versions
$(VENV)/dev.stamp: requirements.lock pyproject.toml | $(VENV)/made.stamp
	@$(call install,$<,the platform and the tools to work on it)
	@touch $(VENV)/up.stamp $@

# reads the pins of the platform, then the whole lock with its hashes, and writes the latter in two parts
define SPLIT_LOCK
BEGIN { print "# made by `make lock`: what `make up` and the image install" }
NR == FNR { if (/^[a-z0-9]/) platform[$$1]; next }
/^[a-z0-9]/ { first = $$1 in platform }
first { print; next }
{ tools = tools $$0 "\n" }
END { printf "$(TOOLS)\n%s", tools }
endef
export SPLIT_LOCK

define install
start=$$(date +%s); \
echo "Installing $(2) into $(VENV): $$(grep -c '^[a-z].*==' $(1)) packages, once"; \
$(PIP) install --require-hashes -r $(1) && $(PIP) install --no-deps --editable . \
  && echo "Installed in $$(($$(date +%s) - start)) s"
endef
