"""Registrations at the edge without a KubernetesOperator in the cluster → their removal."""

from __future__ import annotations

from seamark.families.bindings.kubernetesoperator.state import Left, Unregister
from seamark.families.bindings.sweep.state import VERIFY, ListRegistrations, Seen
from seamark_edge.model import Owner
from seamark_runtime.calls import Call
from seamark_runtime.controller import Wanted


def listing(cluster: str) -> Call[tuple[Owner, ...]]:
    return Call("registrations at the edge", ListRegistrations(cluster), every=VERIFY, shelf_life=2 * VERIFY)


def remove(owner: Owner) -> Call[Left | None]:
    return Call(f"sweep/registration/{owner.key}", Unregister(owner), timeout=60.0)


def desire(seen: Seen) -> Wanted:
    return Wanted(calls=(listing(seen.cluster), *map(remove, seen.due)))
