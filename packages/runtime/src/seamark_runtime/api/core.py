"""The core group, as far as Seamark reads or makes its kinds."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import field

from seamark_runtime.api.meta import Condition, ManagedMeta, Object, ObjectMeta, Resource, Wire
from seamark_runtime.untrusted.names import NameRule


class ConfigMap(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")

    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None


class Secret(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Secret", "secrets")

    type: str = ""
    data: dict[str, bytes] | None = None

    def __repr__(self) -> str:
        return f"Secret({self.key})"  # what it holds belongs in no log


class Namespace(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Namespace", "namespaces", namespaced=False, names=NameRule.LABEL)


# ---- Services


class ServicePort(Wire, frozen=True, kw_only=True):
    name: str = ""
    port: int
    protocol: str = "TCP"
    target_port: int | str | None = None
    node_port: int = 0
    app_protocol: str = ""


class ClientIPConfig(Wire, frozen=True, kw_only=True):
    timeout_seconds: int = 10800


class SessionAffinityConfig(Wire, frozen=True, kw_only=True):
    client_ip: ClientIPConfig | None = field(default=None, name="clientIP")


class ServiceSpec(Wire, frozen=True, kw_only=True):
    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] | None = None
    selector: dict[str, str] | None = None
    cluster_ip: str = field(default="", name="clusterIP")
    cluster_ips: tuple[str, ...] | None = field(default=None, name="clusterIPs")
    external_name: str = ""
    session_affinity: str = "None"
    session_affinity_config: SessionAffinityConfig | None = None
    publish_not_ready_addresses: bool = False
    load_balancer_class: str = ""
    load_balancer_source_ranges: tuple[str, ...] | None = None


class IngressPort(Wire, frozen=True, kw_only=True):
    port: int
    protocol: str  # always sent: the API server requires it
    error: str | None = None


class LoadBalancerIngress(Wire, frozen=True, kw_only=True):
    """One address of a load balancer, by name or by number."""

    hostname: str = ""
    ip: str = ""
    ip_mode: str | None = None
    ports: tuple[IngressPort, ...] | None = None


class LoadBalancerStatus(Wire, frozen=True, kw_only=True):
    ingress: tuple[LoadBalancerIngress, ...] | None = None


class ServiceStatus(Wire, frozen=True, kw_only=True):
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()
    conditions: tuple[Condition, ...] | None = None


class Service(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Service", "services")

    metadata: ManagedMeta = ManagedMeta()
    spec: ServiceSpec | None = None
    status: ServiceStatus | None = None


# ---- Pods


class FieldRef(Wire, frozen=True, kw_only=True):
    field_path: str


class KeyRef(Wire, frozen=True, kw_only=True):
    """A key of a ConfigMap or Secret."""

    name: str = ""
    key: str
    optional: bool = False


class ResourceFieldRef(Wire, frozen=True, kw_only=True):
    resource: str
    container_name: str = ""
    divisor: str | int = ""


class EnvVarSource(Wire, frozen=True, kw_only=True):
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class EnvVar(Wire, frozen=True, kw_only=True):
    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class NameRef(Wire, frozen=True, kw_only=True):
    name: str = ""
    optional: bool = False


class EnvFrom(Wire, frozen=True, kw_only=True):
    prefix: str = ""
    config_map_ref: NameRef | None = None
    secret_ref: NameRef | None = None


class ContainerPort(Wire, frozen=True, kw_only=True):
    container_port: int
    name: str = ""
    protocol: str = "TCP"


class VolumeMount(Wire, frozen=True, kw_only=True):
    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class HttpHeader(Wire, frozen=True, kw_only=True):
    name: str
    value: str = ""


class HttpGet(Wire, frozen=True, kw_only=True):
    port: int | str
    path: str = "/"
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HttpHeader, ...] | None = None


class TcpSocket(Wire, frozen=True, kw_only=True):
    port: int | str
    host: str = ""


class ExecAction(Wire, frozen=True, kw_only=True):
    command: tuple[str, ...] | None = None


class SleepAction(Wire, frozen=True, kw_only=True):
    seconds: int = 0


class Probe(Wire, frozen=True, kw_only=True):
    http_get: HttpGet | None = None
    tcp_socket: TcpSocket | None = None
    exec: ExecAction | None = None
    grpc: dict[str, Any] | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3


class Handler(Wire, frozen=True, kw_only=True):
    exec: ExecAction | None = None
    http_get: HttpGet | None = None
    sleep: SleepAction | None = None


class Lifecycle(Wire, frozen=True, kw_only=True):
    pre_stop: Handler | None = None


class Container(Wire, frozen=True, kw_only=True):
    name: str
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    working_dir: str = ""
    env: tuple[EnvVar, ...] | None = None
    env_from: tuple[EnvFrom, ...] | None = None
    ports: tuple[ContainerPort, ...] | None = None
    volume_mounts: tuple[VolumeMount, ...] | None = None
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    restart_policy: str = ""
    stdin: bool = False
    stdin_once: bool = False

    def port(self, wanted: int | str) -> int | None:
        """The number of a port that is given by number or name."""
        if isinstance(wanted, int):
            return wanted
        if wanted.isdigit():
            return int(wanted)
        return next((port.container_port for port in self.ports or () if port.name == wanted), None)


class KeyToPath(Wire, frozen=True, kw_only=True):
    key: str
    path: str
    mode: int | None = None


class ConfigMapFiles(Wire, frozen=True, kw_only=True):
    name: str = ""
    items: tuple[KeyToPath, ...] | None = None
    optional: bool = False
    default_mode: int | None = None


class SecretFiles(Wire, frozen=True, kw_only=True):
    name: str = ""  # in a projection
    secret_name: str = ""  # in a volume
    items: tuple[KeyToPath, ...] | None = None
    optional: bool = False
    default_mode: int | None = None


class DownwardFile(Wire, frozen=True, kw_only=True):
    path: str
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None


class DownwardFiles(Wire, frozen=True, kw_only=True):
    items: tuple[DownwardFile, ...] | None = None


class TokenFile(Wire, frozen=True, kw_only=True):
    path: str
    audience: str = ""
    expiration_seconds: int = 3600


class Projection(Wire, frozen=True, kw_only=True):
    config_map: ConfigMapFiles | None = None
    secret: SecretFiles | None = None
    downward_api: DownwardFiles | None = field(default=None, name="downwardAPI")
    service_account_token: TokenFile | None = None


class Projected(Wire, frozen=True, kw_only=True):
    sources: tuple[Projection, ...] | None = None


class HostPath(Wire, frozen=True, kw_only=True):
    path: str
    type: str | None = None


class ClaimVolume(Wire, frozen=True, kw_only=True):
    claim_name: str
    read_only: bool = False


class Volume(Wire, frozen=True, kw_only=True):
    name: str
    config_map: ConfigMapFiles | None = None
    secret: SecretFiles | None = None
    projected: Projected | None = None
    downward_api: DownwardFiles | None = field(default=None, name="downwardAPI")
    empty_dir: dict[str, Any] | None = None
    host_path: HostPath | None = None
    persistent_volume_claim: ClaimVolume | None = None


class ReadinessGate(Wire, frozen=True, kw_only=True):
    condition_type: str


class PodSpec(Wire, frozen=True, kw_only=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    node_name: str = ""
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    service_account_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    dns_policy: str = "ClusterFirst"
    readiness_gates: tuple[ReadinessGate, ...] | None = None
    scheduling_gates: tuple[dict[str, Any], ...] | None = None
    node_selector: dict[str, str] | None = None


class PodCondition(Wire, frozen=True, kw_only=True):
    """Unlike other conditions these may come without a reason."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodIP(Wire, frozen=True, kw_only=True):
    ip: str = ""


