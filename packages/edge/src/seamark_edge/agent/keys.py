"""TLS contexts from certificates and keys in memory: towards services, and towards clients."""

from __future__ import annotations

import os
import ssl
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from seamark_edge.agent.model import Pair, Termination, Tunnel
from seamark_runtime.errors import UserError

PROTOCOLS = {"http1": ["http/1.1"], "http2": ["h2"]}


@dataclass(frozen=True, slots=True)
class Dates:
    """Those of a certificate that clients are shown: outside of them no client that checks dates gets through."""

    begin: datetime
    end: datetime
    source: str

    @classmethod
    def of(cls, pair: Pair) -> Dates:
        """Of the server's own certificate, the first of a chain. Raises UserError."""
        source = f" in {pair.source}" if pair.source else ""
        try:
            leaf = x509.load_pem_x509_certificates(pair.certificate)[0]
            return cls(leaf.not_valid_before_utc, leaf.not_valid_after_utc, source)
        except (ValueError, OverflowError) as error:  # OpenSSL takes forms that are no X.509 by its standard
            raise UserError(f"the server certificate{source} can't be read", hint="it is X.509 in PEM") from error

    def trouble(self, now: datetime) -> str:
        """Why clients refuse it; "" if they do not."""
        if now > self.end:
            return f"the certificate{self.source} has expired: it was valid until {self.end:%Y-%m-%dT%H:%M:%SZ}"
        if now < self.begin:
            return f"the certificate{self.source} is not valid before {self.begin:%Y-%m-%dT%H:%M:%SZ}"
        return ""


def client_side(wanted: Tunnel, roots: str = "") -> ssl.SSLContext:
    """To a service that speaks TLS. `roots` is a file of CAs that are trusted beside the system's."""
    context = ssl.create_default_context()
    if roots:
        context.load_verify_locations(roots)
    if wanted.protocol in PROTOCOLS:
        context.set_alpn_protocols(PROTOCOLS[wanted.protocol])
    kinds = [_load(context, pair, "client certificate") for pair in wanted.client_certificates]
    if len(set(kinds)) < len(kinds):
        raise UserError("two client certificates with one type of key", hint="a service is shown one of them only")
    return context


def server_side(termination: Termination) -> ssl.SSLContext:
    """The TLS context for clients whose TLS ends here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    _load(context, termination.server, "server certificate")
    if termination.client_cas:
        try:
            context.load_verify_locations(cadata=termination.client_cas.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            source = f" in {termination.cas_source}" if termination.cas_source else ""
            raise UserError(f"the clients' CAs{source} can't be read", hint="they are certificates in PEM") from error
        context.verify_mode = ssl.CERT_REQUIRED if termination.required else ssl.CERT_OPTIONAL
    return context


def _load(context: ssl.SSLContext, pair: Pair, what: str) -> str:
    """Loads this pair into the context; returns the type of its key."""
    try:
        key = load_pem_private_key(pair.key, None)
        with tempfile.TemporaryDirectory() as directory:  # OpenSSL reads from files only
            path = Path(directory) / "pair.pem"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(pair.certificate + b"\n" + pair.key)
            context.load_cert_chain(path)
    except (ssl.SSLError, ValueError, TypeError, OSError) as error:
        source = f" in {pair.source}" if pair.source else ""
        raise UserError(f"the {what} and its key{source} can't be used", hint="they belong together, in PEM") from error
    return type(key).__name__
