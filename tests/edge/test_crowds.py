"""Many at once: idle connections by the ten thousand, downloads that were abandoned."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from seamark_edge.wire.files import allow_many_files
from seamark_edge.wire.muxado import WINDOW
from tests.edge.driving import tunnel
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram
from tests.edge.services import dial, eventually, sends, service

Start = Callable[[str], AgentProgram]
MANY = 10_000
ATTACKER = "127.0.0.2"  # an address of its own on loopback: limits are for each address


def memory(edge: RunningEdge) -> int:
    return int(Path(f"/proc/{edge.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def silent(port: int, count: int) -> Iterator[list[socket.socket]]:
    """So many connections of one address that send nothing; some may be turned away as soon as they are opened."""
    opened: list[socket.socket] = []
    try:
        for _ in range(count):
            with suppress(ConnectionResetError):
                opened.append(socket.create_connection(("127.0.0.1", port), 30, source_address=(ATTACKER, 0)))
        yield opened
    finally:
        for one in opened:
            one.close()


@pytest.fixture(autouse=True)
def many_files() -> None:
    assert allow_many_files() > MANY + 1000, "the hard limit of open files is too low for this test"


@pytest.mark.parametrize("listener", ["tls_port", "http_port", "agent_port", "ingress_port", "tcp"])
def test_ten_thousand_silent_connections_of_one_address_are_turned_away_beyond_its_share(
    own_edge: RunningEdge, agents: Start, listener: str
) -> None:
    with tunnel(own_edge, agents) as (url, works):
        port = int(url.rpartition(":")[2]) if listener == "tcp" else own_edge.ports[listener]
        before = memory(own_edge)
        with silent(port, MANY):
            works()
            with suppress(ConnectionResetError), silent(port, 1) as late:
                assert [one.recv(1) for one in late] in ([], [b""])  # closed by the edge
            held = len(list(Path(f"/proc/{own_edge.process.pid}/fd").iterdir()))
            assert held < 1024 * (2 if listener == "tcp" else 1) + 200
            assert memory(own_edge) - before < 1024 * 40_000


def test_ten_thousand_silent_connections_that_are_let_in_cost_little(
    tmp_path_factory: pytest.TempPathFactory, agents: Start
) -> None:
    state = tmp_path_factory.mktemp("generous") / "state"
    generous = RunningEdge(state, connections_per_source=MANY * 2, head_seconds=120)
    try:
        with tunnel(generous, agents) as (_, works):
            before = memory(generous)
            with silent(generous.ports["tls_port"], MANY):

                def all_in() -> bool:
                    return len(list(Path(f"/proc/{generous.process.pid}/fd").iterdir())) > MANY

                eventually(all_in, "all of them are held", 60)
                works()
                assert memory(generous) - before < MANY * 8_000
    finally:
        generous.close()


@pytest.mark.parametrize("sdk", ["seamark", "go", "python"])
def test_downloads_that_clients_vanish_from_hold_at_most_a_window_each_and_end(
    own_edge: RunningEdge, agents: Start, sdk: str
) -> None:
    agent = agents(sdk)
    agent.must("connect", **own_edge.connection())
    window = 1024 * 1024 if sdk == "seamark" else WINDOW
    crowd = 30
    with service(sends(500_000_000)) as upstream, tunnel(own_edge, agents) as (_, works):
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        before = memory(own_edge)
        for _ in range(crowd):
            with dial(url) as client:
                client.sendall(b"!")
                client.recv(1000)
        most, deadline = 0, time.monotonic() + 3
        while time.monotonic() < deadline:
            most = max(most, memory(own_edge) - before)
            time.sleep(0.05)
        assert most < crowd * window + 30_000_000
        works()
        with dial(url) as client:  # the same agent goes on serving
            client.settimeout(30)
            client.sendall(b"!")
            assert client.recv(1000)

        def nobody() -> bool:
            metrics = own_edge.get("/metrics").splitlines()
            return 'seamark_edge_open_connections{proto="tcp"} 0.0' in metrics

        eventually(nobody, "no connection is counted any more", 30)


def test_an_edge_takes_as_many_files_as_it_may(own_edge: RunningEdge) -> None:
    soft, hard = resource.prlimit(own_edge.process.pid, resource.RLIMIT_NOFILE)
    assert soft == hard
