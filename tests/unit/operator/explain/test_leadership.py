"""What nobody keeps up to date is shown as of when it was (docs/guides/explain.md)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from seamark.explain import kinds
from seamark.explain.leadership import Leadership, dated, leadership, read
from seamark.explain.model import Hop, Truth
from seamark.explain.reader import Reader
from seamark.explain.show import age, conclusion, plain
from seamark_runtime.api.meta import Key
from tests.unit.operator.explain.chain import Chain
from tests.virtual_time import run

NOW = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
RENEWED = "2026-01-01T00:04:55.123456Z"
LONG_AGO = "2026-01-01T00:01:00.999999Z"
AS_OF = "2026-01-01T00:01:00Z"


def lease(renewed: str = RENEWED, holder: str = "pod-1", families: str = "sample,dns", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "seamark", "namespace": "ours", "annotations": {"seamark.dev/families": families}}
    held = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    return {"metadata": metadata, "spec": {**held, **spec}}


def led(*leases: dict[str, Any]) -> Leadership:
    return read(leases, NOW)


@pytest.mark.parametrize(
    ("found", "as_of"),
    {
        "renewed in time": (lease(), ""),
        "not renewed any more": (lease(LONG_AGO), AS_OF),
        "given back": (lease(holder=""), "2026-01-01T00:04:55Z"),
        "of another writer": ({"metadata": {}, "spec": {"renewTime": 7}}, "an unknown time"),
        "in another time zone": (lease("2026-01-01T01:01:00+01:00"), AS_OF),
    }.values(),
)
def test_a_lease_shows_since_when_no_operator_leads(found: dict[str, Any], as_of: str) -> None:
    (operator,) = led(found).leases
    assert operator.as_of == as_of


def test_only_the_kinds_of_its_families_are_concerned() -> None:
    leaders = led(lease(LONG_AGO, families="score-mirror"), lease())
    assert leaders.as_of(kinds.WORKLOAD) == AS_OF
    assert leaders.as_of(kinds.GREETING) == ""
    assert leaders.notes() == (
        f"No operator leads since {AS_OF}: score-mirror (Lease ours/seamark). Statuses are as of then.",
    )


def test_nothing_is_called_whole_while_no_operator_leads() -> None:
    hop = Hop(kinds.GREETING, Key("default", "hello"))
    assert str(conclusion(dated(hop, led(lease())), None)) == "Nothing is broken."
    stopped = dated(hop, led(lease(LONG_AGO)))
    assert str(conclusion(stopped, None)) == f"No status shows a problem as of {AS_OF}; since then no operator leads."
    assert plain(stopped)["tree"]["asOf"] == AS_OF


def test_an_object_that_several_families_write_to_is_as_of_the_oldest() -> None:
    service = Hop(kinds.SERVICE, Key("default", "web"), truth=Truth.TRUE)
    assert dated(service, led(lease(LONG_AGO), lease())).as_of == AS_OF


def test_without_a_lease_nothing_is_known_and_that_is_shown() -> None:
    async def program() -> Leadership:
        return await leadership(Reader(Chain().transport))

    found: list[Leadership] = []

    async def look() -> None:
        found.append(await program())

    run(look())
    assert found[0].notes() == ("Whether an operator leads is not known: there is no Lease of one.",)


def test_a_default_has_no_age() -> None:
    assert age("1970-01-01T00:00:00Z", NOW) == "default, not yet judged"
