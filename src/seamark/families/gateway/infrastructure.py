"""On a cluster: the Envoys of a gateway as Pods, and the Service before them, all in the operator's own namespace.

- The Pods' labels and annotations include those of `spec.infrastructure`; so do the Service's. Labels by which others
  select Pods are left out.
- The gateway's addresses are the Service's. An address that the gateway names has to be one of them.
- A gateway that is gone, or not ours any more, takes all that along.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.apps import Selector
from seamark.api.core import (
    ConfigMapFiles,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    FieldRef,
    SecretFiles,
    ServicePort,
    Volume,
    VolumeMount,
)
from seamark.api.gateway import Gateway
from seamark.api.gatewayinfra import (
    Capabilities,
    ContainerSecurity,
    EnvoyConfig,
    EnvoyContainer,
    EnvoyDaemonSet,
    EnvoyDeployment,
    EnvoyPodMeta,
    EnvoyPodSpec,
    EnvoyPodTemplate,
    EnvoyRollout,
    FrontService,
    FrontServiceSpec,
    PodSecurity,
    SeccompProfile,
    Sysctl,
)
from seamark.api.meta import Key, Object, ObjectMeta
from seamark.core.apply import Answers
from seamark.core.conditions import FALSE
from seamark.core.controller import Wanted
from seamark.core.view import View
from seamark.families.gateway.addresses import Lot
from seamark.families.gateway.gateways import SETS, ours
from seamark.providers.dataplane.envoy.bootstrap import bootstrap, by_tls

GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
GATEWAY_NAMESPACE = "gateway.networking.k8s.io/gateway-namespace"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - inside a Pod of its own
CERTIFICATES = "/etc/seamark/xds"
LOW_PORTS = Sysctl(name="net.ipv4.ip_unprivileged_port_start", value="0")
NOBODY = 65534
ASSIGNED = "k8s.ngrok.com/AddressAssigned"  # on a Service of that class: whether anybody is brought to its address
SECCOMP = SeccompProfile(type="RuntimeDefault")
RESERVED = ("kubernetes.io", "k8s.io", "seamark.dev", "ngrok.com", "score.dev")
HARMLESS = ContainerSecurity(
    allow_privilege_escalation=False, read_only_root_filesystem=True, capabilities=Capabilities(drop=("ALL",))
)


@dataclass(frozen=True)
class Cluster:
    """How Envoys run on a cluster."""

    namespace: str = "seamark-system"
    image: str = "docker.io/envoyproxy/envoy:v1.40.0"
    workload: str = "Deployment"  # or DaemonSet
    xds: str = "seamark-xds.seamark-system.svc:9977"
    client_secret: str = "seamark-xds-client"  # noqa: S105 - its name: tls.crt, tls.key and ca.crt for the Envoys
    service_type: str = "LoadBalancer"
    load_balancer_class: str = ""


@dataclass(frozen=True)
class Seen:
    """A gateway with the Service that was made for it."""

    key: Key
    gateway: Gateway | None  # None: it is gone, or not ours
    ports: tuple[int, ...] = ()
    service: FrontService | None = None


def observe(view: View, key: Key, controller_name: str, cluster: Cluster) -> Seen:
    gateway = ours(view, key, controller_name)
    if gateway is None:
        return Seen(key, None)
    return Seen(key, gateway, ports_of(view, gateway), view.get(FrontService, Key(cluster.namespace, name_of(key))))


def ports_of(view: View, gateway: Gateway) -> tuple[int, ...]:
    """Those of its listeners, and of the listeners of its sets."""
    sets = view.by(SETS, gateway.key)
    listeners = [*gateway.spec.listeners, *(one for each in sets for one in each.spec.listeners)]
    return tuple(sorted({one.port for one in listeners}))


def name_of(key: Key) -> str:
    """The same for the same gateway, and short enough for a Service."""
    digest = hashlib.sha256(f"{key.namespace}/{key.name}".encode()).hexdigest()[:8]
    return f"gw-{key.name[:40].strip('-.').replace('.', '-')}-{digest}"


def desire(seen: Seen, cluster: Cluster) -> Wanted:
    if seen.gateway is None:
        return Wanted()
    parts = Parts(seen, seen.gateway, cluster)
    return Wanted(children={"config": parts.config(), "envoys": parts.envoys(), "service": parts.service()})


def reserved(label: str) -> bool:
    """By such labels other Services of our namespace select their Pods: no tenant puts them on an Envoy."""
    return label.partition("/")[0].endswith(RESERVED)


class Parts:
    """The children of one gateway."""

    def __init__(self, seen: Seen, gateway: Gateway, cluster: Cluster) -> None:
        self._key = seen.key
        self._ports = seen.ports
        self._cluster = cluster
        infrastructure = gateway.spec.infrastructure
        labels = (infrastructure.labels if infrastructure is not None else None) or {}
        self._labels = {name: value for name, value in labels.items() if not reserved(name)}
        self._annotations = (infrastructure.annotations if infrastructure is not None else None) or {}
        self._selector = {GATEWAY_NAME: seen.key.name, GATEWAY_NAMESPACE: seen.key.namespace}

    def _metadata(self) -> ObjectMeta:
        return ObjectMeta(
            name=name_of(self._key),
            namespace=self._cluster.namespace,
            labels={**self._labels, **self._selector},
            annotations=self._annotations or None,
        )

    def _bootstrap(self) -> str:
        host, _, port = self._cluster.xds.rpartition(":")
        return json.dumps(bootstrap(None, by_tls(host, int(port), CERTIFICATES)), indent=1)

    def config(self) -> EnvoyConfig:
        return EnvoyConfig(metadata=self._metadata(), data={"envoy.json": self._bootstrap()})

    def envoys(self) -> Object:
        mark = hashlib.sha256(self._bootstrap().encode()).hexdigest()[:16]  # a changed bootstrap needs new Pods
        annotations = {**self._annotations, "gateway.seamark.dev/bootstrap": mark}
        container = EnvoyContainer(
            name="envoy",
            image=self._cluster.image,
            args=(
                *("-c", "/etc/seamark/envoy/envoy.json", "--log-level", "warning"),
                *("--service-cluster", "seamark", "--service-node", f"{self._key}/$(POD_IP)"),
            ),
            env=(EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=FieldRef(field_path="status.podIP"))),),
            ports=tuple(ContainerPort(name=f"p{port}", container_port=port) for port in self._ports),
            volume_mounts=(
                VolumeMount(name="config", mount_path="/etc/seamark/envoy", read_only=True),
                VolumeMount(name="xds", mount_path=CERTIFICATES, read_only=True),
            ),
            security_context=HARMLESS,
        )
        spec = EnvoyPodSpec(
            containers=(container,),
            volumes=(
                Volume(name="config", config_map=ConfigMapFiles(name=name_of(self._key))),
                Volume(name="xds", secret=SecretFiles(secret_name=self._cluster.client_secret)),
            ),
            security_context=PodSecurity(
                sysctls=(LOW_PORTS,), run_as_non_root=True, run_as_user=NOBODY, seccomp_profile=SECCOMP
            ),
            automount_service_account_token=False,
        )
        template = EnvoyPodTemplate(
            metadata=EnvoyPodMeta(labels={**self._labels, **self._selector}, annotations=annotations), spec=spec
        )
        rollout = EnvoyRollout(selector=Selector(match_labels=self._selector), template=template)
        kind = EnvoyDaemonSet if self._cluster.workload == "DaemonSet" else EnvoyDeployment
        return kind(metadata=self._metadata(), spec=rollout)

    def service(self) -> FrontService:
        return FrontService(
            metadata=self._metadata(),
            spec=FrontServiceSpec(
                type=self._cluster.service_type,
                selector=self._selector,
                ports=tuple(ServicePort(name=f"p{port}", port=port, target_port=port) for port in self._ports),
                load_balancer_class=self._cluster.load_balancer_class or None,
            ),
        )


def report(seen: Seen, answers: Answers) -> Mapping[Hashable, Any]:
    """Where the gateway is reached: at its Service. What can't be made is told."""
    if seen.gateway is None:
        return {}
    for role, refusal in answers.refusals.items():
        return {seen.key: Lot(trouble=("Invalid", f"Its {role} can't be made: {refusal.message}"))}
    return {seen.key: lot(seen.gateway, seen.service)}


