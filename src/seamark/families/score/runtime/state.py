"""What the Kubernetes runtime decides from, and what it may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.api.apps import Deployment, StatefulSet
from seamark.api.core import Service
from seamark.api.gateway import Gateway, HTTPRoute
from seamark.api.score import WorkloadExposure, WorkloadPlan
from seamark.core.calls import Results
from seamark.core.conditions import ConditionType

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
    meaning="A route is not served by its Gateway (True is bad news)",
    reasons={
        "RouteNotServed": "The Gateway does not serve the route yet",
        "NoGatewayAPI": "This runtime makes no routes",
        "Served": "Every route is served, or there is none",
    },
)
CONDITIONS = (AVAILABLE, PROVISIONING, DEGRADED, INGRESS_PENDING)


@dataclass(frozen=True)
class Rendered:
    """What came of rendering a plan: the words of whoever refused, if anybody did."""

    generation: int
    refused: str = ""


@dataclass(frozen=True)
class Published:
    """Everything that the runtime may say about one exposure is decided from this."""

    exposure: WorkloadExposure
    plan: WorkloadPlan | None
    rendered: Rendered | None
    rollout: Deployment | StatefulSet | None
    service: Service | None
    routes: Mapping[str, HTTPRoute] = field(default_factory=dict)  # by the resource's key
    gateway: Gateway | None = None
    results: Results = field(default_factory=Results)
    probes: bool = False


@dataclass(frozen=True)
class Probe:
    """One attempt to connect."""

    host: str
    port: int
