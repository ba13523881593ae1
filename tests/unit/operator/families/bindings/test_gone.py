"""Targets whose last endpoint has left the edge: how long they stay."""

from __future__ import annotations

from seamark.families.bindings.model.entries import Listing
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.targets import parse
from seamark.families.bindings.poll.reconcile import assign, gone_of, report, targets_of
from seamark.families.bindings.poll.state import Assignment, Gone, Listed, Seen
from seamark_edge.api.bindings import BindingTarget, BoundEndpoint, BoundEndpointSpec
from seamark_edge.model import Bound
from seamark_runtime.api.meta import Key, ManagedMeta
from seamark_runtime.apply import Answers

URL = "tcp://web.shop:5432"
TARGET = parse(URL)
NO_ANSWERS = Answers({}, {})
OPTIONS = Options(gone_grace=60.0)
OBJECT = BoundEndpoint(
    metadata=ManagedMeta(name=TARGET.name, namespace="seamark-system"),
    spec=BoundEndpointSpec(
        endpoint_url=URL,
        scheme="tcp",
        port=10000,
        target=BindingTarget(service="web", namespace="shop", port=5432),
    ),
)
SOME, NONE = Listing((Bound("ep_1", URL, "tcp"),)), Listing(())


def polled(before: Assignment | None, listing: Listing, now: float, grace: float = 60.0) -> Assignment:
    targets = targets_of(before, listing)
    gone = gone_of(before, targets, [OBJECT], Gone(now, f"at {now:g}"), grace)
    return assign(before, Listed(listing, targets, gone), [OBJECT], OPTIONS, now)


def test_the_period_begins_with_the_first_list_without_it() -> None:
    first = polled(None, SOME, 0.0)
    assert first.gone == {}
    second = polled(first, NONE, 100.0)
    assert second.gone == {TARGET: Gone(100.0, "at 100")}
    assert polled(second, NONE, 159.0).gone == second.gone
    assert polled(second, NONE, 160.0).gone == {}


def test_one_that_is_listed_again_has_a_period_of_its_own_the_next_time() -> None:
    gone = polled(polled(None, SOME, 0.0), NONE, 10.0)
    back = polled(gone, SOME, 20.0)
    assert back.gone == {}
    assert polled(back, NONE, 30.0).gone == {TARGET: Gone(30.0, "at 30")}


def test_it_keeps_its_port_and_has_no_endpoints() -> None:
    found = polled(polled(None, SOME, 0.0), NONE, 10.0)
    seen = Seen(OPTIONS.key, found.targets, found.ports.assigned, found.gone)
    (projection,) = report(seen, NO_ANSWERS).values()
    assert (projection.port, projection.endpoints, projection.gone) == (10000, (), "at 10")
    assert list(report(seen, NO_ANSWERS)) == [Key("seamark-system", TARGET.name)]


def test_the_period_ends_with_a_list_that_was_requested_when_it_was_over() -> None:
    found = polled(polled(None, SOME, 0.0), NONE, 100.0)
    assert polled(found, NONE, 100.0).gone == found.gone  # an hour later, and the edge has not answered since
    assert polled(found, NONE, 3700.0).gone == {}


def test_without_a_grace_period_it_goes_with_its_last_endpoint() -> None:
    assert polled(polled(None, SOME, 0.0, 0.0), NONE, 10.0, 0.0).gone == {}
