"""The HTTP side of the API: who calls, how often, which resource, and errors in one shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from seamark_edge.edge.checking import api_caller
from seamark_edge.edge.credentials import Budget
from seamark_edge.edge.errors import Refusal, invalid, not_found, store_away
from seamark_edge.edge.expressions import filters
from seamark_edge.edge.failures import Failures
from seamark_edge.edge.http import REFUSING, prove, refuse_encoded
from seamark_edge.edge.ids import is_id, new_id
from seamark_edge.edge.limits import source_of
from seamark_edge.edge.metrics import EdgeMetrics
from seamark_edge.edge.shares import MAX_OWNER, Caller
from seamark_edge.model import OWNER_HEADER
from seamark_edge.rest.access import ApiKeys, CredentialsResource
from seamark_edge.rest.base import PAGE, Office, Resource, rebase, sliced
from seamark_edge.rest.endpoints import Endpoints, TunnelSessions
from seamark_edge.rest.operators import KubernetesOperators
from seamark_edge.rest.ranges import IpPolicies, IpPolicyRules
from seamark_edge.rest.reserved import ReservedAddrs, ReservedDomains, TlsCertificates
from seamark_edge.store.database import DatabaseAway
from seamark_runtime.errors import Exists
from seamark_runtime.requestlog import CLIENT_ERRORS
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json

MAX_FILTERS = 16
LIMITS = Limits(size=1024 * 1024, depth=32, nodes=100_000)
MAX_ANSWER = 4 * 1024 * 1024  # bytes of a page; what does not fit is on the next
METHODS = ("GET", "POST", "PATCH", "DELETE")
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
      429 with Retry-After. Callers without a valid key have a smaller budget, by source.
    - Whatever goes wrong is answered as `{error_code, status_code, msg, details}`.
    """

    def __init__(self, office: Office, metrics: EdgeMetrics, failures: Failures) -> None:
        self._office = office
        self._metrics = metrics
        self._failures = failures
        self._budget = Budget(office.settings.requests_per_minute)
        self._unknown = Budget(office.settings.unknown_requests_per_minute)
        self._resources = {resource.path: resource(office) for resource in RESOURCES}

    async def restore(self) -> None:
        """At start, before anybody is answered: what was stored takes effect again."""
        for resource in self._resources.values():
            if isinstance(resource, Endpoints | ReservedDomains):
                await resource.restore()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=LIMITS.size, middlewares=[self._guard])
        app[REFUSING] = self._late
        app.router.add_route("*", "/{resource}", self._collection)
        app.router.add_route("*", "/{resource}/{id}", self._item)
        app.router.add_route("*", "/{resource}/{id}/{sub}", self._sub)
        return app

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            answer = await self._office.share.paced(self._admit(request), _awaited(handler(request)))
        except Refusal as refusal:
            answer = self._refused(refusal)
        except DatabaseAway as error:
            answer = self._refused(store_away(error))
        except Exists as error:
            answer = self._refused(Refusal(409, error.message, status=409))
        except web.HTTPException as error:
            answer = self._refused(Refusal(error.status, error.reason, status=error.status))
        except CLIENT_ERRORS as error:  # it left, or its body can't be read
            answer = self._refused(invalid(f"the body can't be read: {type(error).__name__}"))
        except Exception as error:
            self._failures.report("api", error)
            answer = self._refused(Refusal(500, "internal error", status=500))
        self._count(request, answer.status)
        return answer

    def _late(self, request: web.Request, refusal: Refusal) -> web.Response:
        self._count(request, refusal.status)
        return self._refused(refusal)

    def _count(self, request: web.Request, status: int) -> None:
        resource = "/" + request.match_info.get("resource", "")
        label = resource.strip("/") if resource in self._resources else "other"
        method = request.method if request.method in METHODS else "other"
        self._metrics.requests.labels(label, method, str(status)).inc()

    def _admit(self, request: web.Request) -> str:
        """In whose turn the request is answered."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        try:
            if scheme.lower() != "bearer":
                raise Refusal(206, "the request carries no API key", status=401)
            key = self._office.credentials.key(secret.strip())
        except Refusal:
            self._unknown.spend(source_of(request.remote or ""))
            raise
        prove(request)
        self._budget.spend(key.id)
        api_caller.set(Caller(key.id, owner_of(request)))
        if request.headers.get("ngrok-version", "2") != "2":
            raise Refusal(207, "this edge speaks version 2 of the API", status=400)
        if request.method != "GET" and key.body.get("rights") == "read":
            raise Refusal(208, "this API key has the right to read only", status=403)
        refuse_encoded(request)
        try:
            request.url.origin()
        except ValueError as error:
            raise invalid("the Host of the request is no host") from error
        return f"key {key.id}"

    async def _collection(self, request: web.Request) -> web.Response:
        resource = self._resource(request)
        if request.method == "GET":
            return await self._page(request, resource.key, resource.ids(), resource.view)
        if request.method == "POST" and resource.creates:
            return self._respond(request, self._whole(resource, await resource.create(await body_of(request))), 201)
        raise web.HTTPMethodNotAllowed(request.method, ["GET", "POST"])

    async def _item(self, request: web.Request) -> web.Response:
        resource, ident = self._resource(request), request.match_info["id"]
        if request.method == "GET":
            return self._respond(request, self._whole(resource, resource.view(ident)))
        if request.method == "PATCH" and resource.updates:
            return self._respond(request, self._whole(resource, await resource.update(ident, await body_of(request))))
        if request.method == "DELETE" and resource.deletes:
            await resource.delete(ident)
            return web.Response(status=204)
        if isinstance(resource, Endpoints) and (request.method, ident) == ("POST", "check"):
            return self._respond(request, await resource.check_all(await body_of(request)))
        raise web.HTTPMethodNotAllowed(request.method, ["GET", "PATCH", "DELETE"])

    async def _sub(self, request: web.Request) -> web.Response:
        resource, ident, sub = self._resource(request), request.match_info["id"], request.match_info["sub"]
        if isinstance(resource, KubernetesOperators) and sub == "bound_endpoints" and request.method == "GET":
            bound = {view["id"]: view for view in await resource.bound(ident)}
            return await self._page(request, "endpoints", list(bound), bound.__getitem__)
        if isinstance(resource, Endpoints) and sub == "check" and request.method == "POST":
            return self._respond(request, await resource.check(ident))
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

    async def _page(
        self, request: web.Request, key: str, ids: list[str], view: Callable[[str], dict[str, Any]]
    ) -> web.Response:
        """A page of a list: newest first, `before_id` excluded, and the address of the next page if there is one.

        `filter` is CEL over `obj`; the older `id` and `url` name what is wanted. The next page keeps all three. A page
        ends early where it would be too large. What goes away while the list is looked through is left out.
        """
        query = request.query
        filters_given = [
            (name, wanted) for name in ("id", "url", "filter") for wanted in query.getall(name, []) if wanted
        ]
        limit = _limit(query.get("limit") or str(PAGE))
        if len(filters_given) > MAX_FILTERS:
            raise invalid(f"more than {MAX_FILTERS} of id, url and filter")
        wanted_by = filters([wanted for name, wanted in filters_given if name == "filter"], "filter")
        if before := query.get("before_id"):
            if not is_id(before):
                raise invalid("before_id is no id")
            ids = [ident for ident in ids if ident < before]
        page: list[dict[str, Any]] = []
        size, path, more = 0, request.path, False
        async for ident in sliced(ids):
            try:
                shown = view(ident)
            except Refusal:
                continue
            if not (_named(shown, filters_given) and wanted_by.choose(shown)):
                continue
            size += len(msgspec.json.encode(shown))
            if page and (len(page) >= limit or size > MAX_ANSWER):
                more = True
                break
            page.append({"uri": f"{path}/{ident}", **shown})
        following = [("before_id", page[-1]["id"]), ("limit", limit), *filters_given] if more else []
        whole = {key: page, "uri": path}
        return self._respond(request, whole, next_page=f"{path}?{urlencode(following)}" if more else None)

    @staticmethod
    def _whole(resource: Resource, view: dict[str, Any]) -> dict[str, Any]:
        return {"uri": f"{resource.path}/{view['id']}", **view}

    @staticmethod
    def _respond(request: web.Request, value: dict[str, Any], status: int = 200, **extra: str | None) -> web.Response:
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
        if refusal.owner:
            headers[OWNER_HEADER] = refusal.owner  # others within the key need not wait
        return web.Response(
            body=msgspec.json.encode(body), status=refusal.status, headers=headers, content_type="application/json"
        )


def owner_of(request: web.Request) -> str:
    """Whose request this is among those who share the key."""
    owner = request.headers.get(OWNER_HEADER, "")
    if len(owner) > MAX_OWNER or not (owner.isascii() and owner.isprintable()):
        raise invalid(f"{OWNER_HEADER} is no printable ASCII text of at most {MAX_OWNER} characters")
    return owner


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(PAGE)) and 1 <= int(text) <= PAGE):
        raise invalid(f"limit is no number from 1 to {PAGE}")
    return int(text)


async def _awaited(answer: Awaitable[web.StreamResponse]) -> web.StreamResponse:
    return await answer


def _named(shown: dict[str, Any], filters_given: list[tuple[str, str]]) -> bool:
    """Whether it has one of the ids and one of the URLs that were asked for."""
    for name in ("id", "url"):
        wanted = {value for field, value in filters_given if field == name}
        if wanted and shown.get(name) not in wanted:
            return False
    return True


async def body_of(request: web.Request) -> Any:
    """The JSON object of a request; nothing at all is an empty one."""
    raw = await request.read()
    if not raw.strip():
        return {}
    try:
        return decode_json(raw, dict[str, Any], LIMITS)
    except Malformed as error:
        raise invalid(f"the body is no JSON object: {error}") from error
