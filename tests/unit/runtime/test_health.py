"""Health, readiness and metrics over HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest

from seamark_runtime.errors import UserError
from seamark_runtime.health import HealthServer, local
from seamark_runtime.metrics import Metrics, watch_lag
from tests.virtual_time import run

Ask = Callable[..., Coroutine[Any, Any, tuple[int, str]]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def served(missing: list[str], test: Callable[[Ask, Metrics], Coroutine[Any, Any, None]]) -> None:
    async def program() -> None:
        metrics, port = Metrics(), free_port()
        server = HealthServer(metrics.registry, lambda: missing)
        await server.start(f"127.0.0.1:{port}")
        async with aiohttp.ClientSession() as session:

            async def ask(path: str, method: str = "GET") -> tuple[int, str]:
                async with session.request(method, f"http://127.0.0.1:{port}{path}") as answer:
                    return answer.status, await answer.text()

            await test(ask, metrics)
        await server.close()

    asyncio.run(program())


def test_a_process_that_turns_is_healthy_even_before_it_is_ready() -> None:
    async def test(ask: Ask, _metrics: Metrics) -> None:
        assert await ask("/healthz") == (200, "ok\n")

    served(["waiting for lamps"], test)


def test_what_is_missing_for_readiness_is_named() -> None:
    missing = ["waiting for lamps", "waiting for boats"]

    async def test(ask: Ask, _metrics: Metrics) -> None:
        assert await ask("/readyz") == (503, "waiting for lamps\nwaiting for boats\n")
        missing.clear()
        assert await ask("/readyz") == (200, "ok\n")

    served(missing, test)


def test_metrics_are_there_for_prometheus() -> None:
    async def test(ask: Ask, metrics: Metrics) -> None:
        metrics.writes.labels("Lamp", "patch", "status").inc()
        status, text = await ask("/metrics")
        assert status == 200
        assert 'seamark_writes_total{kind="Lamp",subresource="status",verb="patch"} 1.0' in text
        for name in ("seamark_queue_depth", "seamark_reconcile_seconds", "seamark_event_to_status_seconds"):
            assert f"# HELP {name}" in text

    served([], test)


def test_the_log_level_can_be_changed_to_one_that_exists() -> None:
    async def test(ask: Ask, _metrics: Metrics) -> None:
        assert await ask("/loglevel?level=debug", "PUT") == (200, "debug\n")
        assert (await ask("/loglevel?level=loud", "PUT"))[0] == 400
        assert (await ask("/loglevel", "GET"))[0] == 405

    served([], test)


@pytest.mark.parametrize(
    ("caller", "allowed"),
    [("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.244.0.7", False), ("", False), ("x", False)],
)
def test_the_log_level_is_changed_from_this_machine_only(caller: str, allowed: bool) -> None:
    assert local(caller) is allowed


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "nowhere.invalid:80"])
def test_an_address_that_cant_be_served_is_a_mistake_that_says_what_to_do(address: str) -> None:
    async def program() -> None:
        with pytest.raises(UserError, match="SEAMARK_HEALTH_ADDRESS"):
            await HealthServer(Metrics().registry, list).start(address)

    asyncio.run(program())


def test_a_port_that_is_taken_is_a_mistake_that_says_what_to_do() -> None:
    async def program() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            with pytest.raises(UserError, match="can't serve health"):
                await HealthServer(Metrics().registry, list).start(f"127.0.0.1:{taken.getsockname()[1]}")

    asyncio.run(program())


def test_the_lag_of_the_loop_is_measured() -> None:
    metrics = Metrics()

    async def program() -> None:
        task = asyncio.create_task(watch_lag(metrics, period=1))
        await asyncio.sleep(10.5)
        task.cancel()

    run(program())
    assert metrics.registry.get_sample_value("seamark_loop_lag_seconds_count") == 10
    assert metrics.registry.get_sample_value("seamark_loop_lag_seconds_sum") == 0
