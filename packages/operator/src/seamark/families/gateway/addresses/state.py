"""What addresses are assigned from: the ranges, and what each gateway requests and holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seamark.families.gateway.model.addresses import AddressAssignment
from seamark_runtime.api.meta import Key

POOL = Key("", "addresses")  # the one key: addresses are assigned for all gateways at once
Assignments = Mapping[Key, AddressAssignment]  # by gateway


@dataclass(frozen=True, slots=True)
class AddressRequest:
    """A gateway that needs addresses: those it names, how many others, and those it holds."""

    gateway: Key
    named: tuple[str, ...]
    dynamic: int
    held: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    """The ranges, and all requests, the oldest gateway first. `share`: how many addresses the gateways of one namespace
    may have; 0 is no limit."""

    ranges: tuple[str, ...]
    requests: tuple[AddressRequest, ...]
    share: int = 0


@dataclass(frozen=True)
class Seen:
    assignments: Assignments
