"""Where the forwarders of clusters come in: mutual TLS, one preamble, then bytes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import structlog

from seamark.edge.errors import Refusal, offline
from seamark.edge.policy import Client
from seamark.edge.public import ClientConnection, Router, SecureConnection
from seamark.edge.store import Record
from seamark.edge.urls import EndpointUrl
from seamark.wire.bindings import ConnRequest, ConnResponse, PreambleError, PreambleReader, frame

log = structlog.get_logger(__name__)

SCHEMES = ("tcp", "http", "https", "tls")


class IngressConnection(SecureConnection):
    """One connection of a forwarder.

    - The certificate must be the one that its operator was last given: an older one, or one of a deleted operator,
      is as good as none.
    - The endpoint must be bound to that operator by its selectors; the answer says who serves, or why nobody does.
    """

    __slots__ = ("_allowed", "_operator", "_operator_of", "_reader", "_timer")

    def __init__(
        self,
        router: Router,
        operator_of: Callable[[str], Record | None],
        allowed: Callable[[Record, EndpointUrl], str],
    ) -> None:
        super().__init__(router, "kubernetes:", _words)
        self._operator_of = operator_of
        self._allowed = allowed
        self._operator: Record | None = None
        self._reader: PreambleReader | None = PreambleReader()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        assert self.transport is not None
        tls = self.transport.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True) if tls else None
        if certificate:
            self._operator = self._operator_of(hashlib.sha256(certificate).hexdigest())
        if self._operator is None:
            self.refuse(Refusal(401, "the certificate is not the current one of an operator here", status=403))
            return
        seconds = self._router.settings.head_seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self.transport.abort)

    def buffer_updated(self, nbytes: int) -> None:
        if self._reader is None:
            super().buffer_updated(nbytes)
        else:
            self._preamble(self._reader, bytes(self._shared[:nbytes]))

    def _preamble(self, reader: PreambleReader, data: bytes) -> None:
        try:
            body = reader.feed(data)
            if body is None:
                return
            request = ConnRequest.decode(body)
        except PreambleError as error:
            self.refuse(Refusal(400, str(error)))
            return
        self._reader = None
        self._serve(request)
        if reader.rest and self.stream is not None:
            ClientConnection.data_received(self, reader.rest)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _serve(self, request: ConnRequest) -> None:
        assert self._operator is not None
        assert self.transport is not None
        if self._timer is not None:
            self._timer.cancel()
        pod = request.pod
        book = log.bind(operator=self._operator.id, host=request.host[:253], port=request.port, client=self._client.ip)
        book = book.bind(pod=f"{pod.namespace}/{pod.name}"[:300], pod_uid=pod.uid[:64]) if pod else book
        for scheme in SCHEMES:
            url = EndpointUrl(scheme, request.host.lower(), request.port)
            if endpoint := self._allowed(self._operator, url):
                break
        else:
            book.info("binding refused: no such endpoint for this operator")
            self.refuse(offline(f"{request.host[:253]}:{request.port}"))
            return
        self._key = url.key
        try:
            self._rest = self._router.candidates(url.key, Client(self._client.ip, self._client.port))
        except Refusal as refusal:
            self.refuse(refusal)
            return
        book.info("binding connected", endpoint=endpoint)
        self.transport.write(frame(ConnResponse(endpoint_id=endpoint, proto=url.scheme)))
        self.attempt()


def _words(refusal: Refusal) -> bytes:
    return frame(ConnResponse(error_code=refusal.name, error_message=refusal.message))
