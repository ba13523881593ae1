"""What the controllers of the family are built with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from seamark.families.loadbalancer.model.entries import Agents, HostEntry, Poll
from seamark.families.loadbalancer.model.kept import KeptPlaces
from seamark.families.loadbalancer.model.options import Options
from seamark_edge.claims import Claim
from seamark_edge.model import PolicyRefusal, nothing_known
from seamark_runtime.api.meta import Key
from seamark_runtime.memory import Remembered
from seamark_runtime.source import Collection, Facts


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    """Each collection has one writer for a subject: the controller of the package that its comment names."""

    options: Options
    perform: Callable[[Any], Awaitable[Any]]  # performs the action of a call (`remote`)
    reachable: bool = True  # clients reach what is at the edge
    upstream_checks: bool = False  # the edge has agents dial upstreams
    connected: Callable[[], Coroutine[Any, Any, None]]  # a companion: keeps connections to the edge for a term
    policy_refusal: PolicyRefusal = nothing_known  # for `observe`: it changes nothing
    policy_check: PolicyRefusal = nothing_known  # for a memory (`model.policychecks`): it may check the policy
    reserved: Facts[str, str]  # by place: the namespace of the Service that the edge has reserved it for
    kept: KeptPlaces
    awaited: Remembered[bool]  # for EDGE: whether a status waits for agents; the memory of `online`
    polls: Collection[Key, Poll] = field(default_factory=lambda: Collection("polls of the edge"))  # online, of EDGE
    agents_by_uid: Collection[str, Agents] = field(  # online, by the uid of an AgentEndpoint
        default_factory=lambda: Collection("agents of endpoints")
    )
    agents_by_place: Collection[str, Agents] = field(  # online, by place: of agents that name no AgentEndpoint
        default_factory=lambda: Collection("agents at places")
    )
    hosts: Collection[Key, HostEntry] = field(  # hosts, by namespace and host
        default_factory=lambda: Collection("domains of hosts")
    )
    claims: Collection[str, Claim] = field(  # places, by place: the first claim on it
        default_factory=lambda: Collection("claims on places")
    )
