"""What the Kubernetes runtime decides from, and what it may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from seamark.api.dns import DNSEndpoint
from seamark.api.score import WorkloadExposure, WorkloadPlan
from seamark.families.score.runtime.values import NOTHING, PlanValues, Unfit, read
from seamark_runtime.api.apps import Deployment, StatefulSet
from seamark_runtime.api.core import Pod, Service
from seamark_runtime.api.gateway import Gateway, HTTPRoute
from seamark_runtime.api.meta import Key
from seamark_runtime.api.networking import Ingress
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

RUNTIME_CLASS = "kubernetes"
MANAGER = "score-runtime-kubernetes"
WORKLOAD_LABEL = "score.dev/workload"
NAMESPACE_LABEL = "score.dev/workload-namespace"
GENERATION = "score.dev/workload-generation"  # on what is rendered: the generation of the Workload it was rendered for
FILES = "score.dev/files"  # on the pods: a digest of their files, which are not renewed under a running container
GATEWAY = "default"  # the Gateway that routes go to

AVAILABLE = ConditionType(
    "Available",
    meaning="All replicas of this generation run",
    reasons={
        "Running": "All replicas are available",
        "Provisioning": "Replicas of this generation are on their way",
        "Degraded": "Some or all replicas are not available",
        "Refused": "The API server refused what was rendered; the message has its words",
        "QuotaExceeded": "A quota of the namespace is used up",
        "PermissionDenied": "The runtime may not make what was rendered",
        "PolicyViolation": "A policy of the cluster forbids what was rendered",
    },
)
PROVISIONING = ConditionType(
    "Provisioning",
    meaning="This generation is being rolled out (True is bad news)",
    reasons={"RollingOut": "Replicas of this generation are on their way", "RolledOut": "Nothing is under way"},
)
DEGRADED = ConditionType(
    "Degraded",
    meaning="It was rolled out, and does not run as it should (True is bad news)",
    reasons={
        "ReplicasMissing": "Some or all replicas are not available",
        "Unreachable": "The endpoint did not answer",
        "Refused": "The API server refused what was rendered",
        "AsItShould": "Nothing is wrong",
    },
)
INGRESS_PENDING = ConditionType(
    "IngressPending",
    meaning="An Ingress or a route is not served (True is bad news)",
    reasons={
        "RouteNotServed": "The Gateway does not serve the route yet",
        "IngressNotServed": "The Ingress has no address yet",
        "Refused": "The API server refused the route; the message has its words",
        "Served": "Every Ingress and route is served, or there is none",
    },
)
LB_PENDING = ConditionType(
    "LBPending",
    meaning="A load balancer has no address (True is bad news)",
    reasons={
        "NoAddress": "Nobody has given the Service an address yet",
        "Addressed": "Every load balancer has an address, or there is none",
    },
)
DNS_NOT_READY = ConditionType(
    "DNSNotReady",
    meaning="A host name has no answer in DNS (True is bad news)",
    reasons={
        "NoAnswer": "A host name was looked up, and there was no answer",
        "RecordNotReady": "The DNSEndpoint with the name is not ready",
        "NotAskedYet": "A host name was not looked up yet",
        "Answered": "Every host name has an answer, or there is none",
    },
)
READY = ConditionType(
    "Ready",
    meaning="It runs, and nothing of the others is bad news",
    reasons={
        "Running": "All is as it should be",
        "Available": "Not all replicas of this generation run",
        "Provisioning": "This generation is being rolled out",
        "Degraded": "It does not run as it should",
        "LBPending": "A load balancer has no address",
        "IngressPending": "An Ingress or a route is not served",
        "DNSNotReady": "A host name has no answer in DNS",
    },
)
PLAN_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The runtime can read the values of the plan",
    reasons={
        "Accepted": "Every field has the form that this runtime renders",
        "InvalidValues": "A field of spec.resolvedValues can't be rendered; the message has it. What runs is kept",
    },
    summary=True,
)
PLAN_CONDITIONS = (PLAN_ACCEPTED,)
CONDITIONS = (READY, AVAILABLE, PROVISIONING, DEGRADED, LB_PENDING, INGRESS_PENDING, DNS_NOT_READY)


@dataclass(frozen=True)
class Rendered:
    """The result of rendering a plan: by role, the error of a refused child."""

    generation: int
    refused: Mapping[str, str] = field(default_factory=dict)

    def words(self, *, routes: bool) -> str:
        """Why routes, or everything else, could not be made."""
        chosen = (words for role, words in sorted(self.refused.items()) if role.startswith("route ") == routes)
        return "; ".join(dict.fromkeys(chosen))


@dataclass(frozen=True)
class Pace:
    """Seconds between two attempts of a kind. What was found counts for three times as long, names four times."""

    probe: float = 10.0
    lookup: float = 30.0


@dataclass(frozen=True)
class Published:
    """Everything that the runtime may say about one exposure is decided from this."""

    exposure: WorkloadExposure
    plan: WorkloadPlan | None
    rendered: Rendered | None
    rollout: Deployment | StatefulSet | None
    service: Service | None = None  # the one that was rendered
    services: tuple[Service, ...] = ()  # all that lead to its pods, that one too
    ingresses: tuple[Ingress, ...] = ()  # those that lead to its Service
    routes: tuple[HTTPRoute, ...] = ()  # likewise
    gateways: Mapping[Key, Gateway] = field(default_factory=dict)  # those that the routes hang on
    fronts: Mapping[Key, tuple[Service, ...]] = field(default_factory=dict)  # the Services before those gateways
    records: tuple[DNSEndpoint, ...] = ()  # with the host names that lead to it
    pods: tuple[Pod, ...] = ()
    results: Results = field(default_factory=Results)
    resolves: bool = False  # whether host names are looked up
    probes: bool = False  # whether endpoints are tried at all
    inside: bool = False  # whether cluster-local endpoints can be tried from here
    pace: Pace = field(default_factory=Pace)

    def records_of(self, host: str) -> list[DNSEndpoint]:
        """Records of the Workload's own namespace: records of others are not related to it."""
        return self._by_host.get(host, [])

    @cached_property
    def _by_host(self) -> Mapping[str, list[DNSEndpoint]]:
        """Made once: a record may have thousands of names, and a Workload thousands of hosts."""
        found: dict[str, list[DNSEndpoint]] = {}
        for record in self.records:
            for name in {one.dns_name.rstrip(".") for one in record.spec.endpoints}:
                found.setdefault(name, []).append(record)
        return found

    @cached_property
    def values(self) -> PlanValues | Unfit:
        """What is to run; Unfit where this runtime can't read it."""
        return read(self.plan) if self.plan is not None else NOTHING


@dataclass(frozen=True)
class Probe:
    """One attempt to be answered, by a scheme."""

    host: str
    port: int
    scheme: str = "tcp"
    path: str = "/"
    replicas: int = 0  # how many run: when that changes, it is tried anew at once


@dataclass(frozen=True)
class Lookup:
    """One attempt to find the address of a host name."""

    host: str
    told: str = ""  # what its record says: when that changes, it is looked up anew at once
