"""A running edge for the tests, and agents on the official SDKs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram, start_agent
from tests.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    # Many tests share its addresses: one that an agent left is soon free for the next.
    running = RunningEdge(tmp_path_factory.mktemp("edge") / "state", lease_seconds=1)
    yield running
    running.close()


@pytest.fixture
def own_edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdge]:
    """An edge that a test may kill."""
    running = RunningEdge(tmp_path_factory.mktemp("own-edge") / "state")
    yield running
    running.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for all tests of this process; each has a database of its own. Who ends it starts it again."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def agents() -> Iterator[Callable[[str], AgentProgram]]:
    """Starts agent programs, and ends them with the test."""
    started: list[AgentProgram] = []

    def start(sdk: str) -> AgentProgram:
        started.append(start_agent(sdk))
        return started[-1]

    yield start
    for program in started:
        program.kill()
