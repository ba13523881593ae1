"""The kinds that these controllers reconcile, with the fields that they read.

- A Pod template is kept unparsed: its fields are for the kubelet, and none may be lost.
"""

from __future__ import annotations

from typing import Any, ClassVar

from seamark_runtime.api import discovery
from seamark_runtime.api.core import PodCondition, PodStatus
from seamark_runtime.api.meta import Object, ObjectMeta, Resource, Wire

Template = dict[str, Any]


class Requirement(Wire, frozen=True, kw_only=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class Selector(Wire, frozen=True, kw_only=True):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Requirement, ...] | None = None


class WorkloadCondition(Wire, frozen=True, kw_only=True):
    """Of a Deployment or ReplicaSet. Only a Deployment's has a lastUpdateTime."""

    type: str
    status: str
    last_update_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class MadeMeta(ObjectMeta, frozen=True, kw_only=True):
    """Metadata of objects that are created here; it keeps generateName."""

    generate_name: str = ""


# ---- Pods


class Pod(Object, frozen=True, kw_only=True):
    """A Pod whose spec is kept whole, as it comes from a template."""

    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Pod", "pods")

    metadata: MadeMeta = MadeMeta()
    spec: dict[str, Any] | None = None
    status: PodStatus = PodStatus()

    def condition(self, type_: str) -> PodCondition | None:
        return next((condition for condition in self.status.conditions or () if condition.type == type_), None)

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def ready(self) -> bool:
        condition = self.condition("Ready")
        return condition is not None and condition.status == "True"


# ---- ReplicaSets


class ReplicaSetSpec(Wire, frozen=True, kw_only=True):
    replicas: int | None = None
    min_ready_seconds: int = 0
    selector: Selector | None = None
    template: Template | None = None


class ReplicaSetStatus(Wire, frozen=True, kw_only=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: tuple[WorkloadCondition, ...] = ()


class ReplicaSet(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "ReplicaSet", "replicasets")

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()

    @property
    def replicas(self) -> int:
        return 1 if self.spec.replicas is None else self.spec.replicas


# ---- Deployments


class RollingUpdate(Wire, frozen=True, kw_only=True):
    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"


class Strategy(Wire, frozen=True, kw_only=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Wire, frozen=True, kw_only=True):
    replicas: int = 1
    selector: Selector = Selector()
    template: Template | None = None
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int = 600


class DeploymentStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[WorkloadCondition, ...] = ()


class Deployment(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "Deployment", "deployments")

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


# ---- StatefulSets


class Partition(Wire, frozen=True, kw_only=True):
    partition: int = 0


class UpdateStrategy(Wire, frozen=True, kw_only=True):
    type: str = "RollingUpdate"
    rolling_update: Partition | None = None


class Ordinals(Wire, frozen=True, kw_only=True):
    start: int = 0


class StatefulSetSpec(Wire, frozen=True, kw_only=True):
    replicas: int = 1
    selector: Selector = Selector()
    template: Template | None = None
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int = 10
    min_ready_seconds: int = 0
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[dict[str, Any], ...] = ()


class StatefulSetStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int | None = None
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None


class StatefulSet(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "StatefulSet", "statefulsets")

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class ControllerRevision(Object, frozen=True, kw_only=True):
    """A past or current template, by revision number."""

    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "ControllerRevision", "controllerrevisions")

    data: dict[str, Any] | None = None
    revision: int = 0


# ---- what every namespace has


class ServiceAccount(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ServiceAccount", "serviceaccounts")


# ---- Services


class EndpointSlice(discovery.EndpointSlice, frozen=True, kw_only=True):
    """An EndpointSlice that is created here: addressType is required."""

    metadata: MadeMeta = MadeMeta()
    address_type: str = ""


class Endpoints(Object, frozen=True, kw_only=True):
    """The older form of EndpointSlices, one per Service."""

    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Endpoints", "endpoints")

    subsets: tuple[dict[str, Any], ...] | None = None
