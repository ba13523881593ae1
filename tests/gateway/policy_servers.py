"""Servers that policies use, as real ones: for authorization and rate limits over gRPC, for keys over HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from envoy.service.auth.v3 import external_auth_pb2, external_auth_pb2_grpc
from envoy.service.ext_proc.v3 import external_processor_pb2, external_processor_pb2_grpc
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc

DENIED, OK = 7, 0  # codes of gRPC


@dataclass
class AuthServer(external_auth_pb2_grpc.AuthorizationServicer):  # type: ignore[misc]  # has no types
    """Lets a request in that has the header x-allow, and remembers what it was asked about the others."""

    context: dict[str, str] = field(default_factory=dict)
    body: str = ""
    hangs: bool = False

    async def Check(self, request: Any, _context: Any) -> Any:  # noqa: N802 - gRPC's name
        if self.hangs:
            await asyncio.sleep(30)
        asked = request.attributes
        self.context, self.body = dict(asked.context_extensions), asked.request.http.body
        answer = external_auth_pb2.CheckResponse()
        answer.status.code = OK if "x-allow" in asked.request.http.headers else DENIED
        return answer


class LimitServer(rls_pb2_grpc.RateLimitServiceServicer):  # type: ignore[misc]  # has no types
    """Refuses requests with a descriptor of which an entry has the value `over`; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[list[tuple[str, str]]]]] = []

    async def ShouldRateLimit(self, request: Any, _context: Any) -> Any:  # noqa: N802 - gRPC's name
        found = [[(entry.key, entry.value) for entry in each.entries] for each in request.descriptors]
        self.asked.append((request.domain, found))
        over = any(value == "over" for entries in found for _, value in entries)
        kinds = rls_pb2.RateLimitResponse
        return rls_pb2.RateLimitResponse(overall_code=kinds.OVER_LIMIT if over else kinds.OK)


class ProcessingServer(external_processor_pb2_grpc.ExternalProcessorServicer):  # type: ignore[misc]  # has no types
    """Sets a header of every response, and remembers which parts it got."""

    def __init__(self) -> None:
        self.parts: set[str] = set()

    async def Process(self, requests: Any, _context: Any) -> Any:  # noqa: N802 - gRPC's name
        async for request in requests:
            part = request.WhichOneof("request")
            self.parts.add(part)
            answer = external_processor_pb2.ProcessingResponse()
            changed = getattr(answer, part).response
            changed.SetInParent()
            if part == "response_headers":
                added = changed.header_mutation.set_headers.add()
                added.header.key, added.header.raw_value = "x-processed", b"yes"
            yield answer


@asynccontextmanager
async def grpc_server(auth: AuthServer, limits: LimitServer, processing: ProcessingServer) -> AsyncIterator[int]:
    server = grpc.aio.server()
    external_auth_pb2_grpc.add_AuthorizationServicer_to_server(auth, server)
    rls_pb2_grpc.add_RateLimitServiceServicer_to_server(limits, server)
    external_processor_pb2_grpc.add_ExternalProcessorServicer_to_server(processing, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


@asynccontextmanager
async def http_server(answers: dict[str, tuple[int, str]]) -> AsyncIterator[int]:
    """Answers each path with its status and text; /echo with the body, /host with the host; the others with 404."""

    async def answer(request: web.Request) -> web.Response:
        if request.path in ("/echo", "/host"):
            return web.Response(text=request.host if request.path == "/host" else await request.text())
        status, content = answers.get(request.path, (404, ""))
        return web.Response(status=status, text=content)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


class Signer:
    """Signs tokens with a key of its own."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._key = ec.generate_private_key(ec.SECP256R1())

    @property
    def keys(self) -> str:
        point = self._key.public_key().public_numbers()
        x, y = (encoded(number.to_bytes(32, "big")) for number in (point.x, point.y))
        return json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "x": x, "y": y}]})

    def token(self, **claims: Any) -> str:
        head = encoded(json.dumps({"alg": "ES256", "typ": "JWT"}).encode())
        content = encoded(json.dumps({"iss": self._issuer, "exp": 4_000_000_000, **claims}).encode())
        r, s = decode_dss_signature(self._key.sign(f"{head}.{content}".encode(), ec.ECDSA(hashes.SHA256())))
        return f"{head}.{content}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
