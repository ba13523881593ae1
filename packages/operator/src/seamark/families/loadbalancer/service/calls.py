"""The calls of a Service, and what is known from their results: its addresses at the edge."""

from __future__ import annotations

from seamark.families.loadbalancer.model.conditions import condition_of
from seamark.families.loadbalancer.model.names import FINALIZER, owner_of
from seamark.families.loadbalancer.service.exposure import Exposure, computed
from seamark.families.loadbalancer.service.state import ACCEPTED, Find, Keep, Seen
from seamark_edge.urls import Place, place
from seamark_runtime.calls import Call
from seamark_runtime.source import Fresh


def calls(seen: Seen, exposure: Exposure) -> tuple[Call[dict[str, str]] | Call[bool], ...]:
    """Without a finalizer on it, nothing can be reserved for a Service, so there is nothing to release either."""
    lookups: tuple[Call[bool], ...] = (find(seen, exposure),) if fixed_address(exposure) else ()
    if exposure.purposes or marked(seen):
        return (*lookups, keep(seen, exposure.purposes))
    return lookups


def keep(seen: Seen, purposes: tuple[str, ...]) -> Call[dict[str, str]]:
    timing = seen.options.timing
    return Call(
        target=f"addresses/{seen.service.uid}",
        action=Keep(owner_of(seen.service, seen.options.cluster, seen.cluster_uid), purposes),
        every=timing.verify,
        shelf_life=timing.shelf_life,
    )


def find(seen: Seen, exposure: Exposure) -> Call[bool]:
    timing = seen.options.timing
    return Call(
        target=f"address/{seen.service.uid}",
        action=Find(exposure.place.hostport),
        every=timing.verify,
        shelf_life=timing.shelf_life,
    )


def marked(seen: Seen) -> bool:
    return FINALIZER in (seen.service.metadata.finalizers or ())


def placed(seen: Seen, exposure: Exposure) -> dict[str, Place]:
    """By purpose: the places as far as they are known."""
    if not exposure.chosen:
        return dict.fromkeys(exposure.by_purpose, exposure.place)
    match seen.results.to(keep(seen, exposure.purposes)):
        case Fresh(value=kept):
            return {purpose: place(f"tcp://{addr}") for purpose, addr in kept.items()}
        case _:
            return computed(seen.service, exposure)  # as it was, until the edge has responded


def fixed_address(exposure: Exposure) -> bool:
    return exposure.place.scheme == "tcp" and exposure.place.fixed


def found(seen: Seen, exposure: Exposure) -> bool | None:
    """Whether a fixed address is reserved in this account. Without a response: as it was; None if it was not used."""
    match seen.results.to(find(seen, exposure)):
        case Fresh(value=answer):
            return bool(answer)
    if not computed(seen.service, exposure):
        return None
    accepted = condition_of(seen.service, ACCEPTED.name)
    return accepted is None or accepted.reason != "AddressNotReserved"


def confirmation(seen: Seen, exposure: Exposure) -> object:
    """The edge's response about the address; None for a domain, whose own object has it."""
    if exposure.chosen:
        return seen.results.to(keep(seen, exposure.purposes))
    return seen.results.to(find(seen, exposure)) if fixed_address(exposure) else None
