"""What the status of a WorkloadExposure is judged from, all of its conditions, and the attempts to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from seamark.api.dns import DNSEndpoint
from seamark.api.score import WorkloadExposure, WorkloadPlan
from seamark.families.score.model.options import Pace
from seamark.families.score.model.planvalues import NOTHING, PlanValues, Unfit, read
from seamark.families.score.model.runtime import Rendered
from seamark.gatewayapi.listeners import ParentKey
from seamark_runtime.api.apps import Deployment, StatefulSet
from seamark_runtime.api.core import Pod, Service
from seamark_runtime.api.gateway import Gateway, HTTPRoute, ListenerSet
from seamark_runtime.api.meta import Key
from seamark_runtime.api.networking import Ingress
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType
from seamark_runtime.errors import Retry

AVAILABLE = ConditionType(
    "Available",
    meaning="All replicas of this generation run",
    reasons={
        "Running": "All replicas are available",
        "Provisioning": "Replicas of this generation are being started",
        "Degraded": "Some or all replicas are not available",
        "Refused": "The API server refused what was rendered; the message has its error",
        "QuotaExceeded": "A quota of the namespace is used up",
        "PermissionDenied": "The runtime may not make what was rendered",
        "PolicyViolation": "A policy of the cluster forbids what was rendered",
    },
)
PROVISIONING = ConditionType(
    "Provisioning",
    meaning="This generation is being rolled out (True is a problem)",
    reasons={"RollingOut": "Replicas of this generation are being started", "RolledOut": "Nothing is under way"},
)
DEGRADED = ConditionType(
    "Degraded",
    meaning="It was rolled out, and does not run as it should (True is a problem)",
    reasons={
        "ReplicasMissing": "Some or all replicas are not available",
        "Unreachable": "The endpoint did not answer",
        "Refused": "The API server refused what was rendered",
        "AsItShould": "Nothing is wrong",
    },
)
INGRESS_PENDING = ConditionType(
    "IngressPending",
    meaning="An Ingress or a route is not served (True is a problem)",
    reasons={
        "RouteNotServed": "The Gateway does not serve the route yet",
        "IngressNotServed": "The Ingress has no address yet",
        "Refused": "The API server refused the route; the message has its error",
        "Served": "Every Ingress and route is served, or there is none",
    },
)
LB_PENDING = ConditionType(
    "LBPending",
    meaning="A load balancer has no address (True is a problem)",
    reasons={
        "NoAddress": "The Service has no address yet",
        "Addressed": "Every load balancer has an address, or there is none",
    },
)
DNS_NOT_READY = ConditionType(
    "DNSNotReady",
    meaning="A host name has no answer in DNS (True is a problem)",
    reasons={
        "NoAnswer": "A host name was looked up, and there was no answer",
        "RecordNotReady": "The DNSEndpoint with the name is not ready",
        "NotAskedYet": "A host name was not looked up yet",
        "Answered": "Every host name has an answer, or there is none",
    },
)
REACHABLE = ConditionType(
    "Reachable",
    meaning="Ready Pods answer at its HTTP ports and accept connections at other TCP ports, or its endpoint answers",
    reasons={
        "Accepted": "The ready Pods answered at every HTTP port, and accepted connections at every other TCP port",
        "Answered": "The endpoint answered an HTTP request from where the operator runs",
        "NoPorts": "It offers no port",
        "Refused": "a ready Pod refuses connections: no process listens at the port",
        "WrongProtocol": "A ready Pod answers at an HTTP port, but not with HTTP, or not with TLS",
        "NoAnswer": "A ready Pod neither accepts nor refuses, or closes connections without an answer",
        "OutsidePodNetwork": "The operator runs outside of the Pod network, so nothing was tried",
        "NoPod": "No Pod with an address is ready",
        "NotVerifiable": "All its ports are UDP, which gives no sign of a listener",
        "NotTried": "This operator tries no connections",
        "Expired": "The last connection is older than its shelf life",
        "Pending": "No connection was tried yet",
    },
)
READY = ConditionType(
    "Ready",
    meaning="It runs, its ports accept connections, and no other condition is a problem",
    reasons={
        "Running": "All is as it should be",
        "Available": "Not all replicas of this generation run",
        "Provisioning": "This generation is being rolled out",
        "Degraded": "It does not run as it should",
        "LBPending": "A load balancer has no address",
        "IngressPending": "An Ingress or a route is not served",
        "DNSNotReady": "A host name has no answer in DNS",
        "NetworkUnavailable": "Its ports are not known to accept connections; the message has the reason",
    },
)
CONDITIONS = (READY, AVAILABLE, PROVISIONING, DEGRADED, LB_PENDING, INGRESS_PENDING, DNS_NOT_READY, REACHABLE)


@dataclass(frozen=True)
class Seen:
    """Everything that the status of an exposure is judged from."""

    exposure: WorkloadExposure
    plan: WorkloadPlan | None
    rendered: Rendered | None
    rollout: Deployment | StatefulSet | None
    service: Service | None = None  # the one that was rendered
    services: tuple[Service, ...] = ()  # all that select its pods, with that one
    ingresses: tuple[Ingress, ...] = ()  # those with its Service as a backend
    routes: tuple[HTTPRoute, ...] = ()  # likewise
    # The parents of these routes, and the Gateways of those that are listener sets.
    parents: Mapping[ParentKey, Gateway | ListenerSet] = field(default_factory=dict)
    fronts: Mapping[Key, tuple[Service, ...]] = field(default_factory=dict)  # the Services in front of those Gateways
    records: tuple[DNSEndpoint, ...] = ()  # with the host names of its endpoints
    pods: tuple[Pod, ...] = ()
    results: Results = field(default_factory=Results)
    resolves: bool = False  # whether host names are looked up
    probes: bool = False  # whether endpoints are tried at all
    inside: bool = False  # whether this is a Pod: Pods and cluster-local endpoints can be tried from here
    pod_network: bool = False  # whether Pods can be connected to from here
    loopback: bool = False  # whether Pods with loopback addresses are Pods on this machine
    pace: Pace = field(default_factory=Pace)

    @property
    def service_key(self) -> Key:
        """The Service that was rendered; its name may differ from the Workload's."""
        return self.service.key if self.service is not None else self.exposure.key

    def dialable(self, address: str) -> bool:
        """Whether a connection to a Pod's address leads to that Pod from here."""
        return self.inside or self.pod_network or (self.loopback and address.startswith("127."))

    def records_of(self, host: str) -> list[DNSEndpoint]:
        """Records of the Workload's own namespace: records of others are not related to it."""
        return self._by_host.get(host, [])

    @cached_property
    def _by_host(self) -> Mapping[str, list[DNSEndpoint]]:
        """Made once: a record may have thousands of names, and a Workload thousands of hosts."""
        found: dict[str, list[DNSEndpoint]] = {}
        for record in self.records:
            for name in {endpoint.dns_name.rstrip(".") for endpoint in record.spec.endpoints}:
                found.setdefault(name, []).append(record)
        return found

    @cached_property
    def values(self) -> PlanValues | Unfit:
        """What is to run; Unfit where this runtime can't read it."""
        return read(self.plan) if self.plan is not None else NOTHING


@dataclass(frozen=True)
class Probe:
    """One attempt to get a response, by a scheme."""

    host: str
    port: int
    scheme: str = "tcp"
    path: str = "/"
    replicas: int = 0  # how many run: when that changes, it is tried again at once


@dataclass(frozen=True)
class Lookup:
    """One attempt to find the address of a host name."""

    host: str
    record: str = ""  # the state of its record: when that changes, it is looked up again at once


class Port(NamedTuple):
    """A port of a Pod, and the protocol that is tried there: http, https, or tcp for a connection alone."""

    number: int
    scheme: str


@dataclass(frozen=True)
class Dial:
    """One connection to each of these ports of a Pod. Another Pod at the same address is another action."""

    pod: str  # its uid
    address: str
    ports: tuple[Port, ...]


class PortRefused(Retry):
    """No process listens at a port of a Pod, by the answer of its machine."""


class OtherProtocol(Retry):
    """A Pod answers at a port, but not with the protocol that the port has by its name or number."""
