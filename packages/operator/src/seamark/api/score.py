"""score.dev/v1b1: Workload, what it claims, how it is planned, and the endpoint that the runtime has published.

- A Workload is written by a developer. The mirror sets its `endpoint` and RuntimeReady, the orchestrator the rest.
- A WorkloadExposure is how a runtime answers: its spec is the registrar's alone, its status the runtime's alone.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Condition, ManagedMeta, Object, Resource, Wire
from seamark_runtime.api.schema import ATOMIC, Rule, checked, map_by

GROUP, VERSION = "score.dev", "v1b1"
LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
TYPE = "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$"
QUANTITY = r"^(\d+(\.\d*)?|\.\d+)(m|k|[MGTPE]i?|Ki|[eE][-+]?\d{1,3})?$"
IMAGE = r"^[A-Za-z0-9][\w.:/@+-]*$"

Name = Annotated[str, Meta(min_length=1, max_length=63, pattern=LABEL)]
Port = Annotated[int, Meta(ge=1, le=65535)]
Conditions = Annotated[tuple[Condition, ...], Meta(max_length=32), map_by("type")]
FreeForm = Annotated[dict[str, Any], Meta(max_length=256)]


# ---- Workload


class FileSource(Wire, frozen=True, kw_only=True):
    uri: Annotated[str, Meta(min_length=1, max_length=2048)]


class File(Wire, frozen=True, kw_only=True):
    """A file in a container."""

    RULES: ClassVar = (
        Rule(
            rule="[has(self.source), has(self.content), has(self.binaryContent)].filter(said, said).size() == 1",
            message="exactly one of source, content and binaryContent must be set",
        ),
    )

    target: Annotated[str, Meta(min_length=1, max_length=1024, description="Where it is in the container")]
    mode: Annotated[str, Meta(pattern="^0?[0-7]{3}$", description="Access mode, octal: 0600")] | None = None
    source: FileSource | None = None
    content: Annotated[str, Meta(description="Text, in which placeholders are replaced")] | None = None
    binary_content: (
        Annotated[
            str, Meta(description="Base64", extra_json_schema={"format": "byte"}, pattern="^[A-Za-z0-9+/]*={0,2}$")
        ]
        | None
    ) = None
    no_expand: Annotated[bool, Meta(description="Placeholders in the content stay as they are")] = False


class Volume(Wire, frozen=True, kw_only=True):
    """A volume in a container."""

    target: Annotated[str, Meta(min_length=1, max_length=1024, description="Where it is in the container")]
    source: Annotated[str, Meta(min_length=1, max_length=253, description="The resource that gives the volume")]
    path: Annotated[str, Meta(max_length=1024, description="A path inside of the volume")] = ""
    read_only: bool = False


class Header(Wire, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=256, pattern="^[A-Za-z0-9_-]+$")]
    value: Annotated[str, Meta(min_length=1, max_length=4096)]


class HttpGet(Wire, frozen=True, kw_only=True):
    port: Port
    path: Annotated[str, Meta(max_length=2048)] = ""
    host: Annotated[str, Meta(max_length=253)] = ""
    scheme: Annotated[str, Meta(extra_json_schema={"enum": ["HTTP", "HTTPS"]})] | None = None
    headers: Annotated[tuple[Header, ...], Meta(max_length=32), ATOMIC] = ()


class Exec(Wire, frozen=True, kw_only=True):
    command: Annotated[tuple[str, ...], Meta(min_length=1, max_length=64), ATOMIC]


class Probe(Wire, frozen=True, kw_only=True):
    """How to find out whether a container is well. Of two ways `exec` decides, as the specification prefers it."""

    RULES: ClassVar = (
        Rule(rule="has(self.httpGet) || has(self.exec)", message="at least one of httpGet and exec must be set"),
    )

    http_get: HttpGet | None = None
    exec: Exec | None = None


Quantities = Annotated[
    dict[str, Annotated[str, Meta(max_length=32, pattern=QUANTITY)]],
    Meta(max_length=8),
    checked(
        Rule(rule="self.all(name, name in ['cpu', 'memory'])", message="only cpu and memory can be requested"),
    ),
]


class Compute(Wire, frozen=True, kw_only=True):
    limits: Quantities | None = None
    requests: Quantities | None = None


class Before(Wire, frozen=True, kw_only=True):
    """What a container has to reach before another one starts."""

    ready: Annotated[str, Meta(extra_json_schema={"enum": ["started", "healthy", "complete"]})]


class Container(Wire, frozen=True, kw_only=True):
    """One container of a workload."""

    image: Annotated[str, Meta(min_length=1, max_length=1024, pattern=IMAGE)]
    command: Annotated[tuple[str, ...], Meta(max_length=256), ATOMIC] = ()
    args: Annotated[tuple[str, ...], Meta(max_length=256), ATOMIC] = ()
    variables: Annotated[dict[str, str], Meta(max_length=256)] | None = None
    files: Annotated[tuple[File, ...], Meta(max_length=20), map_by("target")] = ()
    volumes: Annotated[tuple[Volume, ...], Meta(max_length=20), map_by("target")] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    resources: Compute | None = None
    before: (
        Annotated[dict[str, Before], Meta(max_length=9, description="The containers that this one precedes, by name")]
        | None
    ) = None


class ServicePort(Wire, frozen=True, kw_only=True):
    port: Port
    name: Annotated[str, Meta(max_length=63, pattern=f"^$|{LABEL}")] = ""
    protocol: Annotated[str, Meta(extra_json_schema={"enum": ["TCP", "UDP"]})] = "TCP"
    target_port: Annotated[Port, Meta(description="The container's port; the same as port if not set")] | None = None


class WorkloadService(Wire, frozen=True, kw_only=True):
    """The ports that the workload offers."""

    RULES: ClassVar = (
        Rule(
            rule="!has(self.ports) || self.ports.all(one, !has(one.name) || one.name == '' || "
            "self.ports.filter(other, has(other.name) && other.name == one.name).size() == 1)",
            message="the names of ports must be unique",
            field_path=".ports",
        ),
    )

    ports: Annotated[tuple[ServicePort, ...], Meta(max_length=50), map_by("port", "protocol")] = ()


class DependencyMetadata(Wire, frozen=True, kw_only=True):
    annotations: Annotated[dict[str, str], Meta(max_length=64)] | None = None
    extra: Annotated[FreeForm, Meta(description="Its other keys, as the Score file has them")] | None = None


class Dependency(Wire, frozen=True, kw_only=True):
    """Something that the workload needs, by type."""

    type: Annotated[str, Meta(min_length=2, max_length=63, pattern=TYPE)]
    class_: Annotated[str, Meta(max_length=63, pattern=f"^$|{TYPE}")] = msgspec.field(default="", name="class")
    id: Annotated[str, Meta(max_length=63, pattern=r"^$|^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")] = ""
    metadata: DependencyMetadata | None = None
    params: FreeForm | None = None


def _names(field: str, what: str) -> Rule:
    return Rule(
        rule=f"!has(self.{field}) || self.{field}.all(name, size(name) <= 63 && name.matches('{LABEL}'))",
        message=f"the name of a {what} is at most 63 small letters, digits and dashes, with no dash at its ends",
        field_path=f".{field}",
    )


class WorkloadSpec(Wire, frozen=True, kw_only=True):
    RULES: ClassVar = (_names("containers", "container"), _names("resources", "resource"))

    containers: Annotated[dict[str, Container], Meta(min_length=1, max_length=10)]
    profile: Annotated[str, Meta(max_length=63, description="The platform's profile; chosen if not set")] = ""
    metadata: (
        Annotated[FreeForm, Meta(description="Keys of the Score file's metadata that Kubernetes has not; placeholders")]
        | None
    ) = None
    service: WorkloadService | None = None
    resources: Annotated[dict[str, Dependency], Meta(max_length=50)] | None = None


class ClaimSummary(Wire, frozen=True, kw_only=True):
    key: Annotated[str, Meta(max_length=63)]
    phase: Annotated[str, Meta(max_length=63)]
    reason: Annotated[str, Meta(max_length=1024)] = ""
    message: Annotated[str, Meta(max_length=32768)] = ""
    outputs_available: bool = False


class WorkloadStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    endpoint: Annotated[str, Meta(max_length=2048, description="Where it is reached, as the runtime says")] | None = (
        None
    )
    conditions: Conditions = ()
    claims: Annotated[tuple[ClaimSummary, ...], Meta(max_length=64), map_by("key")] | None = None


class Workload(Object, frozen=True, kw_only=True):
    """What a developer wants to run, with the things it needs."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, VERSION, "Workload", "workloads")

    metadata: ManagedMeta = ManagedMeta()
    spec: WorkloadSpec
    status: WorkloadStatus | None = None


