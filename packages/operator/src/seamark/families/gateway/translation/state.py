"""What a gateway's translation is made from, what is remembered of it, and the calls to the data plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.model.results import ProgrammedResult
from seamark.families.gateway.model.routes import AttachedRoute, Backend
from seamark.families.gateway.translation.policytable import PolicyTable
from seamark.gatewayapi.listeners import ListenerId
from seamark_edge.dataplane import model
from seamark_edge.dataplane.model import Origin, Snapshot, VirtualHost
from seamark_edge.dataplane.protocol import Presence
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call

# ---- translating


@dataclass(frozen=True, slots=True)
class AppliedPolicy:
    """The effect of all policies on one rule behind one listener."""

    extras: model.Extras = model.NO_EXTRAS
    timeout: float | None = None
    idle: float | None = None
    retry: model.Retry | None = None
    rewrite: model.Rewrite | None = None
    backend_host: bool = False
    backends: tuple[tuple[str, Backend], ...] = ()  # that its filters use
    unresolved: bool = False  # a policy that the rule names as an extension is not known, or can't be used


NO_POLICY = AppliedPolicy()
RulePolicies = Mapping[tuple[Origin, int, ListenerId], AppliedPolicy]  # route, number of the rule, listener
Hosts = Mapping[tuple[str, str], tuple[object, VirtualHost]]  # (listeners, domain) → what it was built from, and it


@dataclass(frozen=True)
class TranslationInput:
    """Everything that a gateway's translation may use."""

    gateway: GatewayView
    attached: tuple[AttachedRoute, ...]  # the oldest first
    endpoints: Mapping[Backend, tuple[tuple[str, int], ...]]
    tls: Mapping[Backend, model.ClientTls | None] = field(default_factory=dict)  # None: no connection is made to it
    policies: RulePolicies = field(default_factory=dict)
    # from which policies `tls` and `policies` were made: to make them again without one of them
    tls_sources: Mapping[Backend, Key] = field(default_factory=dict, compare=False)
    beyond: Mapping[Origin, str] = field(default_factory=dict)  # routes beyond their namespace's share, with the reason
    table: PolicyTable = field(default_factory=lambda: PolicyTable(()), compare=False)


@dataclass(frozen=True)
class PolicyConditions:
    """What becomes of each policy at the gateway."""

    tls: Mapping[Key, tuple[Condition, ...]] = field(default_factory=dict)
    traffic: Mapping[Key, tuple[Condition, ...]] = field(default_factory=dict)


# ---- calls

PROBES = Rate("probes of gateways", 60.0)


@dataclass(frozen=True)
class Program:
    """The action of a call: this gateway is to be served so."""

    gateway: Key
    version: str
    input: TranslationInput = field(compare=False, repr=False)
    snapshot: Snapshot = field(compare=False, repr=False)
    hosts: Hosts = field(default_factory=dict, compare=False, repr=False)  # of the snapshot, to be used again


@dataclass(frozen=True)
class Remove:
    """The action of a call: this gateway is gone."""

    gateway: Key


@dataclass(frozen=True)
class Programmed:
    """The result of `Program`: by how many instances it is served, and without which routes."""

    instances: int
    refused: tuple[tuple[Origin, str], ...] = ()  # objects, each with the error of the data plane
    error: str = ""  # it was refused, and no object is the cause: nothing new is served


def program_call(action: Program, every: float, timeout: float) -> Call[Programmed]:
    """Its target has the version in it: a newer snapshot does not wait for the response to an older one."""
    target = f"gateway {action.gateway} {action.version}"
    longest = min(every, 60.0)
    return Call(target, action, every=every, shelf_life=every * 3, timeout=timeout, slowest=longest, rate=PROBES)


def remove_call(gateway: Key) -> Call[None]:
    return Call(f"gateway {gateway} gone", Remove(gateway))


# ---- what is remembered, and what is seen


@dataclass(frozen=True)
class Translation:
    """The last translation of a gateway. `number` changes with the snapshot."""

    input: TranslationInput
    snapshot: Snapshot
    hosts: Hosts
    number: int
    conditions: PolicyConditions


@dataclass(frozen=True)
class TranslationState:
    """Of a gateway that is served, or has to be removed from the data plane."""

    translation: Translation | None = None  # None: it is gone
    presence: Presence | None = None
    policies: Mapping[Key, TrafficPolicyView] = field(default_factory=dict)  # that protect, in their last valid form
    confirmed: GatewayView | None = None  # as the data plane has confirmed it last: it is still so while routes change


@dataclass(frozen=True)
class Seen:
    """What a gateway wants of the data plane, and what is known of the response."""

    key: Key
    call: Call[Any]
    result: ProgrammedResult | None = None  # None: the gateway is gone
    refused: Mapping[Origin, str] = field(default_factory=dict)
    conditions: PolicyConditions = field(default_factory=PolicyConditions)
    beyond: Mapping[Origin, str] = field(default_factory=dict)  # routes that it was not asked about
