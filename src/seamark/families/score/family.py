"""The Score family, ready to run."""

from __future__ import annotations

from seamark.core.family import Family
from seamark.families.score.crds import CRDS
from seamark.families.score.mirror.controller import controller as mirror
from seamark.families.score.orchestrator.controller import controller as orchestrator
from seamark.families.score.provisioner.controller import controller as provisioner
from seamark.families.score.registrar.controller import controller as registrar

SCORE = Family(
    name="score",
    summary="Workload: its endpoint is what its runtime published",
    crds=CRDS,
    controllers=lambda: (orchestrator(), provisioner(), registrar(), mirror()),
)
