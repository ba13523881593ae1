"""What the decisions about a Service are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.endpoints import Policy
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.service.exposure import Exposure, Mistake
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.model import Owner
from seamark_runtime.api.core import Service
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

ACCEPTED = ConditionType(
    "k8s.ngrok.com/Accepted",
    meaning="What the Service asks for can be done",
    reasons={
        "Accepted": "What the Service asks for can be done",
        "InvalidMappingStrategy": "mapping-strategy has a value that is not known; the previous configuration is kept",
        "InvalidURL": "The annotation url can't be read; the previous configuration is kept",
        "UnsupportedScheme": "The annotation url has a scheme of no load balancer; the previous configuration is kept",
        "InvalidAnnotation": "Another annotation has an unknown value; the previous configuration is kept",
        "InvalidSourceRanges": "A source range is no CIDR; the previous configuration is kept",
        "TooManyPorts": "There are more ports than one Service may have; the previous configuration is kept",
        "NoPorts": "There are no ports, so there are no endpoints",
        "UnsupportedProtocol": "Some ports are of a protocol that the edge can't carry; the others are served",
        "PortsLeftOut": "A fixed address holds the first port alone, which is served",
        "Taken": "Another Service has the address or domain; the first keeps it",
        "AddressNotReserved": "The address that the annotation url names is not reserved in this account",
        "DomainRefused": "The edge refused the domain, or another has it; the message has its error",
        "TrafficPolicyError": "The policy is missing or can't be read; the last good one stays in force",
        "EndpointRefused": "The API server or the edge refused an endpoint; the message has its error",
    },
)
ASSIGNED = ConditionType(
    "k8s.ngrok.com/AddressAssigned",
    meaning="The edge has assigned the address in the status to the Service; whether clients get through is Reachable",
    reasons={
        "AddressAssigned": "The edge has confirmed it",
        "NotAccepted": "There is none, as what the Service asks for can't be done",
        "Reserving": "The edge has not responded yet",
        "EdgeFailed": "The edge refused an address; the message has its error",
        "WaitingForPolicy": "No endpoint opens before its policy is there",
        "WaitingForEndpoint": "The endpoint is not made yet",
        "WaitingForDomain": "The edge has not confirmed the domain, so the name to show is not known",
        "WildcardHost": "The Service is reached at all hosts of a wildcard, and a status can't show a wildcard",
        "NotVerified": "The edge has not confirmed the address since the time in the message; it stays in the status",
        "EndpointRefused": "The endpoint was there, and the edge refuses it as it is now; the address stays",
        "PreviousAddress": "What the Service asks for now can't be done: the address is the previous one",
        "NoAgent": "The address is kept, but no agent holds the endpoint behind it any more",
        "Releasing": "The Service is being deleted: the edge is asked to release its address",
    },
)
REACHABLE = ConditionType(
    "k8s.ngrok.com/Reachable",
    meaning="A connection from outside to the address in the status gets through to a Pod, unless a policy refuses it",
    reasons={
        "Reachable": "The edge has the address and the endpoint, and agents have just reached the Service",
        "NoAddress": "There is no address; AddressAssigned has the cause",
        "NotAccepted": "What the Service asks for can't be done; Accepted has the cause",
        "EndpointOffline": "The edge does not have the endpoint; the message has the cause",
        "UpstreamUnreachable": "Agents do not reach the Service; the message has the error of an agent",
        "NoAgent": "No agent holds the endpoint",
        "DomainNotReady": "The edge has no certificate for the domain",
        "NotReported": "The agents do not report whether they reach the Service, or this edge does not ask them",
        "NotVerified": "It was not verified since the time in the message",
        "Pending": "Not verified yet",
    },
    shelf_life=15.0,
)
CONDITIONS = (ACCEPTED, ASSIGNED, REACHABLE)


# ---- actions; ANSWER is the type of the result


@dataclass(frozen=True)
class Keep:
    """A Service's addresses are exactly these, one for each purpose. The result: purpose → host:port."""

    ANSWER: ClassVar[Any] = dict[str, str]
    owner: Owner
    purposes: tuple[str, ...]


@dataclass(frozen=True)
class Find:
    """Whether an address is reserved in this account, for any owner."""

    ANSWER: ClassVar[Any] = bool
    addr: str


@dataclass(frozen=True)
class Seen:
    """`exposure` is None for a Service that is not ours, or not any more. Children are those in the cluster."""

    service: Service
    exposure: Exposure | Mistake | None
    results: Results
    options: Options = field(default_factory=Options)
    agents: tuple[AgentEndpoint, ...] = ()
    clouds: tuple[CloudEndpoint, ...] = ()
    policy: Policy | None = None
    holder: Service | None = None  # another Service, which has the place that this one names
    domain: Domain | None = None  # that the endpoint refers to
    cluster_uid: str = ""

    @property
    def endpoints(self) -> tuple[AgentEndpoint | CloudEndpoint, ...]:
        """All children, those that the edge keeps first."""
        return (*self.clouds, *self.agents)

    @cached_property
    def by_name(self) -> dict[str, AgentEndpoint | CloudEndpoint]:
        """Computed once: a Service may have many ports, and each has children of its own."""
        return {child.metadata.name: child for child in self.endpoints}
