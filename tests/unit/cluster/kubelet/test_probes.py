"""Probes, in time that takes none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import chain, repeat

import msgspec
import pytest

from seamark.api.core import Container, Probe
from seamark.cluster.kubelet import probes
from seamark.cluster.kubelet.probes import Count
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
    told = [count.add(answer == "+") for answer in answers.replace(" ", "")]
    assert [verdict for verdict in told if verdict is not None] == verdicts


def followed(probe: Probe, answers: Iterable[bool], seconds: float, *, eager: bool) -> list[tuple[float, bool]]:
    """What was told, and when."""
    told: list[tuple[float, bool]] = []

    async def program() -> None:
        given = iter(answers)
        loop = asyncio.get_running_loop()

        async def ask() -> tuple[bool, str]:
            return next(given), ""

        def tell(well: bool, _words: str) -> None:
            told.append((round(loop.time(), 3), well))

        following = loop.create_task(probes.follow(probe, ask, tell, eager=eager))
        await asyncio.sleep(seconds)
        following.cancel()

    run(program())
    return told


def test_an_eager_probe_sees_a_quick_start_long_before_its_period() -> None:
    answers = chain([False, False], repeat(True))
    assert followed(Probe(period_seconds=10), answers, 30, eager=True) == [(0.1, True)]


def test_what_an_eager_probe_hears_between_two_periods_is_no_failure() -> None:
    told = followed(Probe(period_seconds=10, failure_threshold=3), repeat(False), 25, eager=True)
    assert told == [(20.0, False)]


def test_a_probe_waits_for_its_delay_and_keeps_to_its_period() -> None:
    answers = chain([True, False, False, False], repeat(True))
    probe = Probe(initial_delay_seconds=5, period_seconds=2, failure_threshold=3)
    assert followed(probe, answers, 20, eager=False) == [(5.0, True), (11.0, False), (13.0, True)]


def asked(container: dict[str, object], probe: dict[str, object]) -> tuple[bool, str]:
    async def execute(command: tuple[str, ...], _timeout: float) -> tuple[int, str]:
        return (0, "fine") if command == ("well",) else (2, "")

    async def program() -> tuple[bool, str]:
        one = msgspec.convert({"name": "c", **container}, Container)
        return await probes.question(one, msgspec.convert(probe, Probe), "127.0.0.1", execute)()

    return asyncio.run(program())


def test_a_command_is_asked_by_its_exit_code() -> None:
    assert asked({}, {"exec": {"command": ["well"]}}) == (True, "fine")
    assert asked({}, {"exec": {"command": ["ill"]}}) == (False, "exit code 2")


def test_a_port_that_has_no_such_name_is_told() -> None:
    well, words = asked({}, {"httpGet": {"port": "web"}})
    assert (well, words) == (False, "the container has no port named web")


def test_http_and_tcp_are_asked_at_the_pods_address() -> None:
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
            {"httpGet": {"port": port, "path": "/well"}},
            {"httpGet": {"port": port, "path": "/ill"}},
            {"tcpSocket": {"port": port}},
        ):
            seen.append(await probes.question(container, msgspec.convert(probe, Probe), "127.0.0.1", never)())
        server.close()
        await server.wait_closed()
        gone = msgspec.convert({"tcpSocket": {"port": port}}, Probe)
        return [*seen, await probes.question(container, gone, "127.0.0.1", never)()]

    well, ill, tcp, refused = asyncio.run(program())
    assert well[0]
    assert ill == (False, "HTTP probe failed with statuscode: 503")
    assert tcp[0]
    assert not refused[0]
