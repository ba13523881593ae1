"""One refused record never holds its batch (docs/spec/dns/dnsendpoint.md, rules 18 to 20)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.providers.dns.isolate import Outcome, apply_each, batches
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Change, Part, Record, Unwritable, zone_of
from seamark_runtime.errors import Retry

ZONE = "example.org"


def create(number: int) -> Change:
    record = Record(f"h{number}.{ZONE}", "A", ("192.0.2.1",), 300)
    return Change(record.slot, (Part(None, record),))


def applied(provider: MemoryProvider, changes: Sequence[Change]) -> Outcome:
    outcome = Outcome()
    asyncio.run(apply_each(provider, ZONE, changes, outcome))
    return outcome


@settings(max_examples=60)
@given(st.sets(st.integers(0, 199), max_size=6))
def test_exactly_the_denied_are_refused_and_all_others_are_live(denied: set[int]) -> None:
    provider = MemoryProvider((ZONE,), deny=[f"h{number}.{ZONE}" for number in denied])
    outcome = applied(provider, [create(number) for number in range(200)])
    assert {change.slot[0] for change in outcome.refused} == {f"h{number}.{ZONE}" for number in denied}
    assert len(provider.content(ZONE).names) == 200 - len(denied)
    halvings = 2 * math.ceil(math.log2(100)) + 1
    assert outcome.messages <= 2 + halvings * len(denied)


def test_what_was_changed_by_somebody_else_is_left_out_and_told() -> None:
    provider = MemoryProvider((ZONE,))
    provider.put(Record(f"h3.{ZONE}", "A", ("192.0.2.66",), 60))
    outcome = applied(provider, [create(number) for number in range(10)])
    assert [change.slot[0] for change in outcome.moved] == [f"h3.{ZONE}"]
    assert outcome.refused == {}
    assert provider.content(ZONE).get((f"h3.{ZONE}", "A", "")) == Record(f"h3.{ZONE}", "A", ("192.0.2.66",), 60)
    assert len(provider.content(ZONE).names) == 10


class Closed(MemoryProvider):
    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        self.updates += 1
        raise Unwritable(f"{zone} takes no updates")


def test_a_zone_that_takes_nothing_blames_nobody_and_is_asked_once() -> None:
    provider = Closed((ZONE,))
    with pytest.raises(Retry, match="takes no updates"):
        applied(provider, [create(number) for number in range(50)])
    assert provider.updates == 1


def test_a_batch_is_as_large_as_the_provider_takes() -> None:
    provider = MemoryProvider((ZONE,))
    sizes = [len(batch) for batch in batches(provider, [create(number) for number in range(250)])]
    assert sizes == [100, 100, 50]


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("www.example.org", "example.org"),
        ("example.org", "example.org"),
        ("a.sub.example.org", "sub.example.org"),
        ("badexample.org", None),
        ("org", None),
    ],
)
def test_the_longest_zone_wins_at_a_label_boundary(name: str, zone: str | None) -> None:
    assert zone_of(name, ("example.org", "sub.example.org")) == zone
