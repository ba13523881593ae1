"""The console over HTTP: a page of our own, and its data filtered by the rights of the user. Read-only.

- Every API request carries the user's Kubernetes token; without one that the API server accepts, it gets a 401.
- Every response passes `Disclosure`: the filter of that user's rights. An open stream ends with its token.
- /api/stream sends all rows, then what changes, as server-sent events. A reader that is slow gets fewer, newer events.
- /api/evidence returns what the operator knows behind objects' conditions: of its own process, or of remote operators.
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
from seamark.console.authentication import HEADERS, TOKEN, USER, application, error_response, json_response
from seamark.console.disclosure import Disclosure
from seamark.console.evidence import PATH, EvidenceSource, evidence_handler
from seamark.console.graph import FOLLOWED, identity
from seamark.console.rows import Board
from seamark.explain import kinds
from seamark.explain.leadership import dated
from seamark.explain.live import objects_of, with_evidence
from seamark.explain.model import Hop
from seamark.explain.reader import readable
from seamark_runtime.api.meta import Key
from seamark_runtime.client import OBJECT, page_of
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.site import Site
from seamark_runtime.transport import HttpRequest, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json
from seamark_runtime.untrusted.names import ApiPath, InvalidName

BATCH = 0.1  # seconds during which changes are put together
KEEPALIVE = 15.0  # seconds without a change after which the stream sends a keepalive

ASSETS = {"": "text/html", "app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
TransportForToken = Callable[[str], Awaitable[Transport]]  # a transport to the API server with this user's token


class Console:
    """Serves until closed. `ready` returns whether the map is complete."""

    def __init__(
        self,
        board: Board,
        access: Access,
        as_user: TransportForToken,
        ready: Callable[[], bool],
        evidence: EvidenceSource | None = None,
    ) -> None:
        self._evidence = evidence
        self._board = board
        self._access = access
        self._as_user = as_user
        self._ready = ready
        self._site = Site("the console", "choose another address")

    def app(self) -> web.Application:
        app = application(self._access)
        for name in ASSETS:
            app.router.add_get(f"/{name}", self._asset)
        app.router.add_get("/api/stream", self._stream)
        app.router.add_get("/api/object", self._object)
        app.router.add_post(PATH, evidence_handler(self._evidence))
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
        notified = asyncio.Event()

        def on_change(at: Key) -> None:
            changed[at] = None
            notified.set()

        end, end_leaders = self._board.subscribe(on_change), self._board.leaders.subscribe(notified.set)
        shown = Disclosure(self._access, request[USER])
        try:
            await self._send(response, "all", {"rows": await shown.rows(list(self._board)), **self._state(shown)})
            while await self._access.user(request[TOKEN]) == shown.user:  # a stream ends with its token
                try:
                    async with asyncio.timeout(KEEPALIVE):
                        await notified.wait()
                except TimeoutError:
                    await response.write(b": beat\n\n")
                    continue
                await asyncio.sleep(BATCH)
                now, changed = changed, {}
                notified.clear()
                await self._send(response, "changed", {**await self._changes(shown, now), **self._state(shown)})
        except (ConnectionError, asyncio.CancelledError, Undecided):
            return response  # a client that is still interested asks again
        finally:
            end()
            end_leaders()
        return response

    async def _changes(self, shown: Disclosure, changed: dict[Key, None]) -> dict[str, Any]:
        found = {at: self._board.get(at) for at in changed}
        rows = await shown.rows([hop for hop in found.values() if hop is not None])
        return {"rows": rows, "gone": await shown.gone(at for at, hop in found.items() if hop is None)}

    def _state(self, shown: Disclosure) -> dict[str, Any]:
        return {"ready": self._ready(), "person": shown.user.name, "stopped": self._board.leaders.shown()}

    async def _send(self, response: web.StreamResponse, event: str, data: object) -> None:
        await response.write(f"event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n")

    # ---- one object

    async def _object(self, request: web.Request) -> web.Response:
        try:
            resource = kinds.named(request.query.get("kind", ""))
        except UserError as error:
            return error_response(404, error.message)
        key = Key(request.query.get("namespace", ""), request.query.get("name", ""))
        shown = Disclosure(self._access, request[USER])
        if resource not in FOLLOWED or not await shown.may_read(resource, key):
            return error_response(403, f"you may not read {resource.kind} {key}")
        try:
            path = resource.path(*key)
        except InvalidName as error:
            return error_response(400, str(error))
        hop = self._board.get(identity(resource, key))
        try:
            manifest, events = await self._live(request[TOKEN], path, key, resource.kind)
        except Malformed as error:
            return error_response(422, f"{resource.kind} {key} can't be shown: {error}")
        if manifest is None:
            return error_response(404, f"there is no {resource.kind} {key}")
        flips = [msgspec.to_builtins(flip) for flip in self._board.flips.get((resource, key), ())]
        current = None if hop is None else dated(await self._with_evidence(hop, request), self._board.leaders.now)
        tree = None if current is None else await shown.tree(current)
        return json_response({"manifest": manifest, "events": events, "flips": flips, "tree": tree})

    async def _with_evidence(self, hop: Hop, request: web.Request) -> Hop:
        """With what the operator knows, if it can be reached."""
        if self._evidence is None:
            return hop
        try:
            return with_evidence(hop, await self._evidence.evidence_of(request[TOKEN], request[USER], objects_of(hop)))
        except Retry:
            return hop

    async def _live(self, token: str, path: ApiPath, key: Key, kind: str) -> tuple[Any, list[Any]]:
        """The manifest and the events, as the API server shows them to this user."""
        transport = await self._as_user(token)
        try:
            answer = await transport.send(HttpRequest("GET", path))
            if answer.status != 200:
                return None, []
            manifest = decode_plain_json(answer.body, OBJECT)
            manifest.get("metadata", {}).pop("managedFields", None)
            about = f"regarding.name={key.name},regarding.kind={kind}"
            where = kinds.EVENT.path(key.namespace or "default")
            answer = await transport.send(HttpRequest("GET", where, {"fieldSelector": about}))
            return manifest, [_event(raw) for raw in (readable(page_of(answer.body)) if answer.status == 200 else ())]
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
