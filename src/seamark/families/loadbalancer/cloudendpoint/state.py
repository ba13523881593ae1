"""What a CloudEndpoint's decisions are made from, and every word that its status can say."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.ngrok import CloudEndpoint
from seamark.core.calls import Results
from seamark.core.conditions import ConditionType
from seamark.families.loadbalancer.edge import Drain, Timing
from seamark.families.loadbalancer.endpoints import DOMAIN_READY, PENDING, POLICY_APPLIED, Host, Policy

CREATED = ConditionType(
    "CloudEndpointCreated",
    meaning="The edge keeps the endpoint, as it is wanted",
    reasons={
        "CloudEndpointCreated": "The edge has it, as it is wanted",
        "CloudEndpointCreationFailed": "The edge refused it, or did not answer; the message has its words",
        "ConfigurationError": "What is asked for can't be done; the message says why",
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
