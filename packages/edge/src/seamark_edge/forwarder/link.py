"""The way to the edge: mutual TLS with the installation's certificate, and sessions that are resumed."""

from __future__ import annotations

import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEFAULT_PORT = 443


@dataclass(frozen=True)
class Credentials:
    """What the Secret holds."""

    certificate: bytes
    key: bytes = field(repr=False)
    ca: bytes = b""


class ResumingContext(ssl.SSLContext):
    """A client context that resumes the last TLS session, without another full handshake.

    The event loop's TLS has no way to pass a session on, and makes its engine by `wrap_bio`: so it is put in there.
    """

    last: ssl.SSLSession | None = None

    def wrap_bio(  # the standard library's signature
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: Any = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session or self.last)

    def keep(self, engine: ssl.SSLObject | None) -> bool:
        """Remembers the session of a connection for the next ones; whether this one was itself resumed."""
        if engine is None:
            return False
        if engine.session is not None and engine.session.has_ticket:
            self.last = engine.session
        return bool(engine.session_reused)


def context_of(credentials: Credentials, ca_file: str = "") -> ResumingContext:
    """Raises `ssl.SSLError` where the certificate and its key can't be used."""
    context = ResumingContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    elif credentials.ca:
        context.load_verify_locations(cadata=credentials.ca.decode())
    else:
        context.load_default_certs()
    with tempfile.TemporaryDirectory() as directory:  # OpenSSL reads from files only
        path = Path(directory) / "pair.pem"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(credentials.certificate + b"\n" + credentials.key)
        context.load_cert_chain(path)
    return context


def place(endpoint: str) -> tuple[str, int]:
    """host:port of the edge's ingress; the port may be missing."""
    host, colon, port = endpoint.rpartition(":")
    if colon and port.isdecimal() and not host.endswith(":"):
        return host.strip("[]"), int(port)
    return endpoint.strip("[]"), DEFAULT_PORT
