"""The HTTP layer: one handler over `Store.handle`, with tokens, discovery, tables and streaming watches.

- Binds only the given address; TLS with a CA of its own.
- A request without a token is anonymous, one with an unknown token gets 401.
- A body over `LARGEST` gets 413, as from the real server; a client that disconnects ends only its own watch.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from seamark_cluster.embedded import Store, Watch
from seamark_cluster.embedded import User as Caller
from seamark_cluster.embedded.calls import parse_path
from seamark_cluster.embedded.machinery.errors import ApiError, bad_request
from seamark_cluster.embedded.machinery.kinds import Kind
from seamark_cluster.kubelet.credentials import KubeletPki
from seamark_cluster.real.pki import Pki
from seamark_cluster.real.users import User, kubeconfig, write_private
from seamark_cluster.server import protobuf
from seamark_cluster.server.discovery import Discovery
from seamark_cluster.server.forms import YAML, Form, as_yaml, metadata_event, metadata_of, wanted
from seamark_cluster.server.impersonation import impersonated
from seamark_cluster.server.kubelets import Kubelets
from seamark_cluster.server.logs import Logs, log_of
from seamark_cluster.server.openapi import EMPTY_V2, V2_TYPE, OpenApi
from seamark_cluster.server.sessions import Sessions, session_of
from seamark_cluster.server.tables import Tables
from seamark_runtime.errors import UserError
from seamark_runtime.guardedhttp import GuardedServer
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path

LARGEST = 3 * 1024 * 1024
ANONYMOUS = Caller("system:anonymous", ("system:unauthenticated",))


class EmbeddedServer:
    """An API server in this process, from `start` to `close`."""

    def __init__(
        self, store: Store, users: Sequence[User], directory: Path, kubelets: KubeletPki | None = None
    ) -> None:
        self.store = store
        self._users = tuple(users)
        for user in users:
            store.register_token(user.token, Caller(user.name, user.groups, uid=user.name))
        self._directory = directory
        self._discovery = Discovery(store.registry)
        self._openapi = OpenApi(store.registry)
        self._tables = Tables(store)
        known = Kubelets(store, kubelets)
        self._logs = Logs(store, known)
        self._sessions = Sessions(store, known)
        self._http: GuardedServer | None = None
        self.url = ""

    @property
    def kubeconfig(self) -> Path:
        return self._directory / "kubeconfig"

    @property
    def authority(self) -> Path:
        """The CA certificate with which clients verify this server."""
        return self._directory / "pki" / "ca.crt"

    async def start(self, host: str = "127.0.0.1", port: int = 0, names: Sequence[str] = ()) -> None:
        """Starts listening; `names` are additional names and addresses in its certificate."""
        pki = Pki(self._directory / "pki")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pki.server("apiserver", [host, "localhost", *names]))
        app = web.Application(client_max_size=LARGEST + 1)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._http = GuardedServer(app, most_body=2 * LARGEST, shutdown_timeout=0.5, handler_cancellation=True)
        try:
            bound = await self._http.start(host, port, context)
        except OSError as error:
            await self.close()
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise UserError(
                f"the API server can't listen on {host}:{port} ({reason})", hint="choose another --port"
            ) from None
        self.url = f"https://{host}:{bound}"
        write_private(self.kubeconfig, kubeconfig(self.url, pki.ca_cert, self._users))

    async def close(self) -> None:
        self.store.restart()  # ends every watch
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except ApiError as error:
            return _json(error.document(), error.code)
        except protobuf.Unreadable as error:
            return _json(bad_request(str(error)).document(), 400)
        except web.HTTPRequestEntityTooLarge:
            reason = f"Request entity too large: limit is {LARGEST}"
            return _json(ApiError(413, "RequestEntityTooLarge", reason).document(), 413)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        caller = self._caller(request)
        accept = request.headers.get("Accept", "application/json")
        if request.path == "/openapi/v2":
            return web.Response(body=EMPTY_V2, headers={"Content-Type": V2_TYPE})
        if (document := self._without_resource(request.path, accept)) is not None:
            return _json(document, content_type=_discovery_type(request.path, accept))
        if (place := log_of(request.method, request.path)) is not None:
            return await self._logs.answer(request, place, caller)
        if (place := session_of(request.path)) is not None:
            return await self._sessions.answer(request, place, caller)
        form = wanted(accept)
        agent = request.headers.get("User-Agent", "unknown").split("/")[0]
        found = self.store.handle(await self._request_of(request), caller, agent)
        if isinstance(found, Watch):
            return await self._stream(request, found, form)
        return self._answered(request, found, form)

    def _caller(self, request: web.Request) -> Caller:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return ANONYMOUS
        known = self.store.user_of(token) if scheme.lower() == "bearer" else None
        if known is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return impersonated(known, request.headers, self.store.authorizer)

    def _without_resource(self, path: str, accept: str) -> object | None:
        if path in ("/healthz", "/livez", "/readyz"):
            return "ok"
        return self._openapi.answer(path) or self._discovery.answer(path.rstrip("/"), accept)

    async def _request_of(self, request: web.Request) -> HttpRequest:
        body = await request.read()
        if len(body) > LARGEST:
            raise web.HTTPRequestEntityTooLarge(LARGEST, len(body))
        content_type = request.headers.get("Content-Type", "application/json").split(";")[0].strip()
        if content_type == protobuf.MEDIA_TYPE and body:
            body, content_type = protobuf.to_json(body), "application/json"
        path = received_path(request.path)
        return HttpRequest(request.method, path, query=dict(request.query), body=body, content_type=content_type)

    def _kind(self, path: str) -> Kind | None:
        place = parse_path(path)
        return None if place is None else self.store.registry.find(place.group, place.version, place.plural)

    def _answered(self, request: web.Request, answer: Answer, form: Form) -> web.Response:
        kind = self._kind(request.path)
        headers = {**deprecation(kind), **answer.headers}
        shaped = form.shape and answer.status < 300 and kind is not None
        if form == WHOLE or not (shaped or form.media_type == YAML):
            return web.Response(status=answer.status, body=answer.body, headers=headers)
        document: Any = msgspec.json.decode(answer.body) if answer.body[:1] == b"{" else answer.body.decode()
        if shaped and kind is not None:
            include = request.query.get("includeObject", "Metadata")
            now = self.store.clock.wall()
            document = self._tables.of(kind, document, now, include) if form.table else metadata_of(document)
        body = as_yaml(document) if form.media_type == YAML else msgspec.json.encode(document)
        headers["Content-Type"] = form.media_type
        return web.Response(status=answer.status, body=body, headers=headers)

    async def _stream(self, request: web.Request, watch: Watch, form: Form) -> web.StreamResponse:
        kind = self._kind(request.path)
        response = web.StreamResponse(headers={"Content-Type": "application/json", **deprecation(kind)})
        first = True
        try:
            await response.prepare(request)
            async for line in watch.lines():
                output = line
                if form.table and kind is not None:
                    output = self._tables.event(kind, line, self.store.clock.wall(), first=first)
                    first = False
                elif form.metadata:
                    output = metadata_event(line)
                await response.write(output)
        except ConnectionError:
            pass  # the client disconnected
        finally:
            watch.close()
        return response


WHOLE = Form()
OLD_ENDPOINTS = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'


def deprecation(kind: Kind | None) -> dict[str, str]:
    """The warning header of a deprecated kind."""
    return {"Warning": OLD_ENDPOINTS} if kind is not None and kind.names.resource == "endpoints" else {}


def _discovery_type(path: str, accept: str) -> str:
    if path.rstrip("/") in ("/api", "/apis") and "as=APIGroupDiscoveryList" in accept:
        return "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    return "application/json"


def _json(document: object, status: int = 200, content_type: str = "application/json") -> web.Response:
    body = document.encode() if isinstance(document, str) else msgspec.json.encode(document)
    return web.Response(status=status, body=body, headers={"Content-Type": content_type})
