"""What is served to anybody: certificates at gateways and at the edge, and answers to requests."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from contextlib import suppress

TIMEOUT = 3.0


def anybody() -> ssl.SSLContext:
    """Trusts everything: what matters is which certificate is shown."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def certificate(host: str, port: int, name: str) -> bytes:
    """The SHA-256 of the certificate that is shown for a name; empty when there is none."""
    with suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(TIMEOUT):
            _, writer = await asyncio.open_connection(host, port, ssl=anybody(), server_hostname=name)
            found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.transport.abort()
            return hashlib.sha256(found or b"").digest() if found else b""
    return b""


async def answer(host: str, port: int, name: str, path: str = "/") -> str:
    """What an HTTP request to a host is answered with; empty when it is not."""
    with suppress(OSError, TimeoutError, UnicodeError):
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {name}\r\nx-a: b\r\nConnection: close\r\n\r\n".encode())
            try:
                return (await reader.read(65536)).decode(errors="replace")
            finally:
                writer.transport.abort()
    return ""
