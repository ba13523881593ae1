"""Requests for history that is gone: after a restart the real API server has lost it, too."""

from __future__ import annotations

import json

from seamark_cluster.real.plane import ControlPlane, Options
from tests.fidelity.arena import USERS
from tests.fidelity.masks import masked
from tests.fidelity.sides import Embedded, Real, Side

MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_watch_at_a_compacted_revision_ends_alike() -> None:
    with ControlPlane(Options(controllers=False)) as plane:
        real, store = Real(plane), Embedded(USERS)
        sides: tuple[Side, Side] = (real, store)
        starts = []
        for side in sides:
            for name in ("a", "b", "c"):
                body = json.dumps({"metadata": {"name": name}}).encode()
                made = side.ask("POST", MAPS, {}, body, "application/json").body
                starts += [made["metadata"]["resourceVersion"]] if name == "a" else []
        plane.api_server.kill()
        plane.api_server.start()
        plane.wait_ready()
        store.store.compact()
        events = [
            [masked(item) for item in side.follow(MAPS, {"resourceVersion": start}, "nothing")]
            for side, start in zip(sides, starts, strict=True)
        ]
        real.close()
    for stream in events:
        stream[0]["object"]["message"] = stream[0]["object"]["message"].partition("(")[0]
    assert events[0] == events[1]
    assert (events[0][0]["type"], events[0][0]["object"]["code"]) == ("ERROR", 410)