# ---- ResourceClaim


class WorkloadRef(Wire, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, Meta(max_length=63)] = ""
    uid: Annotated[str, Meta(max_length=128)] = ""


class ResourceClaimSpec(Wire, frozen=True, kw_only=True):
    workload_ref: WorkloadRef
    key: Name
    type: Annotated[str, Meta(min_length=2, max_length=63, pattern=TYPE)]
    class_: Annotated[str, Meta(max_length=63)] = msgspec.field(default="", name="class")
    id: Annotated[str, Meta(max_length=63)] = ""
    params: FreeForm | None = None
    deprovision_policy: Literal["Delete", "Retain", "Orphan"] = "Delete"


class NamedRef(Wire, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=253)]


class CertificateOutput(Wire, frozen=True, kw_only=True):
    secret_name: Annotated[str, Meta(max_length=253)] = ""
    data: Annotated[dict[str, str], Meta(max_length=16)] | None = None


class ClaimOutputs(Wire, frozen=True, kw_only=True):
    """What a claim gives: references, never a secret itself."""

    RULES: ClassVar = (
        Rule(
            rule="has(self.secretRef) || has(self.configMapRef) || has(self.uri) || has(self.image) || has(self.cert)",
            message="outputs name at least one of secretRef, configMapRef, uri, image and cert",
        ),
    )

    secret_ref: NamedRef | None = None
    config_map_ref: NamedRef | None = None
    uri: Annotated[str, Meta(max_length=2048)] | None = None
    image: Annotated[str, Meta(max_length=1024)] | None = None
    cert: CertificateOutput | None = None


