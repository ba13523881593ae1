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

from seamark.console.access import Access, Person
from seamark.console.asking import PERSON, TOKEN, application, problem, told
from seamark.console.disclosure import Disclosure
from seamark.explain import kinds
from seamark.explain.live import MOST, Known, Place, ask
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.evidence import STANDS_BY
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json

PATH = "/api/evidence"
QUESTION = Limits(size=2**20, depth=10)
PATIENCE = 1.5  # of a console for an operator: less than the timeout of the console's client

Evidence = Callable[[Resource, Key], list[str]]  # what the operator knows of an object, in words


class Asked(msgspec.Struct, frozen=True):
    """An object of which the evidence is requested."""

    kind: str
    name: str
    namespace: str = ""


class Witness(Protocol):
    """Knows what is behind the conditions of objects."""

    async def tell(self, token: str, person: Person, places: Sequence[Place]) -> Known:
        """For this user, of these objects; `Retry` if no operator can be reached."""


class Here:
    """The operator runs in this very program."""

    def __init__(self, access: Access, evidence: Evidence) -> None:
        self._access = access
        self._evidence = evidence

    async def tell(self, token: str, person: Person, places: Sequence[Place]) -> Known:
        return await Disclosure(self._access, person).evidence(places, self._evidence)


class Elsewhere:
    """Operators at all addresses of a name, for example of a headless Service."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise UserError(f"{address!r} is no address of operators", hint="write HOST:PORT")
        self._host, self._port = host.strip("[]"), int(port)

    async def tell(self, token: str, person: Person, places: Sequence[Place]) -> Known:
        try:
            async with asyncio.timeout(PATIENCE):
                urls = await self._urls()
        except (OSError, TimeoutError) as error:
            raise self._nobody(error) from None
        answers = await asyncio.gather(*(self._ask(url, token, places) for url in urls))
        known = [one for one in answers if not isinstance(one, Retry)]
        if not known:
            raise self._nobody(*answers)
        return {place: _of_who_leads([one.get(place, ()) for one in known]) for place in places}

    async def _ask(self, url: str, token: str, places: Sequence[Place]) -> Known | Retry:
        """An operator that is gone or hangs does not delay the evidence of others."""
        try:
            return await ask(url, token, places, PATIENCE)
        except Retry as trouble:
            return trouble

    def _nobody(self, *troubles: object) -> Retry:
        words = "; ".join(dict.fromkeys(str(trouble) or "no answer in time" for trouble in troubles))
        return Retry(f"no operator can be asked at {self._host}:{self._port}: {words}")

    async def _urls(self) -> list[str]:
        found = await asyncio.get_running_loop().getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        hosts = sorted({str(address[0]) for *_, address in found})
        return [f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}" for host in hosts]


def _of_who_leads(answers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Families may run apart, each with a leader of its own: what all leaders know; of those who stand by, one."""
    leaders = [line for lines in answers if STANDS_BY not in lines for line in lines]
    return tuple(leaders) if leaders else max(answers, key=len)


def witnessing(access: Access, evidence: Evidence) -> web.Application:
    """The evidence alone, of an operator without a console."""
    app = application(access)
    app.router.add_post(PATH, answering(Here(access, evidence)))
    return app


def answering(witness: Witness | None) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """What answers the question: of each object that was asked for, in the same order."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if witness is None:
            return problem(404, "no operator runs here, only the console; --operators names some")
        try:
            asked = decode_json(await request.read(), list[Asked], QUESTION)[:MOST]
            places = [(kinds.named(one.kind), Key(one.namespace, one.name)) for one in asked]
        except (Malformed, UserError) as error:
            return problem(400, str(error))
        try:
            known = await witness.tell(request[TOKEN], request[PERSON], places)
        except Retry as error:
            return problem(502, error.message)
        return told([known.get(place, ()) for place in places])

    return answer
