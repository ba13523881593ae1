"""Restarts: of the operator over what is healthy, and of the API server under the operator."""

from __future__ import annotations

import asyncio
import resource
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from seamark.api.sample import Greeting
from seamark.families.sample.family import GREETING
from seamark_cluster.real.plane import ControlPlane, Options
from seamark_runtime.api.meta import to_wire
from seamark_runtime.operator import Operator
from tests.cluster.conftest import USERS
from tests.cluster.operator_under_test import WRITES, Api, admin, is_ready, on_real_api_server, operating, until
from tests.cluster.requests import install

MANY = 10_000


async def greet_all(api: Api, names: Iterable[str]) -> None:
    """Makes them, 64 in flight. Without a response it retries."""
    left = iter(names)

    async def make() -> None:
        for name in left:
            body = {"apiVersion": Greeting.RESOURCE.api_version, "kind": "Greeting", "metadata": {"name": name}}
            code = 0
            while code not in (201, 409):
                code, _ = await api.ask("POST", api.greeting_path(), {**body, "spec": {"text": name}})
                if code not in (201, 409):
                    await asyncio.sleep(0.05)

    await asyncio.gather(*(make() for _ in range(64)))


def written(operator: Operator, kind: str, verb: str, subresource: str = "") -> int:
    labels = {"kind": kind, "verb": verb, "subresource": subresource}
    return int(operator.metrics.registry.get_sample_value("seamark_writes_total", labels) or 0)


def healthy(operator: Operator) -> bool:
    greetings = operator.informers[Greeting].cache
    return operator.quiet and len(greetings) == MANY and all(is_ready(to_wire(obj)) for obj in greetings)


@pytest.fixture
def bare_plane() -> Iterator[ControlPlane]:
    """Without controllers: collecting the garbage of so many objects would be most of the work."""
    with ControlPlane(Options(users=USERS, controllers=False)) as plane:
        yield plane


def test_a_restart_over_many_healthy_objects_writes_nothing(bare_plane: ControlPlane) -> None:
    install(bare_plane, GREETING)

    async def test() -> None:
        async with admin(bare_plane, "default") as api:
            async with operating(bare_plane) as first:
                await greet_all(api, (f"g{number}" for number in range(MANY)))
                await until(lambda: healthy(first), "all are ready and nothing is left to do", 900)
            mark, began = bare_plane.audit.mark(), time.monotonic()
            async with operating(bare_plane) as second:
                await until(lambda: second.quiet, "it is synced and quiet", 300)
                took = time.monotonic() - began
                assert len(second.informers[Greeting].cache) == MANY
                outcomes = second.metrics.registry.get_sample_value(
                    "seamark_reconcile_outcomes_total", {"kind": "greetings", "outcome": "done"}
                )
                assert outcomes == MANY  # every key was looked at
            ours = [entry for entry in bare_plane.audit.entries(mark) if entry.user == "operator"]
            assert [entry.uri for entry in ours if entry.verb in WRITES] == []
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{MANY} healthy objects: quiet after {took:.1f} s, 0 writes, {memory:.0f} MB at most")  # noqa: T201

    asyncio.run(test())


def test_an_api_server_killed_in_the_middle_of_the_work_costs_no_object_and_no_duplicate(
    own_plane: ControlPlane,
) -> None:
    names = [f"g{number}" for number in range(400)]

    async def test(api: Api) -> None:
        async with operating(own_plane) as operator:
            making = asyncio.create_task(greet_all(api, names))
            await until(lambda: written(operator, "Greeting", "patch", "status") >= 100, "it is at work")
            await asyncio.to_thread(own_plane.api_server.kill)
            await until(lambda: operator.missing() != [], "it has noticed")
            await asyncio.to_thread(own_plane.api_server.start)
            await asyncio.to_thread(own_plane.wait_ready)
            await making
            await until(lambda: api.all_ready(names), "all are ready", 90)
            _, greetings = await api.ask("GET", api.greeting_path())
            _, maps = await api.ask("GET", api.config_map_path())
            owners = {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in greetings["items"]}
            owned = [item["metadata"] for item in maps["items"] if "ownerReferences" in item["metadata"]]
            assert len(owned) == len(names)
            for metadata in owned:
                assert [ref["uid"] for ref in metadata["ownerReferences"]] == [owners[metadata["name"]]]
            await until(lambda: operator.quiet, "nothing is left to do")

    on_real_api_server(own_plane, "default", test)


def test_a_restart_with_a_board_that_does_not_answer_yet_unsays_nothing(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def test(api: Api) -> None:
        async with operating(control_plane):
            await api.greet("a", board="news")
            await until(lambda: api.ready("a"), "a is ready")
        before = await api.greeting("a")
        async with operating(control_plane) as again:
            await until(lambda: again.quiet, "it is synced and quiet")
            await until(lambda: not again.calls._tasks, "the board has answered")
            await until(lambda: again.quiet, "it is synced and quiet")
            assert await api.greeting("a") == before

    on_real_api_server(control_plane, namespace, test)


def test_a_cluster_restored_from_a_backup_is_followed_from_there(own_plane: ControlPlane, tmp_path: Path) -> None:
    install(own_plane, GREETING)
    data, backup = own_plane.directory / "etcd", tmp_path / "backup"

    def down() -> None:
        own_plane.api_server.kill()
        own_plane.etcd.kill()

    def up() -> None:
        own_plane.etcd.start()
        own_plane.api_server.start()
        own_plane.wait_ready()

    def back_up() -> None:
        down()
        shutil.copytree(data, backup)
        up()

    def restore() -> None:
        down()
        shutil.rmtree(data)
        shutil.copytree(backup, data)
        up()

    async def test(api: Api) -> None:
        async with operating(own_plane, watch_lifetime=10) as operator:
            await api.greet("kept")
            await until(lambda: api.ready("kept"), "it is ready")
            await until(lambda: operator.quiet, "nothing is left to do")
            await asyncio.to_thread(back_up)
            names = [f"lost{number}" for number in range(50)]
            await greet_all(api, names)
            await until(lambda: api.all_ready(names), "all are ready", 60)
            await asyncio.to_thread(restore)
            await api.change("kept", text="after the restore")
            await api.greet("new")
            await until(lambda: api.all_ready(["kept", "new"]), "what is there now is ready", 60)
            cache = operator.informers[Greeting].cache
            await until(lambda: len(cache) == 2, "what was lost is forgotten")

    async def program() -> None:
        async with admin(own_plane, "default") as api:
            await test(api)

    asyncio.run(program())
