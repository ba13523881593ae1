"""What the decisions about a plan to render are made from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import WorkloadPlan
from seamark.families.score.model.planvalues import PlanValues
from seamark_runtime.api.apps import PersistentVolumeClaim

FILES = "score.dev/files"  # on the pods: a digest of their files, which are not renewed under a running container
GATEWAY = "default"  # the Gateway of routes, unless the platform names another


@dataclass(frozen=True)
class Seen:
    plan: WorkloadPlan
    values: PlanValues | None  # None: the plan is for another runtime
    volumes: tuple[PersistentVolumeClaim, ...] = ()  # all that were rendered from plans of this name
