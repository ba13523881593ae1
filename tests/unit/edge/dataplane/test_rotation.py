"""Certificates of the xDS server are exchanged while it runs: the next connection is shown the new one."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path

import grpc
from cryptography import x509

from seamark_edge.dataplane.envoy.remote import credentials
from seamark_runtime.signing import CA_CRT, CRT, KEY, issue, make_authority

HOST = "xds.example.svc"


def fill(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


async def shown(port: int, files: Path) -> int:
    """The serial number of the certificate that a new connection is shown."""
    context = ssl.create_default_context(cafile=str(files / CA_CRT))
    context.load_cert_chain(files / CRT, files / KEY)
    context.set_alpn_protocols(["h2"])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=HOST)
    try:
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(found).serial_number
    finally:
        writer.transport.abort()


def test_a_renewed_certificate_is_shown_to_the_next_connection(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "server", tmp_path / "client"
    ca = make_authority(datetime.now(UTC))
    for folder, hosts in ((ours, (HOST,)), (theirs, ("envoy",))):
        folder.mkdir()
        fill(folder, issue(ca, hosts, datetime.now(UTC)))

    async def case() -> None:
        server = grpc.aio.server()
        port = server.add_secure_port("127.0.0.1:0", credentials(ours))
        await server.start()
        try:
            before = await shown(port, theirs)
            assert await shown(port, theirs) == before
            fill(ours, issue(ca, (HOST,), datetime.now(UTC)))
            assert await shown(port, theirs) != before
        finally:
            await server.stop(None)

    asyncio.run(case())