class ContainerStatus(Wire, frozen=True, kw_only=True):
    name: str
    restart_count: int = 0
    ready: bool = False
    state: dict[str, Any] | None = None


class PodStatus(Wire, frozen=True, kw_only=True):
    phase: str = ""
    pod_ip: str = field(default="", name="podIP")
    pod_ips: tuple[PodIP, ...] | None = field(default=None, name="podIPs")
    conditions: tuple[PodCondition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    start_time: str | None = None


class PodMeta(ObjectMeta, frozen=True, kw_only=True):
    deletion_grace_period_seconds: int | None = None


class Pod(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Pod", "pods")

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, type_: str) -> PodCondition | None:
        return next((condition for condition in self.status.conditions or () if condition.type == type_), None)

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")


# ---- Nodes


class BindingTarget(Wire, frozen=True, kw_only=True):
    api_version: str = "v1"
    kind: str = "Node"
    name: str = ""


class Binding(Object, frozen=True, kw_only=True):
    """Posted, it puts the Pod of its name on a Node; it is never stored."""

    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Binding", "bindings")

    target: BindingTarget | None = None


class NodeSpec(Wire, frozen=True, kw_only=True):
    pod_cidr: str = field(default="", name="podCIDR")
    pod_cidrs: tuple[str, ...] | None = field(default=None, name="podCIDRs")
    unschedulable: bool = False


class Node(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec | None = None
