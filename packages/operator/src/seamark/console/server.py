"""The console over HTTP: a page of our own, and its data as the person who asks may see it. Read-only.

- Every question about the cluster carries the person's Kubernetes token; without one that the API server knows, 401.
- Whatever leaves passes `Disclosure`: the filter of that person's rights. An open stream ends with its token.
- /api/stream sends all rows, then what changes, as server-sent events. A reader that is slow gets fewer, newer events.
- /api/evidence tells what the operator knows behind objects' conditions: that it is part of, or that it can ask.
- An object's manifest and events are read with the user's own token: the API server decides what the user may see.
- Nothing comes from elsewhere, nothing is kept in the browser but the token, for as long as its tab is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import msgspec
from aiohttp import web

from seamark.console.access import Access, Undecided
from seamark.console.asking import HEADERS, PERSON, TOKEN, application, problem, told
from seamark.console.disclosure import Disclosure
from seamark.console.evidence import PATH, Witness, answering
from seamark.console.graph import FOLLOWED, identity
from seamark.console.rows import Board
from seamark.explain import kinds
from seamark.explain.live import places as asked_for
from seamark.explain.live import proven
from seamark.explain.model import Hop
from seamark_runtime.api.meta import Key
from seamark_runtime.client import OBJECT
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.site import Site
from seamark_runtime.transport import HttpRequest, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json
from seamark_runtime.untrusted.names import ApiPath, InvalidName

BATCH = 0.1  # seconds during which changes are put together
BEAT = 15.0  # seconds without a change after which the stream sends a keepalive

ASSETS = {"": "text/html", "app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
As = Callable[[str], Awaitable[Transport]]  # a transport to the API server with this user's token


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
        shown = Disclosure(self._access, request[PERSON])
        try:
            await self._send(response, "all", {"rows": await shown.rows(list(self._board)), **self._state(shown)})
            while await self._access.person(request[TOKEN]) == shown.person:  # a stream ends with its token
                try:
                    async with asyncio.timeout(BEAT):
                        await something.wait()
                except TimeoutError:
                    await response.write(b": beat\n\n")
                    continue
                await asyncio.sleep(BATCH)
                now, changed = changed, {}
                something.clear()
                await self._send(response, "changed", {**await self._changes(shown, now), **self._state(shown)})
        except (ConnectionError, asyncio.CancelledError, Undecided):
            return response  # a client that is still interested asks again
        finally:
            end()
        return response

    async def _changes(self, shown: Disclosure, changed: dict[Key, None]) -> dict[str, Any]:
        found = {at: self._board.get(at) for at in changed}
        rows = await shown.rows([hop for hop in found.values() if hop is not None])
        return {"rows": rows, "gone": await shown.gone(at for at, hop in found.items() if hop is None)}

    def _state(self, shown: Disclosure) -> dict[str, Any]:
        return {"ready": self._ready(), "person": shown.person.name}

    async def _send(self, response: web.StreamResponse, event: str, data: object) -> None:
        await response.write(f"event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n")

    # ---- one object

    async def _object(self, request: web.Request) -> web.Response:
        try:
            resource = kinds.named(request.query.get("kind", ""))
        except UserError as error:
            return problem(404, error.message)
        key = Key(request.query.get("namespace", ""), request.query.get("name", ""))
        shown = Disclosure(self._access, request[PERSON])
        if resource not in FOLLOWED or not await shown.may_read(resource, key):
            return problem(403, f"you may not read {resource.kind} {key}")
        try:
            path = resource.path(*key)
        except InvalidName as error:
            return problem(400, str(error))
        hop = self._board.get(identity(resource, key))
        try:
            manifest, events = await self._live(request[TOKEN], path, key, resource.kind)
        except Malformed as error:
            return problem(422, f"{resource.kind} {key} can't be shown: {error}")
        if manifest is None:
            return problem(404, f"there is no {resource.kind} {key}")
        flips = [msgspec.to_builtins(flip) for flip in self._board.flips.get((resource, key), ())]
        tree = None if hop is None else await shown.tree(await self._proven(hop, request))
        return told({"manifest": manifest, "events": events, "flips": flips, "tree": tree})

    async def _proven(self, hop: Hop, request: web.Request) -> Hop:
        """With what the operator knows, where it can be asked."""
        if self._witness is None:
            return hop
        try:
            return proven(hop, await self._witness.tell(request[TOKEN], request[PERSON], asked_for(hop)))
        except Retry:
            return hop

    async def _live(self, token: str, path: ApiPath, key: Key, kind: str) -> tuple[Any, list[Any]]:
        """The manifest and the events, as the API server shows them to this person."""
        transport = await self._as_person(token)
        try:
            answer = await transport.send(HttpRequest("GET", path))
            if answer.status != 200:
                return None, []
            manifest = decode_plain_json(answer.body, OBJECT)
            manifest.get("metadata", {}).pop("managedFields", None)
            about = f"regarding.name={key.name},regarding.kind={kind}"
            where = kinds.EVENT.path(key.namespace or "default")
            answer = await transport.send(HttpRequest("GET", where, {"fieldSelector": about}))
            events = msgspec.json.decode(answer.body).get("items") or [] if answer.status == 200 else []
            return manifest, [_event(one) for one in events]
        finally:
            await transport.close()


def _event(raw: dict[str, Any]) -> dict[str, Any]:
    series = raw.get("series") or {}
    return {
        "type": raw.get("type"),
        "reason": raw.get("reason"),
        "note": raw.get("note"),
        "at": series.get("lastObservedTime") or raw.get("eventTime") or raw.get("deprecatedLastTimestamp"),
        "count": series.get("count") or 1,
    }
