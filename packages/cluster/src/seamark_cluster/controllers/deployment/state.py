"""The facts that a Deployment's reconcile decides from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from seamark_cluster.controllers.workload.kinds import Deployment, ReplicaSet, RollingUpdate, Template

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
ROLLED_OUT = "NewReplicaSetAvailable"  # the reason of Progressing after a rollout
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MOST)


@dataclass(frozen=True)
class Seen:
    deployment: Deployment
    replica_sets: tuple[ReplicaSet, ...]  # those it controls, the oldest first
    orphans: tuple[ReplicaSet, ...]  # those it will adopt
    old_pods_run: bool  # for Recreate: whether Pods of older templates still exist
    overdue: bool  # whether the progress deadline has passed

    @cached_property
    def newest(self) -> ReplicaSet | None:
        """The ReplicaSet of the current template, if it exists."""
        wanted = self.deployment.spec.template or {}
        return next(
            (
                replica_set
                for replica_set in self.replica_sets
                if without_hash(replica_set.spec.template or {}) == wanted
            ),
            None,
        )

    @cached_property
    def older(self) -> tuple[ReplicaSet, ...]:
        return tuple(replica_set for replica_set in self.replica_sets if replica_set is not self.newest)

    @property
    def surge(self) -> int:
        """How many Pods above the desired number may exist."""
        return self._limits[0]

    @property
    def unavailable(self) -> int:
        """How many Pods below the desired number may be available."""
        return self._limits[1]

    @cached_property
    def _limits(self) -> tuple[int, int]:
        spec = self.deployment.spec
        if spec.strategy.type != "RollingUpdate":
            return 0, spec.replicas
        rolling = spec.strategy.rolling_update or RollingUpdate()
        surge = share(rolling.max_surge, spec.replicas, up=True)
        unavailable = share(rolling.max_unavailable, spec.replicas, up=False)
        if not surge and not unavailable:
            unavailable = 1  # with both at 0 the rollout could never progress
        return surge, min(unavailable, spec.replicas)


def share(value: int | str, whole: int, *, up: bool) -> int:
    """A number, or a percentage of the total."""
    if isinstance(value, int):
        return value
    hundredths = int(value.removesuffix("%")) * whole
    return -(-hundredths // 100) if up else hundredths // 100


def without_hash(template: Template) -> Template:
    meta: dict[str, Any] = dict(template.get("metadata") or {})
    labels = {name: value for name, value in (meta.get("labels") or {}).items() if name != HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def revision_of(replica_set: ReplicaSet) -> int:
    text = replica_set.annotation(REVISION)
    return int(text) if text.isdigit() else 0
