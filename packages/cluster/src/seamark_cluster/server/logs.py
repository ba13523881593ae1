"""Container logs, fetched from the kubelet of the Pod's node as the API server does.

- A user without the right to read `pods/log` gets 403. Errors have the API server's messages.
- When a reader disconnects, so does the request to the kubelet; an unreachable kubelet is an error of that request
  only.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp import web

from seamark_cluster.embedded import Store
from seamark_cluster.embedded import User as Caller
from seamark_cluster.embedded.calls import Path, parse_path
from seamark_cluster.embedded.machinery.errors import ApiError, bad_request, internal, not_found
from seamark_cluster.embedded.rbac import Attributes
from seamark_cluster.kubelet.credentials import KubeletPki

Json = dict[str, Any]
LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=5)


def log_of(method: str, path: str) -> Path | None:
    """The target of a log request; None for any other request."""
    place = parse_path(path) if method == "GET" and path.endswith("/log") else None
    return place if place is not None and (place.plural, place.subresource) == ("pods", "log") else None


class Logs:
    """Connections to kubelets. With their `pki` both sides authenticate; without it neither does."""

    def __init__(self, store: Store, pki: KubeletPki | None = None) -> None:
        self._store = store
        self._tls: ssl.SSLContext | bool = False if pki is None else pki.client_context()

    async def answer(self, request: web.Request, place: Path, caller: Caller) -> web.StreamResponse:
        """Streams the log; ApiError if there is none."""
        attributes = Attributes("get", "", "pods", "log", place.namespace, place.name)
        self._store.authorizer.require(caller, attributes)
        url = self._url(place, request.query)
        query = {name: value for name, value in request.query.items() if name != "container"}
        try:
            async with (
                aiohttp.ClientSession(timeout=LIMIT) as session,
                session.get(url, params=query, ssl=self._tls) as found,
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

    def _url(self, place: Path, query: Mapping[str, str]) -> str:
        pod = self._store.get("pods", place.namespace, place.name)
        if pod is None:
            raise not_found("", "pods", place.name)
        container = _container(pod, query.get("container", ""))
        node_name = pod["spec"].get("nodeName")
        if not node_name:
            raise bad_request(f"pod {place.name} does not have a host assigned")
        node = self._store.get("nodes", "", node_name)
        if node is None:
            raise not_found("", "nodes", node_name)
        status = node.get("status", {})
        port = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port", 0)
        address = next((item["address"] for item in status.get("addresses") or () if item["type"] == "InternalIP"), "")
        if not port or not address:
            raise internal(f"node {node_name} has no address for its kubelet")
        return f"https://{address}:{port}/containerLogs/{place.namespace}/{place.name}/{container}"


def _container(pod: Json, wanted: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    every = [entry["name"] for part in ("initContainers", "containers") for entry in spec.get(part) or ()]
    if wanted:
        if wanted not in every:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(every) == 1:
        return str(every[0])
    main, init = ([item["name"] for item in spec.get(part) or ()] for part in ("containers", "initContainers"))
    message = f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]"
    raise bad_request(f"{message} or one of the init containers: [{' '.join(init)}]" if init else message)


def _refused(status: int, message: str, place: Path) -> ApiError:
    if status == 400:
        return bad_request(message)
    if status == 404:
        return ApiError(404, "NotFound", f"the server could not find the requested resource ( pods/log {place.name})")
    return internal(message)
