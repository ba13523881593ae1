"""The console over HTTP: a page of our own, and its data as the person who asks may see it. Read-only.

- Every question about the cluster carries the person's Kubernetes token; without one that the API server knows, 401.
- /api/stream sends all rows, then what changes, as server-sent events. A reader that is slow gets fewer, newer events.
- /api/evidence tells what the operator knows behind objects' conditions: that it is part of, or that it can ask.
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

from seamark.api.meta import Key
from seamark.console.access import Access, Person
from seamark.console.asking import HEADERS, PERSON, TOKEN, application, problem, told
from seamark.console.evidence import PATH, Witness, answering
from seamark.console.graph import FOLLOWED, identity
from seamark.console.rows import Board, places, row
from seamark.core.errors import Retry, UserError
from seamark.core.site import Site
from seamark.core.transport import Request, Transport
from seamark.explain import kinds
from seamark.explain.live import places as asked_for
from seamark.explain.live import proven
from seamark.explain.model import Hop
from seamark.explain.show import plain

BATCH = 0.1  # seconds during which changes are put together
BEAT = 15.0  # seconds without a change after which the stream says that it lives

ASSETS = {"": "text/html", "app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
As = Callable[[str], Awaitable[Transport]]  # a way to the API server as whoever holds this token


class Console:
    """Serves until closed. `ready` says whether the map is whole yet."""

    def __init__(
        self,
        board: Board,
        access: Access,
        as_person: As,
        ready: Callable[[], bool],
        witness: Witness | None = None,
    ) -> None:
        self._witness = witness
        self._board = board
        self._access = access
        self._as_person = as_person
        self._ready = ready
        self._site = Site("the console", "choose another address")

    def app(self) -> web.Application:
        app = application(self._access)
        for name in ASSETS:
            app.router.add_get(f"/{name}", self._asset)
        app.router.add_get("/api/stream", self._stream)
        app.router.add_get("/api/object", self._object)
        app.router.add_post(PATH, answering(self._witness))
        return app

    async def start(self, address: str) -> None:
        await self._site.open(self.app(), address)

    async def close(self) -> None:
        await self._site.close()

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
            return problem(404, error.message)
        key = Key(request.query.get("namespace", ""), request.query.get("name", ""))
        if resource not in FOLLOWED or not await self._access.may_read(request[PERSON], resource, key.namespace):
            return problem(403, f"you may not read {resource.kind} {key}")
        hop = self._board.get(identity(resource, key))
        readable = await self._access.readable(request[PERSON], set(places(hop))) if hop else set()
        manifest, events = await self._live(request[TOKEN], resource.path(*key), key, resource.kind)
        if manifest is None:
            return problem(404, f"there is no {resource.kind} {key}")
        flips = [msgspec.to_builtins(flip) for flip in self._board.flips.get((resource, key), ())]
        shown = None if hop is None else hidden(plain(await self._proven(hop, request))["tree"], readable)
        return told({"manifest": manifest, "events": events, "flips": flips, "tree": shown})

    async def _proven(self, hop: Hop, request: web.Request) -> Hop:
        """With what the operator knows, where it can be asked."""
        if self._witness is None:
            return hop
        try:
            return proven(hop, await self._witness.tell(request[TOKEN], request[PERSON], asked_for(hop)))
        except Retry:
            return hop

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
            answer = await transport.send(Request("GET", where, {"fieldSelector": about}))
            events = msgspec.json.decode(answer.body).get("items") or [] if answer.status == 200 else []
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
