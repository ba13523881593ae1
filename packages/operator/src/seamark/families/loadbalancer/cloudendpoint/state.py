"""What the decisions about a CloudEndpoint are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from seamark.families.loadbalancer.model.conditions import NO_EDGE
from seamark.families.loadbalancer.model.endpoints import DOMAIN_READY, PENDING, POLICY_APPLIED, Host, Policy
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.model.upstreams import UPSTREAM_REACHABLE
from seamark_edge.api.ngrok import CloudEndpoint
from seamark_edge.claims import TAKEN
from seamark_edge.forwards import NOT_ALLOWED
from seamark_edge.model import Endpoint, EndpointSpec, Owner
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

CREATED = ConditionType(
    "CloudEndpointCreated",
    meaning="The edge keeps the endpoint, as it is wanted",
    reasons={
        "CloudEndpointCreated": "The edge has it, as it is wanted",
        "CloudEndpointCreationFailed": "The edge refused it, or did not respond; the message has its error",
        "ConfigurationError": "What is asked for can't be done; the message says why",
        TAKEN: "The URL is in use by another namespace; the edge is asked to close the endpoint",
        NOT_ALLOWED: "Its policy forwards to an endpoint of another namespace; the message says what allows that",
        "NotVerified": "The edge has not confirmed it since the time in the message",
        "Closing": "It is being deleted: the edge is asked to close it",
        **PENDING,
    },
)
READY = ConditionType(
    "Ready",
    meaning="Clients reach the endpoint: the edge has it, and agents reach what it forwards to",
    reasons={
        "CloudEndpointActive": "The edge has it, with its policy, agents reach the upstream, and its domain is ready",
        **NO_EDGE,
        **PENDING,
    },
    summary=True,
)
CONDITIONS = (CREATED, POLICY_APPLIED, DOMAIN_READY, UPSTREAM_REACHABLE, READY)


# ---- actions; ANSWER is the type of the result


@dataclass(frozen=True)
class Open:
    ANSWER: ClassVar[Any] = Endpoint
    owner: Owner
    wanted: EndpointSpec


@dataclass(frozen=True)
class Close:
    ANSWER: ClassVar[Any] = None
    owner: Owner


@dataclass(frozen=True, slots=True)
class Seen:
    endpoint: CloudEndpoint
    results: Results
    options: Options
    mistake: str  # what is wrong with its URL
    policy: Policy
    host: Host
    forwards: bool = False  # its policy sends connections on to another endpoint
    dials: bool = False  # the edge has the upstream dialled
    taken: bool | None = False  # another namespace has the place of its URL; None: not known yet
    forward: str = ""  # why its policy may not forward where it does
    reachable: bool = True  # clients reach what is at the edge
    cluster_uid: str = ""
