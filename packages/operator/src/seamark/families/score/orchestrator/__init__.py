"""The orchestrator plans: it chooses a backend, claims what is needed, and resolves what a runtime is to run."""
