"""What leaves the console: nothing that the person may not read, also of what is gone."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from seamark.console.access import Access, User
from seamark.console.disclosure import Disclosure
from seamark.console.graph import identity
from seamark.console.rows import Board
from seamark.explain import kinds
from seamark.explain.model import Hop, ObservedCondition, Truth
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.source import Collection
from tests.unit.operator.console.reviews import Reviews

RESOURCES = (kinds.SERVICE, kinds.INGRESS, kinds.DNS_ENDPOINT)
NAMESPACES = ("tenant-a", "tenant-b")
PLACES = st.tuples(st.sampled_from(RESOURCES), st.sampled_from(NAMESPACES))
RIGHTS = st.sets(
    st.tuples(st.just("list"), st.sampled_from([one.plural for one in RESOURCES]), st.just(""))
    | st.tuples(st.just("get"), st.sampled_from([one.plural for one in RESOURCES]), st.sampled_from(NAMESPACES))
)


def named(resource: Resource, namespace: str, *hops: Hop) -> Hop:
    """With a message that includes its own name, as conditions do."""
    name = f"canary-{resource.kind}-{namespace}".lower()
    conditions = (ObservedCondition("Ready", "False", message=f"{name} is refused", about=name),)
    truth = Truth.FALSE
    return Hop(
        resource, Key(namespace, name), f"to {name}", truth, f"{name} is refused", f"mend {name}", conditions, hops
    )


HOPS = st.builds(
    lambda place, below: named(*place, *(named(*one) for one in below)), PLACES, st.lists(PLACES, max_size=3)
)


def readable(rights: set[tuple[str, str, str]], resource: Resource, namespace: str) -> bool:
    return bool({("list", resource.plural, ""), ("get", resource.plural, namespace)} & rights)


@given(st.lists(HOPS, max_size=4), RIGHTS)
def test_no_name_leaves_that_the_person_may_not_read(hops: list[Hop], rights: set[tuple[str, str, str]]) -> None:
    async def story() -> Any:
        shown = Disclosure(Access(Reviews({}, {"ann": rights}), lambda: 0.0), User("ann"))
        places = [(one.resource, one.key) for hop in hops for one in hop.walk()]
        evidence = await shown.evidence(places, lambda _, key: [f"answered for {key.name}"])
        return [
            await shown.rows(hops),
            await shown.gone(identity(hop.resource, hop.key) for hop in hops),
            [await shown.tree(hop) for hop in hops],
            [[str(resource), *key, *lines] for (resource, key), lines in evidence.items()],
        ]

    left = msgspec.json.encode(asyncio.run(story())).decode()
    for resource in RESOURCES:
        for namespace in NAMESPACES:
            name = named(resource, namespace).key.name
            there = any(one.key.name == name for hop in hops for one in hop.walk())
            assert (name in left) is (there and readable(rights, resource, namespace))


def test_the_board_is_as_large_as_what_is_there() -> None:
    reports: Collection[Key, Hop] = Collection("console")
    board = Board(reports, lambda: 0.0)
    for number in range(100):
        at = identity(kinds.SERVICE, Key("ns", f"s{number}"))
        for status in ("True", "False"):
            conditions = (ObservedCondition("Ready", status),)
            below = Hop(kinds.INGRESS, Key("ns", f"i{number}"), conditions=conditions)
            shared = Hop(kinds.DNS_ENDPOINT, Key("ns", "shared"), conditions=conditions)
            reports.publish(
                at, {at: Hop(kinds.SERVICE, Key("ns", f"s{number}"), conditions=conditions, hops=(below, shared))}
            )
        assert board.flips[(kinds.INGRESS, Key("ns", f"i{number}"))]
        if number:
            reports.publish(at, {})
    first, shared_place = (kinds.SERVICE, Key("ns", "s0")), (kinds.DNS_ENDPOINT, Key("ns", "shared"))
    kept = {first, (kinds.INGRESS, Key("ns", "i0")), shared_place}
    assert set(board._conditions) == set(board._references) == set(board.flips) == kept
    assert [str(hop.key) for hop in board] == ["ns/s0"]
    reports.publish(identity(*first), {identity(*first): Hop(*first)})
    assert set(board._conditions) == {first}
    reports.publish(identity(*first), {})
    assert not board._conditions
    assert not board._references
    assert not board.flips
