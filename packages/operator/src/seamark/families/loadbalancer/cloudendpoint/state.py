"""What the decisions about a CloudEndpoint are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.loadbalancer.edge import Drain, Timing
from seamark.families.loadbalancer.endpoints import DOMAIN_READY, PENDING, POLICY_APPLIED, Host, Policy
from seamark_edge.api.ngrok import CloudEndpoint
from seamark_edge.claims import TAKEN
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

CREATED = ConditionType(
    "CloudEndpointCreated",
    meaning="The edge keeps the endpoint, as it is wanted",
    reasons={
        "CloudEndpointCreated": "The edge has it, as it is wanted",
        "CloudEndpointCreationFailed": "The edge refused it, or did not answer; the message has its words",
        "ConfigurationError": "What is asked for can't be done; the message says why",
        TAKEN: "The URL is in use by another namespace; the edge is asked to close the endpoint",
        "NotVerified": "The edge has not confirmed it for a while",
        "Closing": "It is being deleted: the edge is asked to close it",
        **PENDING,
    },
)
READY = ConditionType(
    "Ready",
    meaning="Clients reach the endpoint, as far as the edge can tell",
    reasons={"CloudEndpointActive": "The edge has it, with its policy, and its domain is ready", **PENDING},
    summary=True,
)
CONDITIONS = (CREATED, POLICY_APPLIED, DOMAIN_READY, READY)


@dataclass(frozen=True, slots=True)
class Seen:
    endpoint: CloudEndpoint
    results: Results
    mistake: str
    policy: Policy
    host: Host
    cluster: str
    timing: Timing
    drain: Drain = ""
    taken: bool | None = False  # another namespace has the place of its URL; None: not known yet
