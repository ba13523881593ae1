"""What the decisions about an AgentEndpoint are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.families.loadbalancer.model.endpoints import DOMAIN_READY, PENDING, POLICY_APPLIED, Host, Policy
from seamark.families.loadbalancer.model.entries import Agents, Poll
from seamark.families.loadbalancer.model.upstreams import UPSTREAM_REACHABLE
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_edge.claims import TAKEN
from seamark_edge.forwards import NOT_ALLOWED
from seamark_edge.model import Upstream
from seamark_runtime.calls import Call, Results
from seamark_runtime.conditions import ConditionType

CREATED = ConditionType(
    "EndpointCreated",
    meaning="At least one agent holds the endpoint at the edge",
    reasons={
        "EndpointCreated": "The edge reports that agents hold it",
        "NoAgent": "No agent holds it any more, or none can: the message has the cause where agents report it",
        "NgrokAPIError": "The edge refused it to agents; the message has its error",
        "NotVerified": "The edge has not answered since the time in the message",
        "ConfigurationError": "What is asked for can't be done; the message says why",
        NOT_ALLOWED: "Its policy forwards to an endpoint of another namespace; the message says what allows that",
        TAKEN: "The URL is in use by another namespace; agents do not hold the endpoint",
        **PENDING,
    },
)
READY = ConditionType(
    "Ready",
    meaning="Clients reach the service through the endpoint: agents hold it and reach its upstream",
    reasons={
        "EndpointActive": "Agents hold it, with its policy, they reach the upstream, and its domain is ready",
        "DomainNotReady": "Its domain is not ready",
        **PENDING,
    },
    summary=True,
)
CONDITIONS = (CREATED, POLICY_APPLIED, DOMAIN_READY, UPSTREAM_REACHABLE, READY)


@dataclass(frozen=True, slots=True)
class AtEdge:
    """What is known from the edge: no response yet (`poll` is None), an error, or what agents hold and were refused."""

    poll: Poll | None
    agents: Agents

    @property
    def known(self) -> bool:
        return self.poll is not None and self.poll.answered


@dataclass(frozen=True, slots=True)
class Seen:
    endpoint: AgentEndpoint
    mistake: str  # what is wrong with its URLs
    policy: Policy
    host: Host
    edge: AtEdge
    results: Results = field(default_factory=Results)
    dials: Call[Upstream] | None = None  # has the upstream dialled; None where this edge can't
    taken: bool | None = False  # another namespace has the place of its URL; None: not known yet
    forward: str = ""  # why its policy may not forward where it does
