"""Name servers for tests: one of each for the session where tests share it, and fresh ones for those that break it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dns.servers import Bind, Knot, NameServer, PowerDns

SERVERS: dict[str, type[NameServer]] = {"bind": Bind, "knot": Knot, "powerdns": PowerDns}


@pytest.fixture
def bind(tmp_path: Path) -> Iterator[Bind]:
    server = Bind(tmp_path / "bind")
    yield server
    server.close()


@pytest.fixture(params=list(SERVERS))
def name_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NameServer]:
    server = SERVERS[request.param](tmp_path / request.param)
    yield server
    server.close()
