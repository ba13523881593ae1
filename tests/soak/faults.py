"""What goes wrong in a soak, one thing after the other."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable

from tests.soak.world import World

AWAY = 4.0  # seconds that something is gone


def api_server_killed(world: World) -> None:
    plane = world.machine.plane
    plane.api_server.kill()
    time.sleep(AWAY)
    plane.api_server.start()
    plane.wait_ready()


def etcd_compacted(world: World) -> None:
    """While it is down: what was being followed is compacted."""
    world.relay.cut()
    time.sleep(AWAY)  # users go on meanwhile
    base = f"http://127.0.0.1:{world.machine.plane._layout.etcd_port}/v3/kv"
    revision = ask(f"{base}/range", {"key": "AA=="})["header"]["revision"]
    ask(f"{base}/compaction", {"revision": revision})
    world.relay.mend()


def ask(url: str, body: object) -> dict[str, dict[str, str]]:
    made = urllib.request.Request(url, data=json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(made, timeout=10) as answer:
        found: dict[str, dict[str, str]] = json.load(answer)
        return found


def network_cut(world: World) -> None:
    world.relay.cut()
    time.sleep(AWAY)
    world.relay.mend()


def agents_killed(world: World) -> None:
    world.kill(world.programs("seamark.cli.agent"))


def forwarder_killed(world: World) -> None:
    world.kill(world.programs("seamark.cli.forwarder"))


def envoy_killed(world: World) -> None:
    world.kill(world.envoys())


def edge_killed(world: World) -> None:
    world.edge.kill()
    time.sleep(AWAY)
    world.edge.start()


def name_server_killed(world: World) -> None:
    world.names.kill()
    time.sleep(AWAY)
    world.names.start()


FAULTS: tuple[Callable[[World], None], ...] = (
    network_cut,
    envoy_killed,
    agents_killed,
    api_server_killed,
    edge_killed,
    etcd_compacted,
    forwarder_killed,
    name_server_killed,
)
