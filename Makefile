# Every target does its own set-up. `make` alone says what there is.

FAMILY ?= core
N ?= 1000
SEEDS ?= 2000
MINUTES ?= 5
ARGS ?=

# The first Python on the path that is new enough; PYTHON=… chooses another.
ifndef PYTHON
PYTHON := $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,\
  $(shell $(p) -c 'import sys; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
endif
ifeq ($(PYTHON),)
$(error Seamark needs Python 3.11 or newer, and there is none on the path; install one, or name it with PYTHON=...)
endif

SETUP := $(PYTHON) -m tools.setup
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test check bench score-files simulate seeded-bugs conformance soak witness rest hostile report manifests clean lock changelog

help: ## this list
	@echo "Usage: make TARGET [NAME=value ...]"
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' Makefile | expand -t 16

run: ## a cluster in this process, the operator and its kinds on this machine; ARGS=... for more
	@$(SETUP) venv
	@$(SETUP) gateway || echo "make: there is no Envoy for this machine; going on without gateways" >&2
	@$(BIN)/seamark dev $(ARGS)

test: ## everything, stage by stage (tools/stages.toml), with minutes against the budget
	@$(PYTHON) -m tools.stages

check: ## lint, types, import contracts and unit tests: under a minute
	@$(PYTHON) -m tools.stages check

bench: ## measure FAMILY=core with N=1000 objects against the API server's own floor
	@$(SETUP) venv controlplane $(if $(filter gateway,$(FAMILY)),gateway)
	@$(BIN)/python -m tests.bench --family $(FAMILY) --n $(N) $(ARGS)

score-files: ## the Score files of tests/score_files on this machine; ARGS="--only TEXT" for some of them
	@$(SETUP) venv
	@$(SETUP) gateway || echo "make: there is no Envoy for this machine; going on without gateways" >&2
	@$(BIN)/python -m tests.score_files.run $(ARGS)

simulate: ## SEEDS=2000 schedules of FAMILY=core on the deterministic loop
	@$(SETUP) venv
	@$(BIN)/python -m tests.simulation --family $(FAMILY) --seeds $(SEEDS) $(ARGS)

seeded-bugs: ## plant every known bug and show that the tests find it
	@$(SETUP) venv
	@$(BIN)/python -m tests.simulation.seeded_bugs $(ARGS)

conformance: ## the official Gateway API conformance suite, on this machine; ARGS=--test NAME for one test
	@$(SETUP) venv controlplane gateway conformance
	@$(BIN)/python -m tests.conformance $(ARGS)

soak: ## all families with churn and faults on the real control plane, then the witness, each for MINUTES=5; needs root
	@$(SETUP) venv controlplane gateway system
	@$(BIN)/python -m tests.soak --minutes $(MINUTES) $(ARGS)
	@$(BIN)/python -m tests.witness --minutes $(MINUTES)

witness: ## compare all statuses with what clients see, with faults, for MINUTES=5; needs root
	@$(SETUP) venv controlplane gateway system
	@$(BIN)/python -m tests.witness --minutes $(MINUTES) $(ARGS)

rest: ## all examples for MINUTES=5 in which nothing changes: what is written meanwhile, and the CPU of all probes
	@$(SETUP) venv gateway
	@$(BIN)/python -m tests.rest --minutes $(MINUTES) $(ARGS)

hostile: ## every field that a tenant may write, with hostile values; ARGS=--edge for the edge's ports; needs root
	@$(SETUP) venv controlplane gateway system
	@$(BIN)/python -m tests.hostile $(ARGS)

manifests: ## what the chart and plain manifests take from the code: charts/seamark, deploy/, docs/reference
	@$(SETUP) venv helm
	@$(BIN)/python -m tools.chart
	@$(BIN)/python -m tools.manifests
	@$(BIN)/python -m tools.reference

changelog: ## put the fragments of changes/ into CHANGELOG.md as VERSION=0.2.0
	@$(PYTHON) -m tools.changelog $(VERSION)

lock: ## write the locked versions of all dependencies from pyproject.toml; ARGS=--upgrade chooses them anew
	@$(SETUP) venv
	@$(PYTHON) -m tools.lock $(ARGS)

report: ## the latest results of bench, soak and simulation as one page with plots
	@$(SETUP) venv
	@$(BIN)/python -m tools.report $(ARGS)

clean: ## remove what was built here (the control plane stays in the user's cache)
	rm -rf .venv .venv.lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find packages tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
