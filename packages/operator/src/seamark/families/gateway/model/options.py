"""How the gateway family runs."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.gatewayinfra import EnvoyDaemonSet, EnvoyDeployment
from seamark.families.gateway.model.names import CLASS_NAME, CONTROLLER_NAME


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
class Front:
    """The Service before a gateway whose Envoy runs on this machine."""

    type: str = "LoadBalancer"
    load_balancer_class: str = ""


@dataclass(frozen=True)
class PatternShares:
    """What the patterns of one namespace's routes may cost at a gateway, in instructions; 0: no limit."""

    foreign: int = 262_144  # of another namespace
    own: int = 4_194_304


@dataclass(frozen=True)
class Options:
    """Which gateways are ours, and at which addresses they are served."""

    controller_name: str = CONTROLLER_NAME
    class_name: str = CLASS_NAME
    addresses: tuple[str, ...] = ("127.0.80.0/24",)  # ranges that are local here: each gateway gets one of them
    addresses_share: int = 64  # of them, for the gateways of one namespace; 0: no limit
    foreign_ports: int = 16  # that the listener sets of another namespace may add to a gateway; 0: no limit
    patterns: PatternShares = PatternShares()
    counting: float = 5.0  # least seconds between two counts of a gateway's routes
    translating: float = 0.25  # least seconds between two translations of a gateway
    verify: float = 5.0  # seconds between two probes of a gateway
    answer_within: float = 10.0  # seconds that the data plane may take
    features: tuple[str, ...] = ()
    cluster: Cluster | None = None  # how Envoys run as Pods; None: they do not
    former_namespace: str = ""  # where Envoys ran as Pods before they ran on this machine; empty: nothing is looked for
    front: Front | None = None  # the Service before an Envoy of this machine; None: there is none
