"""Policies that use a service, which a GatewayExtension describes, through a real Envoy and with real servers."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from seamark.api.directresponses import DirectResponse
from seamark.api.gatewayextensions import GatewayExtension
from seamark.api.kgateway import TrafficPolicy
from seamark_runtime.api.gateway import HTTPRoute
from tests.gateway.policy_servers import AuthServer, LimitServer, ProcessingServer, Signer, grpc_server, http_server
from tests.gateway.test_hostile_values import accepted
from tests.gateway.whole import GROUP, PATIENCE, Whole, whole

Json = dict[str, Any]
AUTH = {"extAuth": {"grpcService": {"backendRef": {"name": "grpc", "port": 80}}}}
LIMITS = {
    "rateLimit": {"grpcService": {"backendRef": {"name": "grpc", "port": 80}, "requestTimeout": "2s"}, "domain": "shop"}
}


@dataclass
class Servers:
    auth: AuthServer = field(default_factory=AuthServer)
    limits: LimitServer = field(default_factory=LimitServer)
    processing: ProcessingServer = field(default_factory=ProcessingServer)
    paths: dict[str, tuple[int, str]] = field(default_factory=dict)


def with_servers(test: Callable[[Whole, Servers], Awaitable[None]]) -> None:
    async def story(scene: Whole) -> None:
        servers = Servers()
        async with AsyncExitStack() as stack:
            service(
                scene,
                "grpc",
                await stack.enter_async_context(grpc_server(servers.auth, servers.limits, servers.processing)),
            )
            service(scene, "http", await stack.enter_async_context(http_server(servers.paths)))
            await scene.served()
            scene.route("shop")
            await scene.answers_so("/", 200)
            await test(scene, servers)

    whole(story)


def service(scene: Whole, name: str, port: int) -> None:
    scene.apply("Service", name, {"ports": [{"port": 80}]})
    scene.apply(
        "EndpointSlice",
        name,
        metadata={"labels": {"kubernetes.io/service-name": name}},
        addressType="IPv4",
        endpoints=[{"addresses": ["127.0.0.1"]}],
        ports=[{"port": port}],
    )


def policy(scene: Whole, name: str, kind: str = "HTTPRoute", target: str = "shop", **spec: Any) -> None:
    scene.apply("TrafficPolicy", name, {"targetRefs": [{"group": GROUP, "kind": kind, "name": target}], **spec})


async def settled(scene: Whole, path: str, status: int, **headers: str) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while (found := (await scene.answers(path, **headers))[0]) != status:
        assert asyncio.get_running_loop().time() < deadline, (path, found, status)
        await asyncio.sleep(0.05)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_an_authorization_server_decides_and_its_removal_opens_the_route() -> None:
    ref = {"extensionRef": {"name": "auth"}}

    async def test(scene: Whole, servers: Servers) -> None:
        scene.apply("GatewayExtension", "auth", AUTH)
        policy(scene, "all", "Gateway", "gateway", extAuth=ref)
        await settled(scene, "/", 403)
        assert (await scene.answers("/", **{"x-allow": "1"}))[0] == 200
        await scene.until(lambda: accepted(scene, "all").get("status") == "True", "it is accepted")
        body = {"maxRequestBytes": 100, "allowPartialMessage": True}
        policy(scene, "own", extAuth={**ref, "contextExtensions": {"team": "red"}, "withRequestBody": body})

        async def posted() -> int:
            async with (
                aiohttp.ClientSession(headers={"x-allow": "1"}) as session,
                session.post(f"http://{scene.address}:8080/", data=b"hello") as response,
            ):
                return response.status

        deadline = asyncio.get_running_loop().time() + PATIENCE
        while await posted() != 200 or servers.auth.context != {"team": "red"}:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.05)
        assert servers.auth.body == "hello"
        scene.edit(TrafficPolicy, "own", {"spec": {"extAuth": None}})
        scene.edit(TrafficPolicy, "own", {"spec": {"extAuth": {"disable": {}}}})
        await settled(scene, "/", 200)
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "own")
        await settled(scene, "/", 403)
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "all")
        await settled(scene, "/", 200)

    with_servers(test)


def test_a_server_that_hangs_or_an_extension_that_goes_opens_nothing() -> None:
    """Policies rule 2."""
    quick = {"extAuth": {"grpcService": {"backendRef": {"name": "grpc", "port": 80}, "requestTimeout": "200ms"}}}

    async def test(scene: Whole, servers: Servers) -> None:
        policy(scene, "own", extAuth={"extensionRef": {"name": "auth"}})
        await settled(scene, "/", 500)
        assert "GatewayExtension default/auth does not exist" in accepted(scene, "own")["message"]
        scene.apply("GatewayExtension", "auth", quick)
        await settled(scene, "/", 403)
        await settled(scene, "/", 200, **{"x-allow": "1"})
        servers.auth.hangs = True
        await settled(scene, "/", 403, **{"x-allow": "1"})
        servers.auth.hangs = False
        await settled(scene, "/", 200, **{"x-allow": "1"})
        scene.edit(GatewayExtension, "auth", {"spec": {"extAuth": {"grpcService": {"backendRef": {"name": "gone"}}}}})
        await scene.until(lambda: accepted(scene, "own").get("status") == "False", "it is reported")
        found = accepted(scene, "own")["message"]
        assert "extAuth.extensionRef: GatewayExtension default/auth: extAuth.grpcService.backendRef: Service" in found
        scene.store.delete(str(GatewayExtension.RESOURCE), "default", "auth")
        await scene.until(lambda: "does not exist" in accepted(scene, "own").get("message", ""), "it is reported, too")
        assert (await scene.answers("/"))[0] == 403
        assert (await scene.answers("/", **{"x-allow": "1"}))[0] == 200

    with_servers(test)


def test_an_authorization_server_over_http_decides() -> None:
    async def test(scene: Whole, servers: Servers) -> None:
        http = {"backendRef": {"name": "http", "port": 80}, "pathPrefix": "/check"}
        scene.apply("GatewayExtension", "auth", {"extAuth": {"httpService": http, "statusOnError": 503}})
        servers.paths.update({"/check/good": (200, ""), "/check/bad": (401, "no")})
        policy(scene, "own", extAuth={"extensionRef": {"name": "auth"}})
        await settled(scene, "/bad", 401)
        assert (await scene.answers("/good"))[0] == 200
        scene.edit(GatewayExtension, "auth", {"spec": {"extAuth": {"httpService": {"pathPrefix": "/none"}}}})
        await settled(scene, "/good", 404)

    with_servers(test)


def test_a_connection_from_before_a_policy_is_not_let_through() -> None:
    """It is served by the chain as it was, which has no filter for the server yet."""

    async def test(scene: Whole, _servers: Servers) -> None:
        scene.apply("GatewayExtension", "auth", AUTH)
        url = f"http://{scene.address}:8080/"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:
            found = []
            for turn in range(200):
                if turn == 20:
                    policy(scene, "own", extAuth={"extensionRef": {"name": "auth"}})
                async with session.get(url) as response:
                    found.append(response.status)
                    await response.read()
                await asyncio.sleep(0.02)
        refused = found.index(403)
        assert set(found[:refused]) == {200}
        assert set(found[refused:]) == {403}

    with_servers(test)


def test_a_rate_limit_server_gets_the_descriptors_and_refuses() -> None:
    async def test(scene: Whole, servers: Servers) -> None:
        scene.apply("GatewayExtension", "limits", LIMITS)
        entries = [
            {"type": "Generic", "generic": {"key": "plan", "value": "free"}},
            {"type": "Header", "header": "x-user"},
            {"type": "RemoteAddress"},
            {"type": "Path"},
        ]
        limit = {"extensionRef": {"name": "limits"}, "descriptors": [{"entries": entries}]}
        policy(scene, "all", "Gateway", "gateway", rateLimit={"global": limit})
        await settled(scene, "/", 429, **{"x-user": "over"})
        assert (await scene.answers("/a", **{"x-user": "ada"}))[0] == 200
        domain, [found] = servers.limits.asked[-1]
        address = next(value for key, value in found if key == "remote_address")
        assert (domain, found) == (
            "shop",
            [("plan", "free"), ("x-user", "ada"), ("remote_address", address), ("path", "/a")],
        )
        policy(scene, "own", rateLimit={"local": {}})
        await settled(scene, "/", 200, **{"x-user": "over"})
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "own")
        await settled(scene, "/", 429, **{"x-user": "over"})
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "all")
        await settled(scene, "/", 200, **{"x-user": "over"})

    with_servers(test)


def test_tokens_are_checked_with_local_and_remote_keys_and_claims_are_for_rbac_and_headers() -> None:
    ours, theirs, unknown = Signer("ours"), Signer("theirs"), Signer("theirs")

    async def test(scene: Whole, servers: Servers) -> None:
        servers.paths["/keys"] = (200, theirs.keys)
        remote = {"url": "http://keys.example.com/keys", "backendRef": {"name": "http", "port": 80}}
        providers = [
            {"name": "ours", "issuer": "ours", "audiences": ["shop"], "jwks": {"local": {"inline": ours.keys}}},
            {"name": "theirs", "issuer": "theirs", "jwks": {"remote": remote}},
        ]
        scene.apply("GatewayExtension", "tokens", {"jwt": {"providers": providers}})
        policy(scene, "own", jwtAuth={"extensionRef": {"name": "tokens"}})
        await settled(scene, "/", 401)
        await settled(scene, "/", 200, **bearer(ours.token(aud="shop")))
        await settled(scene, "/", 200, **bearer(theirs.token()))
        for bad in (ours.token(aud="bank"), unknown.token(), theirs.token(exp=1), "nonsense"):
            assert (await scene.answers("/", **bearer(bad)))[0] in (401, 403), bad
        admins = "metadata.filter_metadata['envoy.filters.http.jwt_authn']['payload']['role'] == 'admin'"
        scene.edit(TrafficPolicy, "own", {"spec": {"rbac": {"policy": {"matchExpressions": [admins]}}}})
        await settled(scene, "/", 403, **bearer(theirs.token(role="user")))
        assert (await scene.answers("/", **bearer(theirs.token(role="admin"))))[0] == 200
        scene.edit(GatewayExtension, "tokens", {"spec": {"jwt": {"validationMode": "AllowMissing"}}})
        scene.edit(TrafficPolicy, "own", {"spec": {"rbac": None}})
        await settled(scene, "/", 200)
        assert (await scene.answers("/", **bearer("nonsense")))[0] == 401
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "own")
        await settled(scene, "/", 200, **bearer("nonsense"))

    with_servers(test)


def test_keys_that_are_no_json_let_nothing_in_and_keys_of_a_config_map_are_taken() -> None:
    signer = Signer("ours")

    async def test(scene: Whole, servers: Servers) -> None:
        servers.paths["/keys"] = (200, "<html>")
        remote = {"url": "http://keys.example.com/keys", "backendRef": {"name": "http", "port": 80}}
        scene.apply("GatewayExtension", "tokens", {"jwt": {"providers": [{"name": "a", "jwks": {"remote": remote}}]}})
        policy(scene, "own", jwtAuth={"extensionRef": {"name": "tokens"}})
        await settled(scene, "/", 401, **bearer(signer.token()))
        assert accepted(scene, "own")["status"] == "True"
        local = {"jwks": {"local": {"configMapRef": {"name": "keys"}}, "remote": None}, "name": "a"}
        scene.edit(GatewayExtension, "tokens", {"spec": {"jwt": {"providers": [local]}}})
        await scene.until(lambda: "ConfigMap keys does not exist" in accepted(scene, "own")["message"], "reported")
        scene.apply("ConfigMap", "keys", data={"jwks": signer.keys})
        await settled(scene, "/", 200, **bearer(signer.token()))
        assert (await scene.answers("/"))[0] == 401

    with_servers(test)


def route_to_server(scene: Whole) -> None:
    rule = {"backendRefs": [{"name": "http", "port": 80}]}
    scene.edit(HTTPRoute, "shop", {"spec": {"rules": [rule]}})


def test_paths_and_hosts_are_rewritten_on_the_way_to_the_backend() -> None:
    async def test(scene: Whole, servers: Servers) -> None:
        route_to_server(scene)
        servers.paths.update({"/new/7": (200, "seven"), "/a\\7": (200, "backslash")})
        await settled(scene, "/old/7", 404)
        regex = {"pattern": "^/old/([0-9]+)$", "substitution": "/new/\\1"}
        policy(scene, "own", urlRewrite={"pathRegex": regex}, autoHostRewrite=True)
        await settled(scene, "/old/7?x=1", 200)
        assert await scene.answers("/old/7") == (200, "seven")
        assert await scene.answers("/host") == (200, "http.default.svc.cluster.local")
        scene.edit(TrafficPolicy, "own", {"spec": {"autoHostRewrite": False, "urlRewrite": None}})
        await settled(scene, "/old/7", 404)
        assert (await scene.answers("/host"))[1].startswith(scene.address)

    with_servers(test)


def test_a_rewrite_for_all_of_a_gateway_is_refused() -> None:
    async def test(scene: Whole, _servers: Servers) -> None:
        policy(scene, "all", "Gateway", "gateway", autoHostRewrite=True)
        await scene.until(lambda: accepted(scene, "all").get("status") == "False", "it is reported")
        found = accepted(scene, "all")["message"]
        assert found == "autoHostRewrite: only HTTPRoutes can have it, but targetRefs[0] is a Gateway"

    with_servers(test)


@pytest.mark.parametrize(("library", "coding"), [("Gzip", "gzip"), ("Brotli", "br"), ("Zstd", "zstd")])
def test_responses_are_compressed_and_requests_decompressed(library: str, coding: str) -> None:
    async def test(scene: Whole, servers: Servers) -> None:
        route_to_server(scene)
        servers.paths["/long"] = (200, "long " * 200)

        async def codings() -> str:
            async with (
                aiohttp.ClientSession(auto_decompress=False) as session,
                session.get(f"http://{scene.address}:8080/long", headers={"Accept-Encoding": coding}) as response,
            ):
                return response.headers.get("Content-Encoding", "") if response.status == 200 else "none"

        async def echoed() -> bytes:
            headers = {"Content-Encoding": "gzip"}
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"http://{scene.address}:8080/echo", data=gzip.compress(b"hello"), headers=headers) as got,
            ):
                return await got.read()

        async def until(wanted: str, body: bytes | None) -> None:
            deadline = asyncio.get_running_loop().time() + PATIENCE
            while await codings() != wanted or (body is not None and await echoed() != body):
                assert asyncio.get_running_loop().time() < deadline, (wanted, await codings())
                await asyncio.sleep(0.05)

        await until("", None)
        both = {"responseCompression": {"libraries": [library]}, "requestDecompression": {}}
        policy(scene, "all", "Gateway", "gateway", compression=both)
        await until(coding, b"hello")
        policy(scene, "own", compression={"responseCompression": {"disable": {}}})
        await until("", None)
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "own")
        await until(coding, b"hello")
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "all")
        await until("", None)

    with_servers(test)


def test_a_rule_with_a_direct_response_gives_it_and_one_that_can_not_be_used_opens_nothing() -> None:
    ref = {"group": "gateway.kgateway.dev", "kind": "DirectResponse", "name": "teapot"}
    given = {"type": "ExtensionRef", "extensionRef": ref}

    async def test(scene: Whole, _servers: Servers) -> None:
        backends = [{"name": "web", "port": 80}]
        with_filter = {"matches": [{"path": {"value": "/tea"}}], "filters": [given], "backendRefs": backends}
        scene.edit(HTTPRoute, "shop", {"spec": {"rules": [with_filter, {"backendRefs": backends}]}})
        await settled(scene, "/tea", 500)
        found = scene.condition("shop", "ResolvedRefs")
        assert "filters[0].extensionRef: DirectResponse teapot does not exist" in found["message"]
        scene.apply("DirectResponse", "teapot", {"status": 418, "body": "short and stout"})
        await settled(scene, "/tea", 418)
        assert await scene.answers("/tea") == (418, "short and stout")
        assert (await scene.answers("/"))[0] == 200
        scene.edit(DirectResponse, "teapot", {"spec": {"body": "x" * 4097}})
        await settled(scene, "/tea", 500)
        assert "body: must have at most 4096 bytes" in scene.condition("shop", "ResolvedRefs")["message"]
        scene.edit(DirectResponse, "teapot", {"spec": {"body": None, "bodyFormat": {}}})
        await scene.until(lambda: "bodyFormat" in scene.condition("shop", "ResolvedRefs")["message"], "it is reported")
        scene.edit(HTTPRoute, "shop", {"spec": {"rules": [{"backendRefs": backends}]}})
        await settled(scene, "/tea", 200)

    with_servers(test)


def test_a_processing_server_changes_responses_and_gets_the_parts_that_are_chosen() -> None:
    async def test(scene: Whole, servers: Servers) -> None:
        scene.apply(
            "GatewayExtension", "proc", {"extProc": {"grpcService": {"backendRef": {"name": "grpc", "port": 80}}}}
        )

        async def processed() -> str:
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"http://{scene.address}:8080/", data=b"hello") as response,
            ):
                return response.headers.get("x-processed", "")

        async def until(wanted: str, parts: set[str]) -> None:
            deadline = asyncio.get_running_loop().time() + PATIENCE
            while await processed() != wanted or servers.processing.parts != parts:
                assert asyncio.get_running_loop().time() < deadline, (wanted, servers.processing.parts)
                servers.processing.parts.clear()
                await asyncio.sleep(0.05)

        policy(scene, "all", "Gateway", "gateway", extProc={"extensionRef": {"name": "proc"}})
        await until("yes", {"request_headers", "response_headers"})
        mode = {"requestHeaderMode": "SKIP", "requestBodyMode": "BUFFERED", "responseHeaderMode": "SKIP"}
        policy(scene, "own", extProc={"extensionRef": {"name": "proc"}, "processingMode": mode})
        await until("", {"request_body"})
        scene.edit(TrafficPolicy, "own", {"spec": {"extProc": None}})
        await until("yes", {"request_headers", "response_headers"})
        scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "all")
        await until("", set())

    with_servers(test)
