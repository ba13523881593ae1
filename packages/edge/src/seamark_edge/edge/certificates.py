"""Which certificate a host is served with, and when it is exchanged."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

import structlog

from seamark_edge.edge.authority import Authority, server_context
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.keypairs import BadPair, check_pair
from seamark_edge.edge.places import DOMAIN
from seamark_edge.edge.registry import Entry
from seamark_edge.store.store import Store
from seamark_runtime.errors import UserError

log = structlog.get_logger(__name__)

MOST_CONTEXTS = 1024
CERTIFICATE = "tls_certificate"  # the kind of an uploaded pair in the store


class Certificates:
    """Server contexts by host.

    - The policy's own certificate comes first, then the one uploaded for the reserved domain (or its wildcard), then
      one of the edge's CA.
    - A change is in effect for the next handshake; connections that are open keep theirs.
    - Pairs are checked when they are set. One that can't be loaded nevertheless (of an older version's state) is logged
      once, and every connection that needs it is refused.
    """

    def __init__(self, store: Store, authority: Authority) -> None:
        self._store = store
        self._authority = authority
        self._made: dict[str, ssl.SSLContext | None] = {}  # by pair; None for one that can't be loaded

    def context(self, host: str, entry: Entry) -> ssl.SSLContext:
        action = entry.policy.terminates
        if action is not None and action.certificate is not None:
            return self._context(*action.certificate)
        for name in (host, f"*.{host.partition('.')[2]}"):
            domain = self._store.named(DOMAIN, name)
            uploaded = self._store.get(CERTIFICATE, (domain.body.get("certificate_id") or "") if domain else "")
            if uploaded is not None:
                return self._context(uploaded.body["certificate_pem"], uploaded.body["private_key_pem"])
        return self._authority.context(host)

    def _context(self, certificate: str, key: str) -> ssl.SSLContext:
        mark = hashlib.sha256(f"{certificate}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()
        if mark not in self._made:
            if len(self._made) >= MOST_CONTEXTS:
                self._made.clear()
            self._made[mark] = _loaded(certificate, key)
        context = self._made[mark]
        if context is None:
            raise Refusal(3200, "the certificate of this endpoint can't be used", status=404)
        return context


def _loaded(certificate: str, key: str) -> ssl.SSLContext | None:
    try:
        return server_context(certificate.encode(), key.encode())
    except (OSError, ValueError) as error:
        log.error("a certificate can't be loaded; connections that need it are refused", error=str(error))
        return None


class PairOnDisk:
    """A certificate and key in files, exchanged in the context that serves them when the files change.

    - A pair that does not load, or whose halves do not belong together, is reported and the old one stays.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate, self._key = certificate, key
        self._seen = self._stamp()
        try:
            check_pair(certificate.read_text(), key.read_text())
        except (OSError, BadPair) as error:
            raise UserError(f"{certificate} and {key} can't be used", hint=str(error)) from error
        self.context = server_context(certificate.read_bytes(), key.read_bytes())

    def reload(self) -> bool:
        """Take up changed files; True if there was a change that is now in effect."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp
        try:
            check_pair(self._certificate.read_text(), self._key.read_text())
            self.context.load_cert_chain(self._certificate, self._key)
        except (OSError, BadPair, ssl.SSLError) as error:
            log.error("the changed certificate can't be used, the old one stays", error=str(error))
            return False
        log.info("certificate exchanged", file=str(self._certificate))
        return True

    def _stamp(self) -> tuple[int, ...]:
        try:
            return tuple(path.stat().st_mtime_ns for path in (self._certificate, self._key))
        except OSError:
            return ()
