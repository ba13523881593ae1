"""Where the forwarders of clusters come in: mutual TLS, one preamble, then bytes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator

import structlog

from seamark_edge.edge.errors import Refusal, offline
from seamark_edge.edge.limits import Slot
from seamark_edge.edge.policy import Client
from seamark_edge.edge.public import ClientConnection, SecureConnection
from seamark_edge.edge.registry import Entry, kubernetes_place
from seamark_edge.edge.routing import Router, Search
from seamark_edge.edge.urls import EndpointUrl
from seamark_edge.store.record import Record
from seamark_edge.wire.bindings import ConnRequest, ConnResponse, PreambleError, PreambleReader, frame

log = structlog.get_logger(__name__)

Confirm = Callable[[Entry], Awaitable[tuple[str, str]]]  # the state of the upstream now, and why
SCHEMES = ("tcp", "http", "https", "tls")


class IngressConnection(SecureConnection):
    """One connection of a forwarder.

    - The certificate must be the one that its operator was last given: an older one, or one of a deleted operator,
      is as good as none.
    - The endpoint must be bound to that operator by its selectors; the response names the endpoint, or the reason of
      the refusal.
    - A probe is judged by policies like any connection, and answered with the state of the upstream; nothing is joined.
    """

    __slots__ = ("_allowed", "_confirm", "_operator", "_operator_of", "_probe", "_reader", "_timer")

    def __init__(
        self,
        router: Router,
        operator_of: Callable[[str], Record | None],
        allowed: Callable[[Record, EndpointUrl], str],
        confirm: Confirm,
        slot: Slot,
    ) -> None:
        super().__init__(router, "kubernetes:", _refusal_response, slot=slot)
        self._operator_of = operator_of
        self._allowed = allowed
        self._confirm = confirm
        self._probe: asyncio.Task[None] | None = None
        self._operator: Record | None = None
        self._reader: PreambleReader | None = PreambleReader()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        assert self.transport is not None
        tls = self.transport.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True) if tls else None
        operator = self._operator_of(hashlib.sha256(certificate).hexdigest()) if certificate else None
        if operator is None:
            self.refuse(Refusal(401, "the certificate is not the current one of an operator here", status=403))
            return
        self.admit(f"operator {operator.id}")
        self._operator = operator
        seconds = self._router.settings.head_seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self.transport.abort)

    def taken(self, data: bytes) -> None:
        if self._operator is None:
            return  # it was refused, and is being closed
        if self._reader is None:
            super().taken(data)
        else:
            self._preamble(self._reader, data)

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
        assert self._operator is not None
        try:
            self.in_turn(f"operator {self._operator.id}", self._serve(request))
        except Refusal as refusal:
            self.refuse(refusal)
        if reader.rest and (self.stream is not None or self._turn is not None):
            ClientConnection.data_received(self, reader.rest)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._probe is not None:
            self._probe.cancel()
        super().connection_lost(exc)

    def _serve(self, request: ConnRequest) -> Iterator[None]:
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
            yield
        else:
            book.info("binding refused: no such endpoint for this operator")
            raise offline(f"{request.host[:253]}:{request.port}")
        self._key = kubernetes_place(url)
        search = Search(self._router, Client(self._client.ip, self._client.port))
        yield from search.at(self._key)
        self._rest = search.result(self._key)
        if request.probe:
            self._probe = asyncio.get_running_loop().create_task(self._probed(endpoint, url.scheme))
            return
        book.info("binding connected", endpoint=endpoint)
        self.transport.write(frame(ConnResponse(endpoint_id=endpoint, proto=url.scheme)))
        self.attempt()

    async def _probed(self, endpoint: str, proto: str) -> None:
        entry = self._router.registry.entries.get(endpoint)
        if entry is None:
            self.refuse(offline(self._key))
            return
        state, detail = await self._confirm(entry)
        if self.transport is not None:
            self.transport.write(frame(ConnResponse(endpoint, proto, upstream=state, detail=detail)))
            self.transport.close()


def _refusal_response(refusal: Refusal) -> bytes:
    return frame(ConnResponse(error_code=refusal.name, error_message=refusal.message))
