"""The HTTP side of the API: who calls, how often, which resource, and errors in one shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import msgspec
import structlog
from aiohttp import web

from seamark.core.errors import Exists
from seamark.edge.api.access import ApiKeys, CredentialsResource
from seamark.edge.api.base import PAGE, Office, Resource, rebase
from seamark.edge.api.endpoints import Endpoints, TunnelSessions
from seamark.edge.api.operators import KubernetesOperators
from seamark.edge.api.ranges import IpPolicies, IpPolicyRules
from seamark.edge.api.reserved import ReservedAddrs, ReservedDomains, TlsCertificates
from seamark.edge.credentials import Budget
from seamark.edge.errors import Refusal, invalid, not_found
from seamark.edge.expressions import chosen
from seamark.edge.ids import new_id
from seamark.edge.metrics import EdgeMetrics

log = structlog.get_logger(__name__)

MAX_BODY = 1024 * 1024
RESOURCES: tuple[type[Resource], ...] = (
    ApiKeys,
    CredentialsResource,
    Endpoints,
    IpPolicies,
    IpPolicyRules,
    KubernetesOperators,
    ReservedAddrs,
    ReservedDomains,
    TlsCertificates,
    TunnelSessions,
)


class Api:
    """Answers API requests.

    - Every request carries a key; a key with the right to read can't change anything; a caller over its budget gets
      429 and is told when to come again.
    - Whatever goes wrong is answered as `{error_code, status_code, msg, details}`.
    """

    def __init__(self, office: Office, metrics: EdgeMetrics) -> None:
        self._office = office
        self._metrics = metrics
        self._budget = Budget(office.settings.requests_per_minute)
        self._resources = {resource.path: resource(office) for resource in RESOURCES}

    @property
    def endpoints(self) -> Endpoints:
        found = self._resources[Endpoints.path]
        assert isinstance(found, Endpoints)
        return found

    def app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY, middlewares=[self._guard])
        app.router.add_route("*", "/{resource}", self._collection)
        app.router.add_route("*", "/{resource}/{id}", self._item)
        app.router.add_route("*", "/{resource}/{id}/{sub}", self._sub)
        return app

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        resource = "/" + request.match_info.get("resource", "")
        label = resource.strip("/") if resource in self._resources else "other"
        try:
            self._admit(request)
            answer = await handler(request)
        except Refusal as refusal:
            answer = self._refused(refusal)
        except Exists as error:
            answer = self._refused(Refusal(409, error.message, status=409))
        except web.HTTPException as error:
            answer = self._refused(Refusal(error.status, error.reason, status=error.status))
        except Exception:
            log.exception("API request failed", method=request.method, resource=label)
            answer = self._refused(Refusal(500, "internal error", status=500))
        self._metrics.requests.labels(label, request.method[:8], str(answer.status)).inc()
        return answer

    def _admit(self, request: web.Request) -> None:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise Refusal(206, "the request carries no API key", status=401)
        if request.headers.get("ngrok-version", "2") != "2":
            raise Refusal(207, "this edge speaks version 2 of the API", status=400)
        key = self._office.credentials.key(secret.strip())
        self._budget.spend(key.id)
        if request.method != "GET" and key.body.get("rights") == "read":
            raise Refusal(208, "this API key has the right to read only", status=403)

    async def _collection(self, request: web.Request) -> web.Response:
        resource = self._resource(request)
        if request.method == "GET":
            return self._page(request, resource.key, resource.ids(), resource.view)
        if request.method == "POST" and resource.creates:
            return self._say(request, self._whole(resource, await resource.create(await body_of(request))), 201)
        raise web.HTTPMethodNotAllowed(request.method, ["GET", "POST"])

    async def _item(self, request: web.Request) -> web.Response:
        resource, ident = self._resource(request), request.match_info["id"]
        if request.method == "GET":
            return self._say(request, self._whole(resource, resource.view(ident)))
        if request.method == "PATCH" and resource.updates:
            return self._say(request, self._whole(resource, await resource.update(ident, await body_of(request))))
        if request.method == "DELETE" and resource.deletes:
            await resource.delete(ident)
            return web.Response(status=204)
        raise web.HTTPMethodNotAllowed(request.method, ["GET", "PATCH", "DELETE"])

    async def _sub(self, request: web.Request) -> web.Response:
        resource, ident, sub = self._resource(request), request.match_info["id"], request.match_info["sub"]
        if isinstance(resource, KubernetesOperators) and sub == "bound_endpoints" and request.method == "GET":
            bound = {view["id"]: view for view in resource.bound(ident)}
            return self._page(request, "endpoints", list(bound), bound.__getitem__)
        if isinstance(resource, TunnelSessions) and request.method == "POST":
            await resource.command(ident, sub)
            return web.Response(status=204)
        if isinstance(resource, ReservedDomains) and request.method == "DELETE":
            await resource.detach(ident, sub)
            return web.Response(status=204)
        raise web.HTTPNotFound

    def _resource(self, request: web.Request) -> Resource:
        path = "/" + request.match_info["resource"]
        if path not in self._resources:
            raise not_found("path", path[:100])
        return self._resources[path]

    def _page(
        self, request: web.Request, key: str, ids: list[str], view: Callable[[str], dict[str, Any]]
    ) -> web.Response:
        """A page of a list: newest first, `before_id` excluded, and the address of the next page if there is one.

        `filter` is CEL over `obj`; the older `id` and `url` name what is wanted. The next page keeps all three.
        """
        query = request.query
        asked = [(name, wanted) for name in ("id", "url", "filter") for wanted in query.getall(name, []) if wanted]
        try:
            limit = min(max(int(query.get("limit") or PAGE), 1), PAGE)
        except ValueError as error:
            raise invalid("limit is no number") from error
        for name in ("id", "url"):
            if wanted := {value for field, value in asked if field == name}:
                ids = [ident for ident in ids if view(ident).get(name) in wanted]
        for source in (value for field, value in asked if field == "filter"):
            ids = [ident for ident in ids if chosen(source, view(ident))]
        if before := query.get("before_id"):
            ids = [ident for ident in ids if ident < before]
        page, path = ids[:limit], request.path
        more = len(ids) > limit
        following = f"{path}?{urlencode([('before_id', page[-1]), ('limit', limit), *asked])}" if more else None
        items = [{"uri": f"{path}/{ident}", **view(ident)} for ident in page]
        whole = {key: items, "uri": path}
        return self._say(request, whole, next_page=following)

    @staticmethod
    def _whole(resource: Resource, view: dict[str, Any]) -> dict[str, Any]:
        return {"uri": f"{resource.path}/{view['id']}", **view}

    @staticmethod
    def _say(request: web.Request, value: dict[str, Any], status: int = 200, **extra: str | None) -> web.Response:
        base = str(request.url.origin())
        value = rebase(value, base)
        if "next_page" in extra:
            value["next_page_uri"] = base + extra["next_page"] if extra["next_page"] else None
        return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")

    @staticmethod
    def _refused(refusal: Refusal) -> web.Response:
        body = {
            "error_code": refusal.name,
            "status_code": refusal.status,
            "msg": refusal.message,
            "details": {"operation_id": new_id("op")},
        }
        headers = {"Retry-After": str(max(1, round(refusal.after)))} if refusal.after is not None else {}
        return web.Response(
            body=msgspec.json.encode(body), status=refusal.status, headers=headers, content_type="application/json"
        )


async def body_of(request: web.Request) -> Any:
    """The JSON object of a request; nothing at all is an empty one."""
    raw = await request.read()
    if not raw.strip():
        return {}
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise invalid("the body is no JSON") from error
    if not isinstance(value, dict):
        raise invalid("the body is no JSON object")
    return value
