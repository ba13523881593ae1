"""The event loop of the tests."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seamark_runtime.signing import issue, make_authority
from tests.event_loop import Loop


@pytest.mark.parametrize("loop", [asyncio.SelectorEventLoop, Loop])
def test_a_tls_connection_that_is_being_closed_is_closed_before_its_loop(
    tmp_path: Path, loop: type[asyncio.SelectorEventLoop]
) -> None:
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings(record=True) as warned, theirs:
        warnings.simplefilter("always")
        with asyncio.Runner(loop_factory=loop) as runner:
            silent = runner.run(_close_without_an_answer(ours, theirs, tmp_path))
        silent.close()
        gc.collect()
    assert any("unclosed transport" in str(warning.message) for warning in warned) == (loop is not Loop)


async def _close_without_an_answer(ours: socket.socket, theirs: socket.socket, folder: Path) -> ssl.SSLSocket:
    now = datetime.now(UTC)
    for name, content in issue(make_authority(now), ("localhost",), now).items():
        (folder / name).write_bytes(content)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    (_, client), silent = await asyncio.gather(
        asyncio.open_connection(sock=ours, ssl=trusting, server_hostname="localhost"),
        asyncio.to_thread(served.wrap_socket, theirs, server_side=True),
    )
    client.close()
    return silent
