"""`kubectl exec` and `kubectl attach`, passed on to the kubelet of the Pod's node as the API server does.

- A user without the right to create `pods/exec` or `pods/attach` gets 403. Errors have the API server's messages.
- Frames are passed on as they are; when one side disconnects, so does the other.
"""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp import WSMsgType, web

from seamark_cluster.embedded import Store
from seamark_cluster.embedded import User as Caller
from seamark_cluster.embedded.calls import Path, parse_path
from seamark_cluster.embedded.machinery.errors import ApiError, bad_request, internal
from seamark_cluster.embedded.rbac import Attributes
from seamark_cluster.kubelet.sessions import PROTOCOL
from seamark_cluster.server.kubelets import LIMIT, Kubelets

SUBRESOURCES = ("exec", "attach")
# What a kubelet calls the options of a request.
OPTIONS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}


def session_of(path: str) -> Path | None:
    """The target of a request for a session; None for any other request."""
    place = parse_path(path) if path.endswith(SUBRESOURCES) else None
    return place if place is not None and place.plural == "pods" and place.subresource in SUBRESOURCES else None


class Sessions:
    """Requests for sessions, passed on to kubelets."""

    def __init__(self, store: Store, kubelets: Kubelets) -> None:
        self._store = store
        self._kubelets = kubelets

    async def answer(self, request: web.Request, place: Path, caller: Caller) -> web.StreamResponse:
        """A session from beginning to end; ApiError if there can be none."""
        attributes = Attributes("create", "", "pods", place.subresource, place.namespace, place.name)
        self._store.authorizer.require(caller, attributes)
        if PROTOCOL not in request.headers.get("Sec-WebSocket-Protocol", ""):
            raise bad_request(f"only sessions of {PROTOCOL} are served here: the client asks for another protocol")
        url = self._kubelets.url(place, place.subresource, request.query.get("container", ""))
        options = [(OPTIONS[name], "1") for name in OPTIONS if request.query.get(name) in ("true", "1")]
        query = [*options, *(("command", word) for word in request.query.getall("command", []))]
        try:
            async with (
                aiohttp.ClientSession(timeout=LIMIT) as session,
                session.ws_connect(
                    url, params=query, protocols=(PROTOCOL,), ssl=self._kubelets.tls, max_msg_size=0
                ) as kubelet,
            ):
                client = web.WebSocketResponse(protocols=(PROTOCOL,), max_msg_size=0)
                await client.prepare(request)
                await _joined(client, kubelet)
                return client
        except aiohttp.WSServerHandshakeError as error:
            raise _refused(error.status, place) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise internal(f"error sending request: {error}") from error


async def _joined(client: web.WebSocketResponse, kubelet: aiohttp.ClientWebSocketResponse) -> None:
    ways = [asyncio.ensure_future(_pass_on(client, kubelet)), asyncio.ensure_future(_pass_on(kubelet, client))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        await client.close()


Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


async def _pass_on(source: Socket, target: Socket) -> None:
    async for message in source:
        if message.type is WSMsgType.BINARY:
            await target.send_bytes(message.data)


def _refused(status: int, place: Path) -> ApiError:
    if status == 404:
        return ApiError(404, "NotFound", f"the server could not find the requested resource ( pods {place.name})")
    return internal(f"the kubelet answers with {status}")
