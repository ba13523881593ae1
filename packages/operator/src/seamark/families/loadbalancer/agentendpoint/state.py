"""What the decisions about an AgentEndpoint are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.loadbalancer.model.endpoints import DOMAIN_READY, PENDING, POLICY_APPLIED, Host, Policy
from seamark.families.loadbalancer.model.entries import Agents, Poll
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_edge.claims import TAKEN
from seamark_runtime.conditions import ConditionType

CREATED = ConditionType(
    "EndpointCreated",
    meaning="At least one agent holds the endpoint at the edge",
    reasons={
        "EndpointCreated": "The edge reports that agents hold it",
        "NoAgent": "It was held, and now the edge reports that no agent holds it",
        "NgrokAPIError": "The edge does not report it; the message has its error",
        "ConfigurationError": "What is asked for can't be done; the message says why",
        TAKEN: "The URL is in use by another namespace; agents do not hold the endpoint",
        **PENDING,
    },
)
READY = ConditionType(
    "Ready",
    meaning="Clients reach the service through the endpoint, as far as the edge can tell",
    reasons={
        "EndpointActive": "Agents hold it, with its policy, and its domain is ready",
        "DomainNotReady": "Its domain is not ready",
        **PENDING,
    },
    summary=True,
)
CONDITIONS = (CREATED, POLICY_APPLIED, DOMAIN_READY, READY)


@dataclass(frozen=True, slots=True)
class AtEdge:
    """What is known from the edge: no response yet (`poll` is None), an error, or what agents hold and were refused."""

    poll: Poll | None
    agents: Agents

    @property
    def known(self) -> bool:
        return self.poll is not None and not self.poll.error


@dataclass(frozen=True, slots=True)
class Seen:
    endpoint: AgentEndpoint
    mistake: str  # what is wrong with its URLs
    policy: Policy
    host: Host
    edge: AtEdge
    taken: bool | None = False  # another namespace has the place of its URL; None: not known yet
