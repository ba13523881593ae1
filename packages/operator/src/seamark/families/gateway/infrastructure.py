"""On a cluster: the Envoys of a gateway as Pods, and the Service before them, all in the operator's own namespace.

- The Pods' labels and annotations include those of `spec.infrastructure`; so do the Service's. Labels by which others
  select Pods are left out, and so are annotations of Pods that Kubernetes has a meaning for.
- The Pods of each gateway have a certificate of their own, with which they are served that gateway's configuration and
  no other's (`credentials`).
- The gateway's addresses are the Service's. An address that the gateway names has to be one of them.
- A gateway that is gone, or not ours any more, takes all that along.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

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
from seamark.families.gateway import credentials
from seamark.families.gateway.addresses import Lot
from seamark.families.gateway.credentials import SeenCredential
from seamark.families.gateway.gateways import SETS, allows_set, ours
from seamark_edge.dataplane.envoy.bootstrap import bootstrap, by_tls, tls_files
from seamark_edge.dataplane.envoy.identity import Identity
from seamark_runtime.api.apps import Selector
from seamark_runtime.api.core import (
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
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key, Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.conditions import FALSE
from seamark_runtime.controller import Wanted
from seamark_runtime.view import View

GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
GATEWAY_NAMESPACE = "gateway.networking.k8s.io/gateway-namespace"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - inside a Pod of its own
CONFIGURATION, CERTIFICATES = "/etc/seamark/envoy", "/etc/seamark/xds"
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
    authority: str = "seamark-ca"  # the Secret with the ca.crt and ca.key that sign the Envoys' certificates
    service_type: str = "LoadBalancer"
    load_balancer_class: str = ""

    @property
    def workload_kind(self) -> type[EnvoyDeployment | EnvoyDaemonSet]:
        return EnvoyDaemonSet if self.workload == "DaemonSet" else EnvoyDeployment


@dataclass(frozen=True)
class Seen:
    """A gateway with the Service and the workload that were made for it."""

    key: Key
    gateway: Gateway | None  # None: it is gone, or not ours
    ports: tuple[int, ...] = ()
    service: FrontService | None = None
    workload: Object | None = None
    credential: SeenCredential = field(default_factory=SeenCredential)


def observe(view: View, key: Key, results: Results, controller_name: str, cluster: Cluster) -> Seen:
    gateway = ours(view, key, controller_name)
    if gateway is None:
        return Seen(key, None)
    place, authority = Key(cluster.namespace, name_of(key)), Key(cluster.namespace, cluster.authority)
    return Seen(
        key,
        gateway,
        ports_of(view, gateway),
        view.get(FrontService, place),
        view.get(cluster.workload_kind, place),
        credentials.observe(view, Identity(key, gateway.uid), place, authority, results),
    )


def ports_of(view: View, gateway: Gateway) -> tuple[int, ...]:
    """Those of its listeners, and of the listeners of the sets that it allows."""
    sets = [one for one in view.by(SETS, gateway.key) if not one.deleting and allows_set(view, gateway, one)]
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
    made = {"config": parts.config(), "envoys": parts.envoys(), "service": parts.service()}
    call = seen.credential.call
    return Wanted(children={**made, **parts.credential()}, calls=(call,) if call is not None else ())


def reserved(label: str) -> bool:
    """No tenant puts these on an Envoy: by such labels Services of our namespace select their Pods, and by such
    annotations a Pod gets rights (`container.apparmor.security.beta.kubernetes.io`)."""
    return label.partition("/")[0].endswith(RESERVED)


class Parts:
    """The children of one gateway."""

    def __init__(self, seen: Seen, gateway: Gateway, cluster: Cluster) -> None:
        self._seen = seen
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
        return json.dumps(bootstrap(None, by_tls(host, int(port), CONFIGURATION)), indent=1)

    def config(self) -> EnvoyConfig:
        files = {name: json.dumps(content, indent=1) for name, content in tls_files(CERTIFICATES).items()}
        return EnvoyConfig(metadata=self._metadata(), data={"envoy.json": self._bootstrap(), **files})

    def credential(self) -> dict[str, Object]:
        return credentials.child(self._seen.credential, self._metadata(), self._seen.workload)

    def envoys(self) -> Object:
        mark = hashlib.sha256(self._bootstrap().encode()).hexdigest()[:16]  # a changed bootstrap needs new Pods
        theirs = {name: value for name, value in self._annotations.items() if not reserved(name)}
        annotations = {**theirs, "gateway.seamark.dev/bootstrap": mark}
        container = EnvoyContainer(
            name="envoy",
            image=self._cluster.image,
            args=(
                *("-c", f"{CONFIGURATION}/envoy.json", "--log-level", "warning"),
                *("--service-cluster", "seamark", "--service-node", f"{self._key}/$(POD_IP)"),
            ),
            env=(EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=FieldRef(field_path="status.podIP"))),),
            ports=tuple(ContainerPort(name=f"p{port}", container_port=port) for port in self._ports),
            volume_mounts=(
                VolumeMount(name="config", mount_path=CONFIGURATION, read_only=True),
                VolumeMount(name="xds", mount_path=CERTIFICATES, read_only=True),
            ),
            security_context=HARMLESS,
        )
        spec = EnvoyPodSpec(
            containers=(container,),
            volumes=(
                Volume(name="config", config_map=ConfigMapFiles(name=name_of(self._key))),
                Volume(name="xds", secret=SecretFiles(secret_name=name_of(self._key))),
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
        return self._cluster.workload_kind(metadata=self._metadata(), spec=rollout)

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
    """Where the gateway is reached: at its Service. What can't be created is reported."""
    if seen.gateway is None:
        return {}
    for role, refusal in answers.refusals.items():
        return {seen.key: Lot(trouble=("Invalid", f"Its {role} can't be made: {refusal.message}"))}
    return {seen.key: replace(lot(seen.gateway, seen.service), not_started=seen.credential.trouble)}


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
    """The error of the Service's address provider, if it reports that no traffic reaches it."""
    if service is None or service.status is None:
        return ""
    said = next((one for one in service.status.conditions or () if one.type == ASSIGNED), None)
    return f"Its Service {service.metadata.name}: {said.message}" if said is not None and said.status == FALSE else ""
