"""The evidence behind conditions, over HTTP: served by an operator, forwarded by a console in another process.

- Only users who may read an object get its evidence; the operator asks the API server, also if a console forwards the
  request.
- Replicas of an operator are asked one by one, each at its own address: the one that leads knows.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec
from aiohttp import web

from seamark.console.access import Access, User
from seamark.console.authentication import TOKEN, USER, application, error_response, json_response
from seamark.console.disclosure import Disclosure
from seamark.explain import kinds
from seamark.explain.live import MAX_OBJECTS, KnownEvidence, ObjectRef, request_evidence
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.evidence import STANDS_BY
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json

PATH = "/api/evidence"
REQUEST_LIMITS = Limits(size=2**20, depth=10)
TIMEOUT = 1.5  # of a console for an operator: less than the timeout of the console's client

Evidence = Callable[[Resource, Key], list[str]]  # what the operator knows of an object, one line per fact


class ObjectQuery(msgspec.Struct, frozen=True):
    """An object of which the evidence is requested."""

    kind: str
    name: str
    namespace: str = ""


class EvidenceSource(Protocol):
    """Provides the evidence behind the conditions of objects."""

    async def evidence_of(self, token: str, user: User, objects: Sequence[ObjectRef]) -> KnownEvidence:
        """For this user, of these objects; `Retry` if no operator can be reached."""


class LocalEvidence:
    """The evidence of an operator in this process."""

    def __init__(self, access: Access, evidence: Evidence) -> None:
        self._access = access
        self._evidence = evidence

    async def evidence_of(self, token: str, user: User, objects: Sequence[ObjectRef]) -> KnownEvidence:
        return await Disclosure(self._access, user).evidence(objects, self._evidence)


class RemoteEvidence:
    """The evidence of operators at all addresses of a name, for example of a headless Service."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise UserError(f"{address!r} is no address of operators", hint="write HOST:PORT")
        self._host, self._port = host.strip("[]"), int(port)

    async def evidence_of(self, token: str, user: User, objects: Sequence[ObjectRef]) -> KnownEvidence:
        try:
            async with asyncio.timeout(TIMEOUT):
                urls = await self._urls()
        except (OSError, TimeoutError) as error:
            raise self._unavailable(error) from None
        answers = await asyncio.gather(*(self._request(url, token, objects) for url in urls))
        known = [evidence for evidence in answers if not isinstance(evidence, Retry)]
        if not known:
            raise self._unavailable(*answers)
        return {obj: _of_leaders([evidence.get(obj, ()) for evidence in known]) for obj in objects}

    async def _request(self, url: str, token: str, objects: Sequence[ObjectRef]) -> KnownEvidence | Retry:
        """An operator that is gone or hangs does not delay the evidence of others."""
        try:
            return await request_evidence(url, token, objects, TIMEOUT)
        except Retry as error:
            return error

    def _unavailable(self, *errors: object) -> Retry:
        reasons = "; ".join(dict.fromkeys(str(error) or "no answer in time" for error in errors))
        return Retry(f"no operator responds at {self._host}:{self._port}: {reasons}")

    async def _urls(self) -> list[str]:
        found = await asyncio.get_running_loop().getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        hosts = sorted({str(address[0]) for *_, address in found})
        return [f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}" for host in hosts]


def _of_leaders(answers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The evidence of all leaders (each family may have its own); without a leader, that of one standby replica."""
    leaders = [line for lines in answers if STANDS_BY not in lines for line in lines]
    return tuple(leaders) if leaders else max(answers, key=len)


def evidence_application(access: Access, evidence: Evidence) -> web.Application:
    """The evidence alone, of an operator without a console."""
    app = application(access)
    app.router.add_post(PATH, evidence_handler(LocalEvidence(access, evidence)))
    return app


def evidence_handler(source: EvidenceSource | None) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The HTTP handler: the evidence of each requested object, in the same order."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if source is None:
            return error_response(404, "no operator runs here, only the console; --operators names some")
        try:
            queries = decode_json(await request.read(), list[ObjectQuery], REQUEST_LIMITS)[:MAX_OBJECTS]
            objects = [(kinds.named(query.kind), Key(query.namespace, query.name)) for query in queries]
        except (Malformed, UserError) as error:
            return error_response(400, str(error))
        try:
            known = await source.evidence_of(request[TOKEN], request[USER], objects)
        except Retry as error:
            return error_response(502, error.message)
        return json_response([known.get(obj, ()) for obj in objects])

    return answer
