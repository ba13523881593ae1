"""Service → its addresses and endpoints. No client, no clock: the same facts always give the same wants."""

from __future__ import annotations

from dataclasses import replace

from seamark.families.loadbalancer.edge import Find, Keep, owner_of
from seamark.families.loadbalancer.names import COMPUTED_URL, COMPUTED_URLS, FINALIZER
from seamark.families.loadbalancer.service.children import as_it_is, endpoints, live
from seamark.families.loadbalancer.service.state import Seen
from seamark.families.loadbalancer.service.wish import Mistake, Wish, annotations_for, computed
from seamark_edge.urls import Place, place
from seamark_runtime.calls import Call
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh

ANNOTATIONS = (COMPUTED_URL, COMPUTED_URLS)


def desire(seen: Seen) -> Wanted:
    wish = seen.wish
    if wish is None:
        return leaving(seen)
    if isinstance(wish, Mistake) or seen.rival is not None:
        return standing(seen)
    if fixed_address(wish) and found(seen, wish) is not True:
        return standing(seen, find(seen, wish))
    places = placed(seen, wish)
    return Wanted(
        children=endpoints(seen, wish, places),
        calls=calls(seen, wish),
        annotations=annotations_for(places),
        finalizer=True,
    )


def standing(seen: Seen, *asked: Call[bool]) -> Wanted:
    """What runs stays as it is, down to the last field."""
    return Wanted(
        children={name: as_it_is(child) for name, child in live(seen).items() if not child.deleting},
        calls=asked,
        annotations=remembered(seen),
        finalizer=marked(seen),
    )


def leaving(seen: Seen) -> Wanted:
    """Endpoints are deleted first, then reservations; only then our finalizer is removed."""
    if not marked(seen):
        return Wanted()
    if seen.options.drain == "Retain" and not seen.service.deleting:
        return replace(standing(seen), finalizer=False)  # all stays as it is, here and at the edge
    if live(seen):
        return Wanted(annotations=remembered(seen), finalizer=True)
    if not isinstance(seen.results.to(keep(seen, ())), Fresh):
        return Wanted(calls=(keep(seen, ()),), annotations=remembered(seen), finalizer=True)
    return Wanted(calls=(keep(seen, ()),))


def marked(seen: Seen) -> bool:
    return FINALIZER in (seen.service.metadata.finalizers or ())


def remembered(seen: Seen) -> dict[str, str]:
    return {name: text for name in ANNOTATIONS if (text := seen.service.annotation(name))}


# ---- where it is reached


def placed(seen: Seen, wish: Wish) -> dict[str, Place]:
    """By purpose: the places as far as they are known."""
    if not wish.chosen:
        return dict.fromkeys(wish.by_purpose, wish.place)
    match seen.results.to(keep(seen, wish.purposes)):
        case Fresh(value=kept):
            return {purpose: place(f"tcp://{addr}") for purpose, addr in kept.items()}
        case _:
            return computed(seen.service, wish)  # as it was, until the edge has answered


def fixed_address(wish: Wish) -> bool:
    return wish.place.scheme == "tcp" and wish.place.fixed


def found(seen: Seen, wish: Wish) -> bool | None:
    """Whether a fixed address is reserved in this account; None without a response, if it was not used before."""
    match seen.results.to(find(seen, wish)):
        case Fresh(value=answer):
            return bool(answer)
        case _:
            return True if computed(seen.service, wish) else None


def calls(seen: Seen, wish: Wish) -> tuple[Call[dict[str, str]] | Call[bool], ...]:
    """Without a finalizer on it, nothing can be reserved for a Service, so there is nothing to release either."""
    asked: tuple[Call[bool], ...] = (find(seen, wish),) if fixed_address(wish) else ()
    if wish.purposes or marked(seen):
        return (*asked, keep(seen, wish.purposes))
    return asked


def keep(seen: Seen, purposes: tuple[str, ...]) -> Call[dict[str, str]]:
    return Call(
        target=f"addresses/{seen.service.uid}",
        action=Keep(owner_of(seen.service, seen.options.cluster), purposes),
        every=seen.timing.verify,
        shelf_life=seen.timing.shelf_life,
    )


def find(seen: Seen, wish: Wish) -> Call[bool]:
    return Call(
        target=f"address/{seen.service.uid}",
        action=Find(wish.place.hostport),
        every=seen.timing.verify,
        shelf_life=seen.timing.shelf_life,
    )


def taken(seen: Seen, wish: Wish) -> str:
    """The holder's name is shown only within its namespace."""
    assert seen.rival is not None
    near = seen.rival.metadata.namespace == seen.service.metadata.namespace
    holder = f"Service {seen.rival.metadata.name}" if near else "a Service of another namespace"
    return f"{wish.place} is held by {holder}"


def not_reserved(wish: Wish) -> str:
    return f"{wish.place.hostport} is not reserved in this account: reserve it at the edge first"
