"""The whole family on this machine, on the embedded API server with a real Envoy: what it reports and serves."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from pathlib import Path

import aiohttp

from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.families.gateway.model.options import Options
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.probe import DEADLINE
from seamark_runtime.api.core import Service
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.gateway import Gateway, GatewayClass, HTTPRoute
from tests.gateway.test_envoy import certificate, envoys, text
from tests.gateway.whole import GROUP, READY, Whole, conditions, header, whole


def test_the_class_is_there_by_default_and_a_route_is_served() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        assert scene.store.get(str(GatewayClass.RESOURCE), "", "kgateway") is not None
        scene.route("hello")
        await scene.answers_so("/", 200)
        assert await scene.answers("/") == (200, "web")

    whole(test)


def test_a_regex_that_only_envoy_refuses_is_told_in_its_words_and_the_others_are_served() -> None:
    async def test(scene: Whole) -> None:
        scene.route("good")
        await scene.served()
        await scene.answers_so("/", 200)
        scene.route("bad", matches=[{"path": {"type": "RegularExpression", "value": "/(?=x).*"}}])
        await scene.until(lambda: scene.condition("bad").get("status") == "False", "the invalid route reports it")
        assert scene.condition("bad")["reason"] == "UnsupportedValue"
        assert "invalid perl operator" in scene.condition("bad")["message"]
        assert scene.condition("good")["status"] == "True"
        assert await scene.answers("/") == (200, "web")
        await scene.served()
        scene.route("later", matches=[{"path": {"value": "/later"}}])
        await scene.until(lambda: scene.condition("later").get("status") == "True", "who comes later is taken")
        await scene.answers_so("/later", 200)
        scene.edit(HTTPRoute, "bad", {"spec": {"rules": [{"matches": [{"path": {"value": "/mended"}}]}]}})
        await scene.until(lambda: scene.condition("bad").get("status") == "True", "mended, it is taken")

    whole(test)


def test_a_route_with_64_kb_of_matches_is_served() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        matches = [{"path": {"type": "Exact", "value": f"/{number}/{'x' * 1000}"}} for number in range(64)]
        scene.route("long", matches=matches)
        scene.route("short", matches=[{"path": {"value": "/short"}}])
        await scene.answers_so("/short", 200)
        assert (await scene.answers(matches[63]["path"]["value"]))[0] == 200
        await scene.until(lambda: scene.condition("long").get("status") == "True", "its status is written")

    whole(test)


def test_a_certificate_that_does_not_match_its_key_is_named() -> None:
    one, other = certificate("a.example.com"), certificate("b.example.com")
    tls = {"certificateRefs": [{"name": "cert"}]}
    listener = {"name": "https", "port": 8443, "protocol": "HTTPS", "tls": tls}

    async def test(scene: Whole) -> None:
        encoded = {"tls.crt": _base64(one.chain), "tls.key": _base64(other.key)}
        scene.apply("Secret", "cert", data=encoded, type="kubernetes.io/tls")
        await scene.until(lambda: "tls.key" in scene.listener("ResolvedRefs").get("message", ""), "it is named")
        assert scene.listener("ResolvedRefs")["reason"] == "InvalidCertificateRef"
        assert scene.listener("Programmed")["status"] == "False"

    whole(test, listener=listener)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_an_envoy_whose_gateway_goes_before_it_has_connected_ends_with_it(tmp_path: Path) -> None:
    slow = tmp_path / "envoy"
    slow.write_text(f'#!/bin/sh\n[ "$1" = --version ] || sleep 2\nexec {binary.install()} "$@"\n')
    slow.chmod(0o755)

    async def test(scene: Whole) -> None:
        await scene.until(lambda: bool(envoys()), "its Envoy is started")
        scene.store.delete(str(Gateway.RESOURCE), "default", "gateway")
        await asyncio.sleep(4)  # by now it would have connected
        assert envoys() == []

    whole(test, envoy=slow)


def test_without_an_envoy_nothing_is_said_to_be_programmed() -> None:
    async def test(scene: Whole) -> None:
        await scene.until(lambda: scene.gateway().get("status") == "False", "it is told")
        assert "There is no Envoy on this machine" in scene.gateway()["message"]
        scene.route("hello")
        await scene.until(lambda: scene.condition("hello").get("status") == "True", "its routes are judged")

    whole(test, envoy=False)


def test_a_backend_of_a_forbidden_namespace_answers_500_and_the_other_rule_is_served() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        forbidden = {"name": "theirs", "namespace": "other", "port": 80}
        scene.route("no", backendRefs=[forbidden], matches=[{"path": {"value": "/no"}}])
        scene.route("yes", matches=[{"path": {"value": "/yes"}}])
        await scene.answers_so("/yes", 200)
        await scene.answers_so("/no", 500)
        assert scene.condition("no", "ResolvedRefs")["reason"] == "RefNotPermitted"

    whole(test)


def test_a_traffic_policy_limits_the_rate_and_changes_headers() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("hello")
        await scene.answers_so("/", 200)
        bucket = {"maxTokens": 2, "tokensPerFill": 1, "fillInterval": "3600s"}
        target = {"group": GROUP, "kind": "HTTPRoute", "name": "hello"}
        added = {"response": {"set": [{"name": "x-policy", "value": "here"}]}}
        scene.apply(
            "TrafficPolicy",
            "limit",
            {"targetRefs": [target], "rateLimit": {"local": {"tokenBucket": bucket}}, "headerModifiers": added},
        )
        await scene.answers_so("/", 429)

    whole(test)


def test_a_backend_tls_policy_for_a_port_that_is_missing_reports_it_until_the_port_is_there() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("hello")
        target = {"group": "", "kind": "Service", "name": "web", "sectionName": "secure"}
        validation = {"hostname": "web.example", "wellKnownCACertificates": "System"}
        scene.apply("BackendTLSPolicy", "tls", {"targetRefs": [target], "validation": validation})

        async def reported(status: str, reason: str) -> None:
            def found() -> list[str | None]:
                ancestors = (scene.get(BackendTLSPolicy, "tls").get("status") or {}).get("ancestors") or [{}]
                accepted = conditions(ancestors[0].get("conditions")).get("Accepted", {})
                return [accepted.get("status"), accepted.get("reason")]

            await scene.until(lambda: found() == [status, reason], f"{status} {reason}")

        await reported("False", "TargetNotFound")
        scene.edit(Service, "web", {"spec": {"ports": [{"name": "secure", "port": 80}]}})
        await reported("True", "Accepted")

    whole(test)


def test_a_route_changed_two_hundred_times_under_load_loses_no_request() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("hello")
        await scene.answers_so("/", 200)
        answers: dict[int, int] = {}
        done = asyncio.Event()
        url = f"http://{scene.address}:8080/"

        async def client() -> None:
            async with aiohttp.ClientSession() as session:
                while not done.is_set():
                    status, _ = await text(session, url)
                    answers[status] = answers.get(status, 0) + 1
                    await asyncio.sleep(0.001)

        clients = [asyncio.ensure_future(client()) for _ in range(4)]
        for number in range(200):
            added = [{"path": {"value": f"/{number}"}}, {"path": {"value": "/"}}]
            change = {"type": "ResponseHeaderModifier", "responseHeaderModifier": {"set": [header("x-turn", number)]}}
            rule = {"matches": added, "filters": [change], "backendRefs": [{"name": "web", "port": 80}]}
            scene.edit(HTTPRoute, "hello", {"spec": {"rules": [rule]}})
            await asyncio.sleep(0.02)
        await scene.until(lambda: scene.condition("hello").get("observedGeneration") == 201, "the last is judged")
        done.set()
        await asyncio.gather(*clients)
        assert set(answers) == {200}, answers
        assert sum(answers.values()) > 200

    whole(test)


def test_an_envoy_that_dies_is_told_and_so_is_its_coming_back() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("hello")
        await scene.answers_so("/", 200)
        for _ in range(2):  # the second time it takes a moment longer to come back
            [pid] = envoys()
            os.kill(pid, signal.SIGKILL)
            await scene.until(lambda: scene.gateway().get("status") == "False", "that it is gone is reported")
            assert "not connected" in scene.gateway()["message"]
            await scene.served()
            await scene.answers_so("/", 200)

    whole(test)


def test_a_frozen_envoy_is_not_programmed_after_one_interval_and_one_deadline_and_is_again_when_it_goes_on() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("hello")
        await scene.answers_so("/", 200)
        [pid] = envoys()
        began = asyncio.get_running_loop().time()
        os.kill(pid, signal.SIGSTOP)
        try:
            await scene.until(lambda: scene.gateway()["status"] != "True", "a frozen Envoy is reported")
            took = asyncio.get_running_loop().time() - began
        finally:
            os.kill(pid, signal.SIGCONT)
        assert took <= Options().verify + DEADLINE + 1.0, took  # the page's 9 s, and one for this machine
        await scene.served()
        await scene.answers_so("/", 200)

    whole(test)


def test_a_route_tells_whether_its_backends_accept_connections() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("hello")

        async def reported(status: str, reason: str) -> float:
            began = asyncio.get_running_loop().time()
            await scene.until(
                lambda: (
                    [scene.condition("hello", READY).get(name) for name in ("status", "reason")] == [status, reason]
                ),
                f"{status} {reason}",
            )
            return asyncio.get_running_loop().time() - began

        await reported("True", "BackendsReady")
        scene.edit(EndpointSlice, "web", {"ports": [{"port": 1}]})  # the target port is wrong
        assert await reported("False", "EndpointsRefuse") < 2
        assert "port 80" in scene.condition("hello", READY)["message"]
        scene.edit(EndpointSlice, "web", {"endpoints": None})
        assert await reported("False", "NoReadyEndpoint") < 2
        mended = {"endpoints": [{"addresses": ["127.0.0.1"]}], "ports": [{"port": scene.port}]}
        scene.edit(EndpointSlice, "web", mended)
        await reported("True", "BackendsReady")
        assert scene.condition("hello")["status"] == "True"

    whole(test)
