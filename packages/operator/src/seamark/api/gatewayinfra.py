"""What is made for a gateway on a cluster: the Pods of its Envoys, their configuration, and the Service before them.

Classes of their own, so that only these objects are followed, and not every Deployment and Service of the cluster.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from seamark_runtime.api.apps import Compute, Selector
from seamark_runtime.api.core import ConfigMap, Container, IngressPort, ServicePort, Volume
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Condition, Object, Resource, Wire


class EnvoyConfig(ConfigMap, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = ConfigMap.RESOURCE


class Capabilities(Wire, frozen=True, kw_only=True):
    drop: tuple[str, ...] | None = None


class ContainerSecurity(Wire, frozen=True, kw_only=True):
    allow_privilege_escalation: bool | None = None
    read_only_root_filesystem: bool | None = None
    capabilities: Capabilities | None = None


class EnvoyContainer(Container, frozen=True, kw_only=True):
    OURS: ClassVar = ("command", "args", "env", "ports", "volume_mounts")

    resources: Compute = Compute()
    security_context: ContainerSecurity | None = None


class Sysctl(Wire, frozen=True, kw_only=True):
    name: str
    value: str


class SeccompProfile(Wire, frozen=True, kw_only=True):
    type: str  # no default: a default is not encoded, and the API server requires the field


class PodSecurity(Wire, frozen=True, kw_only=True):
    sysctls: tuple[Sysctl, ...] | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    seccomp_profile: SeccompProfile | None = None


class EnvoyPodSpec(Wire, frozen=True, kw_only=True):
    containers: tuple[EnvoyContainer, ...] = ()
    volumes: tuple[Volume, ...] | None = None
    security_context: PodSecurity | None = None
    automount_service_account_token: bool | None = None
    termination_grace_period_seconds: int | None = None


class EnvoyPodMeta(Wire, frozen=True, kw_only=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class EnvoyPodTemplate(Wire, frozen=True, kw_only=True):
    metadata: EnvoyPodMeta = EnvoyPodMeta()
    spec: EnvoyPodSpec = EnvoyPodSpec()


class EnvoyRollout(Wire, frozen=True, kw_only=True):
    """`replicas` is left to the autoscaler or user who scales."""

    selector: Selector = Selector()
    template: EnvoyPodTemplate = EnvoyPodTemplate()
    replicas: int | None = None


class EnvoyDeployment(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "Deployment", "deployments")

    spec: EnvoyRollout = EnvoyRollout()


class EnvoyDaemonSet(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "DaemonSet", "daemonsets")

    spec: EnvoyRollout = EnvoyRollout()


class FrontServiceSpec(Wire, frozen=True, kw_only=True):
    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] | None = None
    selector: dict[str, str] | None = None
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    load_balancer_class: str | None = None


class FrontIngress(Wire, frozen=True, kw_only=True):
    ip: str = ""
    hostname: str = ""
    ports: tuple[IngressPort, ...] | None = None


class FrontBalancer(Wire, frozen=True, kw_only=True):
    ingress: tuple[FrontIngress, ...] | None = None


class FrontStatus(Wire, frozen=True, kw_only=True):
    load_balancer: FrontBalancer = FrontBalancer()
    conditions: tuple[Condition, ...] | None = None


class FrontService(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Service", "services")

    spec: FrontServiceSpec = FrontServiceSpec()
    status: FrontStatus | None = None


class FrontSlice(EndpointSlice, frozen=True, kw_only=True):
    """Where an Envoy of this machine listens, for the Service before it."""

    RESOURCE: ClassVar[Resource] = EndpointSlice.RESOURCE

    address_type: str  # always sent: the API server requires it
