"""apps/v1 and the claims of volumes, as far as Seamark makes them and reads their status."""

from __future__ import annotations

from typing import ClassVar

from seamark_runtime.api.core import Container, Volume
from seamark_runtime.api.meta import Object, Resource, Wire


class Compute(Wire, frozen=True, kw_only=True):
    OURS: ClassVar = ("limits", "requests")

    limits: dict[str, str] | None = None
    requests: dict[str, str] | None = None


class TemplateContainer(Container, frozen=True, kw_only=True):
    OURS: ClassVar = (
        "command",
        "args",
        "env",
        "ports",
        "volume_mounts",
        "readiness_probe",
        "liveness_probe",
        "startup_probe",
    )

    resources: Compute = Compute()


class TemplateSpec(Wire, frozen=True, kw_only=True):
    OURS: ClassVar = ("volumes", "init_containers")

    init_containers: tuple[TemplateContainer, ...] | None = None
    containers: tuple[TemplateContainer, ...] = ()
    volumes: tuple[Volume, ...] | None = None


class TemplateMeta(Wire, frozen=True, kw_only=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class PodTemplate(Wire, frozen=True, kw_only=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()


class Selector(Wire, frozen=True, kw_only=True):
    match_labels: dict[str, str] | None = None


class RolloutCondition(Wire, frozen=True, kw_only=True):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""


class RolloutStatus(Wire, frozen=True, kw_only=True):
    """Of a Deployment or a StatefulSet."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[RolloutCondition, ...] = ()


class RolloutSpec(Wire, frozen=True, kw_only=True):
    """`replicas` is left to the autoscaler or user who scales; `service_name` is of a StatefulSet."""

    selector: Selector = Selector()
    template: PodTemplate = PodTemplate()
    replicas: int | None = None
    service_name: str = ""


class Deployment(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "Deployment", "deployments")

    spec: RolloutSpec = RolloutSpec()
    status: RolloutStatus | None = None


class StatefulSet(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "StatefulSet", "statefulsets")

    spec: RolloutSpec = RolloutSpec()
    status: RolloutStatus | None = None


class StorageRequest(Wire, frozen=True, kw_only=True):
    requests: dict[str, str] | None = None


class PersistentVolumeClaimSpec(Wire, frozen=True, kw_only=True):
    access_modes: tuple[str, ...] | None = None
    resources: StorageRequest | None = None


class PersistentVolumeClaim(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
