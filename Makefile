.PHONY: check
check: ## lint, types, import contracts, unit tests
	.venv/bin/ruff check src tests && .venv/bin/ruff format --check src tests
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/pytest tests/unit
