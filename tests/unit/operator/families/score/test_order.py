"""`before`: which orders of containers are wrong, and how Kubernetes keeps the others (docs/spec/score/runtime.md)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import Container
from seamark.families.score.model.order import fault
from seamark.families.score.model.planvalues import PlanValues
from seamark.families.score.rendering.pods import preceding

PROBE = {"exec": {"command": ["true"]}}


def before(**others: str) -> dict[str, Any]:
    return {"image": "a", "before": {name: {"ready": ready} for name, ready in others.items()}}


def wrong(**containers: dict[str, Any]) -> str:
    return fault(msgspec.convert(containers, dict[str, Container]))


MAIN = {"image": "a"}


@pytest.mark.parametrize(
    ("containers", "message"),
    [
        ({"a": before(a="started")}, "containers.a.before.a: a container can't precede itself"),
        ({"a": before(b="started")}, "containers.a.before.b: there is no container 'b'; there are a"),
        ({"a": before(b="healthy"), "b": MAIN}, "containers.a.before.b.ready: a has no probe"),
        ({"a": before(b="started"), "b": before(a="complete")}, "it closes a cycle"),
        ({"a": before(b="started"), "b": before(c="started"), "c": before(b="started")}, "containers.c.before.b"),
        ({"a": before(b="complete", c="started"), "b": before(c="started"), "c": MAIN}, ""),
        ({"a": before(b="healthy") | {"livenessProbe": PROBE}, "b": MAIN}, ""),
    ],
)
def test_an_order_that_can_not_be_kept_is_reported_with_its_place(containers: dict[str, Any], message: str) -> None:
    assert message in wrong(**containers)
    assert bool(message) == bool(wrong(**containers))


def rendered(**containers: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Name, restart policy, and whether others wait for its probe."""
    values = msgspec.convert({"containers": containers}, PlanValues)
    return [(each.name, each.restart_policy, each.startup_probe is not None) for each in preceding(values)]


def test_what_others_wait_for_starts_before_them_in_their_order() -> None:
    chain = rendered(zeta=before(alpha="complete"), alpha=before(main="complete"), main=MAIN)
    assert chain == [("zeta", "", False), ("alpha", "", False)]


def test_a_container_that_is_to_run_or_be_healthy_stays_beside_the_others() -> None:
    well = before(main="healthy") | {"readinessProbe": PROBE}
    assert rendered(proxy=before(main="started"), main=MAIN) == [("proxy", "Always", False)]
    assert rendered(config=well, main=MAIN) == [("config", "Always", True)]


def test_a_container_that_ends_has_no_probes_in_kubernetes() -> None:
    ends = before(main="complete") | {"readinessProbe": PROBE, "livenessProbe": PROBE}
    (migrate,) = preceding(msgspec.convert({"containers": {"migrate": ends, "main": MAIN}}, PlanValues))
    assert (migrate.readiness_probe, migrate.liveness_probe, migrate.restart_policy) == (None, None, "")
