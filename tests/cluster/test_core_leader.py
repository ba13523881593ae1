"""Only the leader writes, and never after its deadline."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from seamark.api.sample import Greeting
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.api.meta import Key
from seamark_runtime.operator import Operator
from tests.cluster.operator_under_test import Api, on_real_api_server, operating, until
from tests.cluster.tcp_proxy import Arrived, Proxy, status


def lease(arrived: Arrived) -> bool:
    return "/leases" in arrived.path


def makes_config_map(arrived: Arrived) -> bool:
    return arrived.method == "POST" and arrived.path.endswith("/configmaps")


def test_a_leader_that_loses_its_lease_between_two_writes_sends_nothing_more(
    control_plane: ControlPlane, namespace: str
) -> None:
    elected: dict[str, Any] = {"leader_election": True, "lease_duration": 2.0, "namespace": namespace}

    async def test(api: Api) -> None:
        async with Proxy.to(control_plane) as proxy, operating(control_plane, url=proxy.url, **elected) as operator:
            assert operator.leader is not None
            await api.greet("a")
            await until(lambda: api.ready("a"), "a is ready")
            held = proxy.hold(makes_config_map, answer_too_late=True)
            await api.greet("b")
            await held.reached.wait()  # the first of two writes is under way
            proxy.answer(lease, status(500, "InternalError"), times=10_000)
            proxy.cut(lease)
            await operator.leader.lost()
            deadline = asyncio.get_running_loop().time() + operator.leader.remaining()  # by the clock of the proxy
            held.release()  # its answer comes after the lease has run out
            await api.greet("c")
            lamps = operator.informers[Greeting]
            await until(lambda: lamps.cache.get(Key(namespace, "c")) is not None, "c is known here")
            await until(lambda: operator.metrics.registry.get_sample_value("seamark_leader") == 0, "it stands by")
            late = [a for a in proxy.arrived if a.writes and not lease(a) and a.moment > deadline]
            assert late == []
            assert await api.config_map("b") is not None
            assert not await api.ready("b")
            proxy.clear()
            await until(lambda: api.all_ready("abc"), "it leads again, and all are ready")
            _, listing = await api.ask("GET", api.config_map_path())
            owned = [item["metadata"]["name"] for item in listing["items"] if "ownerReferences" in item["metadata"]]
            assert sorted(owned) == ["a", "b", "c"]

    on_real_api_server(control_plane, namespace, test)


def test_a_second_operator_stands_by_warm_and_takes_over_when_the_first_has_gone(
    control_plane: ControlPlane, namespace: str
) -> None:
    elected: dict[str, Any] = {"leader_election": True, "lease_duration": 2.0, "namespace": namespace}

    async def test(api: Api) -> None:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(operating(control_plane, **elected))
            await until(lambda: leading(first), "the first leads")
            async with operating(control_plane, **elected) as second:
                await api.greet("a")
                await until(lambda: api.ready("a"), "a is ready")
                known = second.informers[Greeting].cache
                await until(lambda: known.get(Key(namespace, "a")) is not None, "the second is warm")
                assert not leading(second)
                await stack.aclose()  # in good order: the lease is given back
                await until(lambda: leading(second), "the second leads", 10)
                await api.greet("b")
                await until(lambda: api.ready("b"), "b is ready")

    on_real_api_server(control_plane, namespace, test)


def leading(operator: Operator) -> bool:
    return operator.leader is not None and operator.leader.leading
