"""Policies as published for the translation and statuses. Frozen: compared for changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from seamark.families.gateway.model.routes import Backend
from seamark_edge.dataplane.model import ClientTls
from seamark_runtime.api.meta import Condition, Key


@dataclass(frozen=True, slots=True)
class PolicyTargets:
    """What is wrong with the targets of a policy, and with a policy that has no target to report it on."""

    missing: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()


NO_PROBLEMS = PolicyTargets()


@dataclass(frozen=True, slots=True)
class TLSPolicyView:
    """A BackendTLSPolicy as it is translated: made once per change of it, or of what it refers to."""

    key: Key
    created: str
    sections: tuple[tuple[Key, str], ...]  # Services, with the name of a port or none
    tls: ClientTls | None  # None: no server could be verified by it, so no connection is made
    conditions: tuple[Condition, ...]
    targets: PolicyTargets = NO_PROBLEMS
    lost: tuple[Key, ...] = ()  # Services without the port that is named

    @property
    def age(self) -> tuple[str, str]:
        return (self.created, str(self.key))


@dataclass(frozen=True)
class TrafficPolicyView:
    """A TrafficPolicy as it is translated: made once per change of it."""

    key: Key
    created: str
    targets: tuple[tuple[str, Key, str], ...]  # kind, object, section
    selectors: tuple[tuple[str, tuple[tuple[str, str], ...], str], ...]  # kind, labels, section
    parts: tuple[tuple[str, Any], ...]  # its settings, by field; of one that can't be used, those that still apply
    problem: str = ""  # why it can't be used
    missing: tuple[str, ...] = ()
    guards: frozenset[str] = frozenset()  # those of its fields that protect what is behind it
    backends: tuple[tuple[str, Backend], ...] = ()  # that its settings use, by the name of their cluster

    def __hash__(self) -> int:
        return hash(self.key)  # its settings can be long, and are hashed for every rule that it may hold for

    @property
    def age(self) -> tuple[str, str]:
        return (self.created, str(self.key))

    def unusable(self, problem: str, good: TrafficPolicyView | None = None) -> TrafficPolicyView:
        """It can't be used. `good`: its last valid form, which stays in effect if it protects."""
        if good is None or not good.guards:
            return replace(self, parts=(), backends=(), problem=problem)
        return replace(self, parts=good.parts, backends=good.backends, problem=problem)