class ResourceClaimStatus(Wire, frozen=True, kw_only=True):
    phase: Annotated[str, Meta(extra_json_schema={"enum": ["Pending", "Claiming", "Bound", "Failed"]})] | None = None
    reason: Annotated[str, Meta(max_length=1024)] = ""
    message: Annotated[str, Meta(max_length=32768)] = ""
    outputs_available: bool = False
    observed_generation: int | None = None
    last_transition_time: Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | None = None
    outputs: ClaimOutputs | None = None


class ResourceClaim(Object, frozen=True, kw_only=True):
    """One thing that a workload needs, for a provisioner to give."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, VERSION, "ResourceClaim", "resourceclaims")

    spec: ResourceClaimSpec
    status: ResourceClaimStatus | None = None


# ---- the platform's configuration


class PlatformConfig(ConfigMap, frozen=True, kw_only=True):
    """The ConfigMap with the platform's configuration: a type of its own, so that it is followed apart from others."""


# ---- WorkloadPlan


class PlanTemplate(Wire, frozen=True, kw_only=True):
    kind: Annotated[str, Meta(extra_json_schema={"enum": ["manifests", "helm", "kustomize"]})]
    ref: Annotated[str, Meta(max_length=1024)] = ""
    values: FreeForm | None = None


class PlanClaim(Wire, frozen=True, kw_only=True):
    key: Name
    type: Annotated[str, Meta(max_length=63)]
    class_: Annotated[str, Meta(max_length=63)] = msgspec.field(default="", name="class")
    params: FreeForm | None = None


class WorkloadPlanSpec(Wire, frozen=True, kw_only=True):
    workload_ref: WorkloadRef
    observed_workload_generation: Annotated[int, Meta(ge=1)]
    runtime_class: Annotated[str, Meta(min_length=1, max_length=63)]
    template: PlanTemplate | None = None
    resolved_values: FreeForm | None = None
    claims: Annotated[tuple[PlanClaim, ...], Meta(max_length=64), map_by("key")] | None = None


class WorkloadPlanStatus(Wire, frozen=True, kw_only=True):
    phase: Annotated[str, Meta(extra_json_schema={"enum": ["Pending", "Provisioning", "Ready", "Failed"]})] | None = (
        None
    )
    conditions: Conditions = ()
    message: Annotated[str, Meta(max_length=32768)] = ""


class WorkloadPlan(Object, frozen=True, kw_only=True):
    """A workload made ready for a runtime: its backend, and its values with secrets as references."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, VERSION, "WorkloadPlan", "workloadplans")

    spec: WorkloadPlanSpec
    status: WorkloadPlanStatus | None = None


# ---- WorkloadExposure


class WorkloadExposureSpec(Wire, frozen=True, kw_only=True):
    workload_ref: WorkloadRef
    observed_workload_generation: Annotated[int, Meta(ge=1)]
    runtime_class: Annotated[str, Meta(min_length=1, max_length=63)]


class Exposure(Wire, frozen=True, kw_only=True):
    """One way to reach the workload."""

    url: Annotated[str, Meta(min_length=1, max_length=2048, description="A URI, of any scheme")]
    priority: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, description="The highest wins")] = 0
    scope: Annotated[str, Meta(extra_json_schema={"enum": ["Public", "ClusterLocal", "VPC", "Other"]})] | None = None
    scheme_hint: Annotated[str, Meta(extra_json_schema={"enum": ["HTTP", "HTTPS", "GRPC", "TCP", "OTHER"]})] | None = (
        None
    )
    reachable: Annotated[bool, Meta(description="Whether it answered when last tried")] | None = None
    ready: Annotated[bool, Meta(description="Whether the runtime considers it ready, where it reports that")] | None = (
        None
    )


class WorkloadExposureStatus(Wire, frozen=True, kw_only=True):
    observed_workload_generation: (
        Annotated[int, Meta(ge=0, description="The generation of the Workload that this answers for")] | None
    ) = None
    exposures: Annotated[tuple[Exposure, ...], Meta(max_length=64), ATOMIC] | None = None
    conditions: Conditions = ()


class WorkloadExposure(Object, frozen=True, kw_only=True):
    """What a runtime says about where a workload can be reached. Internal: users read the Workload."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, VERSION, "WorkloadExposure", "workloadexposures")

    metadata: ManagedMeta = ManagedMeta()
    spec: WorkloadExposureSpec
    status: WorkloadExposureStatus | None = None
