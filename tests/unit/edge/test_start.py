"""What a user can get wrong when starting an edge, reported in one line."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.process.server import Edge
from seamark_runtime.errors import UserError
from tests.edge.services import free_port


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tcp_ports": "many"}, "write a range like"),
        ({"tcp_ports": "300-200"}, "the range is empty"),
        ({"agent_cert": "only.pem"}, "belong together"),
        ({"agent_cert": "no.pem", "agent_key": "no.key"}, "can't be used"),
    ],
)
def test_settings_that_cant_be(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        Edge(EdgeSettings(state=str(tmp_path / "edge.db"), **settings))


@pytest.mark.parametrize("name", ["agent_port", "api_port"])
def test_a_port_that_is_taken(tmp_path: Path, name: str) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        ports: dict[str, Any] = {"agent_port": free_port(), "api_port": free_port(), name: port}

        async def case() -> None:
            edge = Edge(EdgeSettings(state=str(tmp_path / "edge.db"), **ports))
            with pytest.raises(UserError, match=f":{port} can't be bound: Address already in use"):
                await edge.start()
            await edge.stop()

        asyncio.run(case())


def test_the_state_may_be_named_as_a_file_or_a_directory(tmp_path: Path) -> None:
    assert EdgeSettings(state=str(tmp_path)).file == tmp_path / "edge.db"
    assert EdgeSettings(state=str(tmp_path / "new") + "/").file == tmp_path / "new" / "edge.db"
    assert EdgeSettings(state=str(tmp_path / "mine.sqlite")).file == tmp_path / "mine.sqlite"
