"""What the installation decides."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_runtime.api.meta import Key


@dataclass(frozen=True)
class Options:
    namespace: str = "seamark-system"
    operator: str = "seamark"  # the name of the KubernetesOperator that is this installation
    cluster_domain: str = "cluster.local"
    allowed_namespaces: tuple[str, ...] = ()  # empty: all
    first_port: int = 10000
    last_port: int = 65535
    poll: float = 10.0
    probe_every: float = 5.0
    probe_limit: float = 5.0
    shelf_life: float = 15.0
    gone_grace: float = 60.0  # seconds for which an object stays when its last endpoint has left the edge
    sweep: float = 0.0  # seconds after which a registration is removed whose object is gone; 0: never
    edge_ca: str = ""  # PEM: the roots by which the edge's ingress is trusted; empty for the system's roots

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.operator)

    def allows(self, namespace: str) -> bool:
        return not self.allowed_namespaces or namespace in self.allowed_namespaces
