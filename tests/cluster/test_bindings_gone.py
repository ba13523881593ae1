"""A BoundEndpoint whose last endpoint has left the edge: it stays for a grace period and says so.

The rules are those of docs/spec/bindings/boundendpoint.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from seamark.families.bindings.model.targets import parse
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.bindings_world import Bindings, installation
from tests.cluster.requests import eventually
from tests.cluster.test_bindings_installation import Troubled

GRACE = 4.0


@pytest.fixture
def world(control_plane: ControlPlane, namespace: str, users: str) -> Iterator[Bindings]:
    with installation(control_plane, namespace, users, gone_grace=GRACE) as made:
        made.install()
        yield made


def wait(seconds: float) -> None:
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() > until, "time has passed", seconds + 10)


def test_it_stays_with_its_services_and_the_reason_and_is_deleted_after_the_grace_period(world: Bindings) -> None:
    url = f"tcp://web.{world.users}:7500"
    ident = world.agent(url)
    with world.operating():
        world.until_ready(url)
        began = time.monotonic()
        world.leaves(ident)
        found = world.until_condition(parse(url).name, "Ready", "False", "EndpointGone")
        assert found["message"].startswith(f"The edge lists no endpoint for {url} since 20")
        assert world.condition(parse(url).name, "ConnectivityVerified")["reason"] == "EndpointGone"
        assert world.condition(parse(url).name, "ServicesCreated")["status"] == "True"
        world.until(lambda: world.bound(url)["status"]["endpointsSummary"] == "0 endpoints", "none is left")
        assert world.upstream(url)
        assert world.target(url)
        world.until_gone(world.path(parse(url).name), "the grace period is over")
        assert time.monotonic() - began >= GRACE
        assert not world.upstream(url)
        assert not world.target(url)


def test_one_that_comes_back_is_the_same_object_and_ready_again(world: Bindings) -> None:
    url = f"tcp://web.{world.users}:7501"
    ident = world.agent(url)
    with world.operating():
        before = world.until_ready(url)
        world.leaves(ident)
        world.until_condition(parse(url).name, "Ready", "False", "EndpointGone")
        world.agent(url)
        after = world.until_ready(url)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    assert after["status"]["endpointsSummary"] == "1 endpoint"


def test_an_outage_of_the_edge_removes_nothing_also_over_a_restart_of_the_operator(world: Bindings) -> None:
    gone, stays = f"tcp://gone.{world.users}:7502", f"tcp://stays.{world.users}:7503"
    edge = world.edge = Troubled()
    ident = world.agent(gone)
    world.agent(stays)
    with world.operating():
        uids = {world.until_ready(url)["metadata"]["uid"] for url in (gone, stays)}
        world.leaves(ident)
        world.until_condition(parse(gone).name, "Ready", "False", "EndpointGone")
        edge.down = True
        world.until_installed("Ready", "False", "EdgeUnreachable")
        wait(2 * GRACE)
        assert {found["metadata"]["uid"] for found in world.all_bound()} == uids
    with world.operating():  # it has no list of the edge, and does not get one
        wait(2 * GRACE)
        assert {found["metadata"]["uid"] for found in world.all_bound()} == uids
        assert world.upstream(gone)
        assert world.upstream(stays)
        edge.down = False
        world.until_condition(parse(gone).name, "Ready", "False", "EndpointGone", seconds=90)
        world.until_ready(stays)
        world.until_gone(world.path(parse(gone).name), "the grace period is over")


def test_one_that_is_deleted_by_hand_does_not_come_back(world: Bindings) -> None:
    url = f"tcp://web.{world.users}:7504"
    ident = world.agent(url)
    with world.operating(gone_grace=600.0):
        world.until_ready(url)
        world.leaves(ident)
        world.until_condition(parse(url).name, "Ready", "False", "EndpointGone")
        world.delete(world.path(parse(url).name))
        world.until_gone(world.path(parse(url).name), "it is deleted")
        wait(3.0)
        assert world.all_bound() == []
