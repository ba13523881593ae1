"""Requests, as clients inside and outside of the cluster make them, and objects as kubectl shows them."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.score_files.forms import AtLeast, Object, Request, ValueOf
from tests.score_files.matching import Response, at, response_differs
from tests.score_files.run.found import Found

PATIENCE = aiohttp.ClientTimeout(total=5)
GATEWAY = "gateway.networking.k8s.io/gateway-name"


class NoAddress(Exception):
    """Why there is nowhere to send a request to."""


async def request_differs(found: Found, request: Request) -> AsyncIterator[str]:
    shown = f"{request.method} {request.endpoint or request.service or request.through}{request.path}"
    try:
        response = await sent(found, request)
    except (NoAddress, aiohttp.ClientError, OSError, TimeoutError) as error:
        yield f"{shown}: {error or type(error).__name__}"
        return
    for problem in response_differs(request, response):
        yield f"{shown}: {problem}"


async def sent(found: Found, request: Request) -> Response:
    scheme, address, host = await place(found, request)
    url = f"{scheme}://{address}{request.path}"
    headers = {"Host": host, **request.request_headers}
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    async with (
        aiohttp.ClientSession(timeout=PATIENCE) as session,
        session.request(
            request.method, url, headers=headers, data=request.body_sent, ssl=unverified, allow_redirects=False
        ) as response,
    ):
        body = await response.text(errors="replace")
        return Response(response.status, {name.lower(): value for name, value in response.headers.items()}, body)


async def place(found: Found, request: Request) -> tuple[str, str, str]:
    """The scheme, the address with its port, and the header Host."""
    if request.service is not None:
        name, _, port = request.service.partition(":")
        return request.scheme, f"{service_address(found, name)}:{port}", f"{name}:{port}"
    url = found.endpoint(request.endpoint or request.through or "")
    if url is None:
        raise NoAddress("there is no endpoint")
    parts = urlsplit(url)
    port = str(parts.port or (443 if parts.scheme == "https" else 80))
    host = parts.hostname or ""
    scheme = parts.scheme if parts.scheme in ("http", "https") else "http"
    if host.endswith(".svc.cluster.local"):
        return scheme, f"{service_address(found, host.partition('.')[0])}:{port}", parts.netloc
    return scheme, f"{await gateway_address(found)}:{port}", wanted_host(found, request) or parts.netloc


def wanted_host(found: Found, request: Request) -> str:
    if isinstance(request.host, ValueOf):
        if request.host.value_of not in found.variables:
            raise NoAddress(f"{request.host.value_of} is not known")
        return found.variables[request.host.value_of]
    return request.host or ""


def service_address(found: Found, name: str) -> str:
    service = found.get("Service", name)
    if service is None or not service["spec"].get("clusterIP"):
        raise NoAddress(f"there is no Service {name}")
    return str(service["spec"]["clusterIP"])


async def gateway_address(found: Found) -> str:
    for gateway in await found.cluster.get(found.namespace, "gateways.gateway.networking.k8s.io"):
        for address in (gateway.get("status") or {}).get("addresses") or ():
            return str(address["value"])
    raise NoAddress("no Gateway has an address")


async def objects_differ(found: Found, expected: Object) -> AsyncIterator[str]:
    items = await found.cluster.get(found.namespace, expected.kind)
    if expected.name is not None:
        items = [item for item in items if item["metadata"]["name"] == expected.name]
    shown = f"{expected.kind} {expected.name or ''}".strip()
    for problem in count_differs(expected, len(items)):
        yield f"{shown}: {problem}"
    if expected.fields and not any(_fits(expected, item) for item in items):
        yield f"{shown}: none of {len(items)} has {expected.fields}"


def count_differs(expected: Object, found: int) -> Iterator[str]:
    match expected.count:
        case int(count) if count != found:
            yield f"expected {count}, found {found}"
        case AtLeast(at_least=count) if found < count:
            yield f"expected at least {count}, found {found}"


def _fits(expected: Object, item: Any) -> bool:
    return all(at(item, path) == value for path, value in expected.fields.items())
