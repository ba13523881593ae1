"""Which certificate a host is served with, and when it is exchanged."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

import structlog

from seamark.core.errors import UserError
from seamark.edge.api.reserved import CERTIFICATE, check_pair
from seamark.edge.authority import Authority, server_context
from seamark.edge.errors import Refusal
from seamark.edge.places import DOMAIN
from seamark.edge.registry import Entry
from seamark.edge.store import Store

log = structlog.get_logger(__name__)


class Certificates:
    """Server contexts by host.

    - The policy's own certificate comes first, then the one uploaded for the reserved domain (or its wildcard), then
      one of the edge's CA.
    - A change is in effect for the next handshake; connections that are open keep theirs.
    """

    def __init__(self, store: Store, authority: Authority) -> None:
        self._store = store
        self._authority = authority
        self._made: dict[str, ssl.SSLContext] = {}

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
        mark = hashlib.sha256(f"{certificate}\n{key}".encode()).hexdigest()
        if mark not in self._made:
            if len(self._made) >= 1024:
                self._made.clear()
            self._made[mark] = server_context(certificate.encode(), key.encode())
        return self._made[mark]


class PairOnDisk:
    """A certificate and key in files, exchanged in the context that serves them when the files change.

    - A pair that does not load, or whose halves do not belong together, is reported and the old one stays.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate, self._key = certificate, key
        self._seen = self._stamp()
        try:
            check_pair(certificate.read_text(), key.read_text())
        except (OSError, Refusal) as error:
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
        except (OSError, Refusal, ssl.SSLError) as error:
            log.error("the changed certificate can't be used, the old one stays", error=str(error))
            return False
        log.info("certificate exchanged", file=str(self._certificate))
        return True

    def _stamp(self) -> tuple[int, ...]:
        try:
            return tuple(path.stat().st_mtime_ns for path in (self._certificate, self._key))
        except OSError:
            return ()
