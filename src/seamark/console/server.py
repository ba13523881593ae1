"""The console over HTTP: a page of our own, and its data as the person who asks may see it. Read-only.

- Every question about the cluster carries the person's Kubernetes token; without one that the API server knows, 401.
- /api/stream sends all rows, then what changes, as server-sent events. A reader that is slow gets fewer, newer events.
- /api/evidence tells what the operator knows behind an object's conditions, where the console is part of it.
- An object's manifest and events are read with the person's own token: the API server says what they may see.
- Nothing comes from elsewhere, nothing is kept in the browser but the token, for as long as its tab is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import msgspec
from aiohttp import web

from seamark.api.meta import Key, Resource
from seamark.console.access import Access, Person
from seamark.console.graph import FOLLOWED, identity
from seamark.console.rows import Board, places, row
from seamark.core.errors import UserError
from seamark.core.transport import Request, Transport
from seamark.explain import kinds
from seamark.explain.model import Hop
from seamark.explain.show import plain

BATCH = 0.1  # seconds during which changes are put together
MOST_ASKED = 1000  # objects in one question about evidence
BEAT = 15.0  # seconds without a change after which the stream says that it lives

ASSETS = {"": "text/html", "app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
PERSON = web.RequestKey("person", Person)
TOKEN = web.RequestKey("token", str)

As = Callable[[str], Awaitable[Transport]]  # a way to the API server as whoever holds this token
Evidence = Callable[[Resource, Key], list[str]]  # what the operator knows of an object, in words


class Asked(msgspec.Struct, frozen=True):
    """An object that somebody wants to know more about."""

    kind: str
    name: str
    namespace: str = ""


class Console:
    """Serves until closed. `ready` says whether the map is whole yet."""

    def __init__(
        self,
        board: Board,
        access: Access,
        as_person: As,
        ready: Callable[[], bool],
        evidence: Evidence | None = None,
    ) -> None:
        self._evidence = evidence
        self._board = board
        self._access = access
        self._as_person = as_person
        self._ready = ready
        self._runner: web.AppRunner | None = None

    def app(self) -> web.Application:
        app = web.Application(middlewares=[_guarded, self._known])
        for name in ASSETS:
            app.router.add_get(f"/{name}", self._asset)
        app.router.add_get("/api/stream", self._stream)
        app.router.add_get("/api/object", self._object)
        app.router.add_post("/api/evidence", self._proof)
        return app

    async def start(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host.strip("[]") or None, int(port)).start()
        except (OSError, ValueError, OverflowError) as error:
            await self.close()
            raise UserError(f"can't serve the console on {address} ({error})", hint="choose another address") from None

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @web.middleware
    async def _known(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Whatever is about the cluster is for somebody whom the cluster knows."""
        if request.path.startswith("/api/"):
            token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            person = await self._access.person(token) if token else None
            if person is None:
                return _problem(401, "show a Kubernetes token: kubectl create token NAME makes one")
            request[PERSON], request[TOKEN] = person, token
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _asset(self, request: web.Request) -> web.Response:
        name = request.path.lstrip("/")
        text = files("seamark.console").joinpath("page", name or "index.html").read_text()
        return web.Response(text=text, content_type=ASSETS[name])

    # ---- the map

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **HEADERS})
        await response.prepare(request)
        changed: dict[Key, None] = {}
        something = asyncio.Event()

        def note(at: Key) -> None:
            changed[at] = None
            something.set()

        end = self._board.subscribe(note)
        try:
            await self._send(response, "all", await self._rows(request[PERSON], list(self._board)))
            while True:
                try:
                    async with asyncio.timeout(BEAT):
                        await something.wait()
                except TimeoutError:
                    await response.write(b": beat\n\n")
                    continue
                await asyncio.sleep(BATCH)
                now, changed = changed, {}
                something.clear()
                await self._send(response, "changed", await self._changes(request[PERSON], now))
        except (ConnectionError, asyncio.CancelledError):
            return response
        finally:
            end()

    async def _changes(self, person: Person, changed: dict[Key, None]) -> dict[str, Any]:
        found = {at: self._board.get(at) for at in changed}
        rows = await self._rows(person, [hop for hop in found.values() if hop is not None])
        return {**rows, "gone": [str(at) for at, hop in found.items() if hop is None]}

    async def _rows(self, person: Person, hops: list[Hop]) -> dict[str, Any]:
        readable = await self._access.readable(person, {place for hop in hops for place in places(hop)})
        own = [hop for hop in hops if (hop.resource, hop.key.namespace) in readable]
        return {"rows": [row(hop, readable) for hop in own], "ready": self._ready(), "person": person.name}

    async def _send(self, response: web.StreamResponse, event: str, data: object) -> None:
        await response.write(f"event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n")

    # ---- one object

    async def _object(self, request: web.Request) -> web.Response:
        try:
            resource = kinds.named(request.query.get("kind", ""))
        except UserError as error:
            return _problem(404, error.message)
        key = Key(request.query.get("namespace", ""), request.query.get("name", ""))
        if resource not in FOLLOWED or not await self._access.may_read(request[PERSON], resource, key.namespace):
            return _problem(403, f"you may not read {resource.kind} {key}")
        hop = self._board.get(identity(resource, key))
        readable = await self._access.readable(request[PERSON], set(places(hop))) if hop else set()
        manifest, events = await self._live(request[TOKEN], resource.path(*key), key, resource.kind)
        if manifest is None:
            return _problem(404, f"there is no {resource.kind} {key}")
        flips = [msgspec.to_builtins(flip) for flip in self._board.flips.get((resource, key), ())]
        shown = None if hop is None else hidden(plain(hop)["tree"], readable)
        return _json({"manifest": manifest, "events": events, "flips": flips, "tree": shown})

    async def _proof(self, request: web.Request) -> web.Response:
        """What the operator knows of these objects: of each that the person may read."""
        if self._evidence is None:
            return _problem(404, "no operator runs here, only the console")
        try:
            asked = msgspec.json.decode(await request.read(), type=list[Asked])[:MOST_ASKED]
            places = [(kinds.named(one.kind), Key(one.namespace, one.name)) for one in asked]
        except (msgspec.DecodeError, UserError) as error:
            return _problem(400, str(error))
        may = [await self._access.may_read(request[PERSON], resource, key.namespace) for resource, key in places]
        known = [self._evidence(*place) if may_read else [] for place, may_read in zip(places, may, strict=True)]
        return _json(known)

    async def _live(self, token: str, path: str, key: Key, kind: str) -> tuple[Any, list[Any]]:
        """The manifest and the events, as the API server shows them to this person."""
        transport = await self._as_person(token)
        try:
            answer = await transport.send(Request("GET", path))
            if answer.status != 200:
                return None, []
            manifest = msgspec.json.decode(answer.body)
            manifest.get("metadata", {}).pop("managedFields", None)
            about = f"regarding.name={key.name},regarding.kind={kind}"
            where = f"/apis/events.k8s.io/v1/namespaces/{key.namespace or 'default'}/events"
            told = await transport.send(Request("GET", where, {"fieldSelector": about}))
            events = msgspec.json.decode(told.body).get("items") or [] if told.status == 200 else []
            return manifest, [_event(one) for one in events]
        finally:
            await transport.close()


def hidden(tree: dict[str, Any], readable: set[Any]) -> dict[str, Any]:
    """The tree without what the person may not read."""
    place = (kinds.named(tree["kind"]), tree["namespace"])
    below = [hidden(one, readable) for one in tree["hops"]]
    if place in readable:
        return {**tree, "hops": below}
    return {"kind": tree["kind"], "namespace": "", "name": "", "truth": "Hidden", "conditions": [], "hops": below}


def _event(raw: dict[str, Any]) -> dict[str, Any]:
    series = raw.get("series") or {}
    return {
        "type": raw.get("type"),
        "reason": raw.get("reason"),
        "note": raw.get("note"),
        "at": series.get("lastObservedTime") or raw.get("eventTime") or raw.get("deprecatedLastTimestamp"),
        "count": series.get("count") or 1,
    }


def _json(data: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(data), content_type="application/json")


def _problem(status: int, words: str) -> web.Response:
    return web.Response(body=msgspec.json.encode({"error": words}), status=status, content_type="application/json")


@web.middleware
async def _guarded(request: web.Request, handler: Any) -> web.StreamResponse:
    answer: web.StreamResponse = await handler(request)
    if not answer.prepared:
        answer.headers.update(HEADERS)
    return answer
