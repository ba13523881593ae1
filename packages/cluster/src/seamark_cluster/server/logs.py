"""Container logs, fetched from the kubelet of the Pod's node as the API server does.

- A user without the right to read `pods/log` gets 403. Errors have the API server's messages.
- When a reader disconnects, so does the request to the kubelet; an unreachable kubelet is an error of that request
  only.
"""

from __future__ import annotations

import aiohttp
from aiohttp import web

from seamark_cluster.embedded import Store
from seamark_cluster.embedded import User as Caller
from seamark_cluster.embedded.calls import Path, parse_path
from seamark_cluster.embedded.machinery.errors import ApiError, bad_request, internal
from seamark_cluster.embedded.rbac import Attributes
from seamark_cluster.server.kubelets import LIMIT, Kubelets


def log_of(method: str, path: str) -> Path | None:
    """The target of a log request; None for any other request."""
    place = parse_path(path) if method == "GET" and path.endswith("/log") else None
    return place if place is not None and (place.plural, place.subresource) == ("pods", "log") else None


class Logs:
    """Requests for logs, passed on to kubelets."""

    def __init__(self, store: Store, kubelets: Kubelets) -> None:
        self._store = store
        self._kubelets = kubelets

    async def answer(self, request: web.Request, place: Path, caller: Caller) -> web.StreamResponse:
        """Streams the log; ApiError if there is none."""
        attributes = Attributes("get", "", "pods", "log", place.namespace, place.name)
        self._store.authorizer.require(caller, attributes)
        url = self._kubelets.url(place, "containerLogs", request.query.get("container", ""))
        query = {name: value for name, value in request.query.items() if name != "container"}
        try:
            async with (
                aiohttp.ClientSession(timeout=LIMIT) as session,
                session.get(url, params=query, ssl=self._kubelets.tls) as found,
            ):
                if found.status != 200:
                    raise _refused(found.status, (await found.text()).strip(), place)
                return await self._pass_on(request, found)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise internal(f"Get {url!r}: {error}") from error

    async def _pass_on(self, request: web.Request, found: aiohttp.ClientResponse) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        async for piece in found.content.iter_any():
            await answer.write(piece)
        await answer.write_eof()
        return answer


def _refused(status: int, message: str, place: Path) -> ApiError:
    if status == 400:
        return bad_request(message)
    if status == 404:
        return ApiError(404, "NotFound", f"the server could not find the requested resource ( pods/log {place.name})")
    return internal(message)