def lot(gateway: Gateway, service: FrontService | None) -> Lot:
    found = reached(service)
    static = [claim.value for claim in gateway.spec.addresses or () if claim.type == "IPAddress" and claim.value]
    unusable = [address for address in static if found and address not in found]
    if unusable:
        words = f"The address {', '.join(unusable)} is not one of the Service's: {', '.join(found)}"
        return Lot(trouble=("AddressNotUsable", words), bind=(EVERYWHERE,))
    return Lot(found, bind=(EVERYWHERE,), unreached=unreached(service))


def reached(service: FrontService | None) -> tuple[str, ...]:
    if service is None:
        return ()
    if service.spec.type != "LoadBalancer":
        return (service.spec.cluster_ip,) if service.spec.cluster_ip not in ("", "None") else ()
    ingress = (service.status.load_balancer.ingress if service.status is not None else None) or ()
    return tuple(one.ip or one.hostname for one in ingress)


def unreached(service: FrontService | None) -> str:
    """The words of whoever gave the Service its address, if it says that nobody is brought there."""
    if service is None or service.status is None:
        return ""
    said = next((one for one in service.status.conditions or () if one.type == ASSIGNED), None)
    return f"Its Service {service.metadata.name}: {said.message}" if said is not None and said.status == FALSE else ""
