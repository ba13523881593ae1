"""What an installation of a given name consists of, and what it may do: the chart is made from this.

- `@` stands for the installation's name where a role is written before the name is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from seamark.console import access, leaders
from seamark.console.graph import graph
from seamark.lifecycle import definitions, leaving, secrets
from seamark_edge.agent.cluster import agent_grants
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.forwarder.forwarder import forwarder_grants
from seamark_runtime.api.crd import CRD
from seamark_runtime.errors import UserError
from seamark_runtime.family import Family
from seamark_runtime.rbac import Grant, leader_grants, on
from seamark_runtime.rbac import grants as declared_grants
from seamark_runtime.source import Collection

POLICIES = ("Delete", "Retain")
TLS_SECRET = "default-tls"  # noqa: S105  # a name: that of a KubernetesOperator which names none


class Installation:
    """The names of everything that belongs to one installation, from its own."""

    def __init__(self, name: str, namespace: str, *, split: bool = False) -> None:
        self.name = name
        self.namespace = namespace
        self.split = split  # a Deployment and a lease for each family
        self.authority = f"{name}-ca"
        self.xds = f"{name}-xds"
        self.former_xds_client = f"{name}-xds-client"  # of earlier versions: one certificate for all Envoys
        self.edge = f"{name}-edge"

    @property
    def secret_names(self) -> tuple[str, ...]:
        return self.authority, self.xds, self.edge

    def workload(self, family: str) -> str:
        """The Deployment, and the lease, that runs a family."""
        return f"{self.name}-{family}" if self.split else self.name

    def hosts(self, service: str) -> tuple[str, ...]:
        """The names that a Service of ours is reached by."""
        return f"{service}.{self.namespace}.svc", f"{service}.{self.namespace}.svc.cluster.local"

    def certificates(self, *, xds: bool, edge: bool, edge_host: str = "") -> list[secrets.Wanted]:
        wanted = []
        if xds:
            wanted.append(secrets.Wanted(self.xds, self.hosts(self.xds)))
        if edge:
            services = (*self.hosts(self.edge), *self.hosts(f"{self.edge}-api"))
            hosts = dict.fromkeys((*services, *((edge_host,) if edge_host else ())))
            wanted.append(secrets.Wanted(self.edge, tuple(hosts), ("agent-token", "api-key")))
        return wanted

    def leaving(self, families: Iterable[Family], policy: str, within: float) -> leaving.Plan:
        if policy not in POLICIES:
            raise UserError(f"there is no policy {policy!r}", hint=f"there are {' and '.join(POLICIES)}")
        families = tuple(families)
        leases: dict[str, tuple[str, ...]] = {}
        for family in families:
            leases[self.workload(family.name)] = (*leases.get(self.workload(family.name), ()), family.name)
        return leaving.Plan(
            namespace=self.namespace,
            families=families,
            deployments=tuple(leases),
            leases=leases,
            secrets=(*self.secret_names, self.former_xds_client),
            policy=policy,
            within=within,
        )


def install_grants(installation: Installation, crds: Iterable[CRD]) -> set[Grant]:
    namespace = installation.namespace
    found = definitions.grants(crds) | renewal_grants(installation)
    return found | on(KubernetesOperator, ("create", "patch"), namespace=namespace)


def renewal_grants(installation: Installation) -> set[Grant]:
    return secrets.grants(installation.namespace, installation.secret_names)


def uninstall_grants(installation: Installation, families: Iterable[Family]) -> set[Grant]:
    return leaving.grants(installation.leaving(families, "Delete", 0))


def console_grants() -> set[Grant]:
    return declared_grants(graph(Collection("console"))) | access.GRANTS | leaders.GRANTS


def evidence_grants() -> set[Grant]:
    """Of an operator that serves evidence: it reviews tokens and what their users may read."""
    return set(access.GRANTS)


def lease_grants(namespace: str) -> set[Grant]:
    return {grant._replace(namespace=namespace) for grant in leader_grants()}


__all__ = [
    "Installation",
    "agent_grants",
    "console_grants",
    "evidence_grants",
    "forwarder_grants",
    "install_grants",
    "lease_grants",
    "renewal_grants",
    "uninstall_grants",
]
