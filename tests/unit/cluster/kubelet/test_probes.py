"""Probes, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import chain, repeat

import msgspec
import pytest

from seamark_cluster.kubelet import probes
from seamark_cluster.kubelet.probes import Count
from seamark_runtime.api.core import Container, Probe
from tests.virtual_time import run


@pytest.mark.parametrize(
    ("success", "failure", "answers", "verdicts"),
    [
        (1, 3, "+", [True]),
        (1, 3, "-- +", [True]),
        (1, 3, "---", [False]),
        (1, 3, "+--+---", [True, False]),
        (2, 1, "+-++", [False, True]),
        (1, 2, "----", [False]),
    ],
)
def test_a_verdict_changes_after_enough_answers_in_a_row(
    success: int, failure: int, answers: str, verdicts: list[bool]
) -> None:
    count = Count(success, failure)
    reported = [count.add(answer == "+") for answer in answers.replace(" ", "")]
    assert [verdict for verdict in reported if verdict is not None] == verdicts


def followed(probe: Probe, answers: Iterable[bool], seconds: float, *, eager: bool) -> list[tuple[float, bool]]:
    """The reported verdicts, and when."""
    reported: list[tuple[float, bool]] = []

    async def program() -> None:
        given = iter(answers)
        loop = asyncio.get_running_loop()

        async def attempt() -> tuple[bool, str]:
            return next(given), ""

        def report(healthy: bool, _message: str) -> None:
            reported.append((round(loop.time(), 3), healthy))

        following = loop.create_task(probes.follow(probe, attempt, report, eager=eager))
        await asyncio.sleep(seconds)
        following.cancel()

    run(program())
    return reported


def test_an_eager_probe_sees_a_quick_start_long_before_its_period() -> None:
    answers = chain([False, False], repeat(True))
    assert followed(Probe(period_seconds=10), answers, 30, eager=True) == [(0.1, True)]


def test_a_failed_eager_probe_between_two_periods_does_not_count() -> None:
    reported = followed(Probe(period_seconds=10, failure_threshold=3), repeat(False), 25, eager=True)
    assert reported == [(20.0, False)]


def test_a_probe_waits_for_its_delay_and_keeps_to_its_period() -> None:
    answers = chain([True, False, False, False], repeat(True))
    probe = Probe(initial_delay_seconds=5, period_seconds=2, failure_threshold=3)
    assert followed(probe, answers, 20, eager=False) == [(5.0, True), (11.0, False), (13.0, True)]


def probed(container: dict[str, object], probe: dict[str, object]) -> tuple[bool, str]:
    async def execute(command: tuple[str, ...], _timeout: float) -> tuple[int, str]:
        return (0, "fine") if command == ("healthy",) else (2, "")

    async def program() -> tuple[bool, str]:
        converted = msgspec.convert({"name": "c", **container}, Container)
        return await probes.attempt_for(converted, msgspec.convert(probe, Probe), "127.0.0.1", execute)()

    return asyncio.run(program())


def test_a_command_is_probed_by_its_exit_code() -> None:
    assert probed({}, {"exec": {"command": ["healthy"]}}) == (True, "fine")
    assert probed({}, {"exec": {"command": ["ill"]}}) == (False, "exit code 2")


def test_an_unknown_port_name_is_reported() -> None:
    healthy, message = probed({}, {"httpGet": {"port": "web"}})
    assert (healthy, message) == (False, "the container has no port named web")


def test_http_and_tcp_are_probed_at_the_pods_address() -> None:
    async def program() -> list[tuple[bool, str]]:
        seen = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.read(1000)
            code = b"503" if b"/ill" in head else b"302"
            writer.write(b"HTTP/1.1 " + code + b" X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        container = Container(name="c")

        async def never(_command: tuple[str, ...], _timeout: float) -> tuple[int, str]:
            raise AssertionError

        for probe in (
            {"httpGet": {"port": port, "path": "/healthy"}},
            {"httpGet": {"port": port, "path": "/ill"}},
            {"tcpSocket": {"port": port}},
        ):
            seen.append(await probes.attempt_for(container, msgspec.convert(probe, Probe), "127.0.0.1", never)())
        server.close()
        await server.wait_closed()
        gone = msgspec.convert({"tcpSocket": {"port": port}}, Probe)
        return [*seen, await probes.attempt_for(container, gone, "127.0.0.1", never)()]

    healthy, ill, tcp, refused = asyncio.run(program())
    assert healthy[0]
    assert ill == (False, "HTTP probe failed with statuscode: 503")
    assert tcp[0]
    assert not refused[0]
