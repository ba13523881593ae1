"""The names of the parts of the family: of their Family, their account and their roles."""

from __future__ import annotations

ORCHESTRATOR = "score-orchestrator"
REGISTRAR = "score-registrar"
MIRROR = "score-mirror"
RUNTIME = "score-runtime"
