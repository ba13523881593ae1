"""What a real Envoy refuses is reported on the object that brought it; everything else is served all the time."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import aiohttp
import pytest

from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway.certificates import pem
from seamark.families.gateway.gateway import certificates
from seamark.families.gateway.values import limits
from seamark_runtime.api.core import Secret
from seamark_runtime.api.gateway import Gateway, HTTPRoute
from tests.gateway.bad_fields import policies
from tests.gateway.test_envoy import certificate, text
from tests.gateway.test_hostile_values import accepted
from tests.gateway.whole import GROUP, Whole, whole

MANY = 200
TARGET = {"targetRefs": [{"group": GROUP, "kind": "Gateway", "name": "gateway"}]}


def changing(name: str, value: str) -> dict[str, Any]:
    return {**TARGET, "headerModifiers": {"response": {"set": [{"name": name, "value": value}]}}}


@pytest.fixture
def envoy_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without our checks of headers: what Envoy refuses gets to it."""
    monkeypatch.setattr(limits, "changed_header", lambda _field, name: name)
    monkeypatch.setattr(limits, "header_value", lambda _field, value: value)


async def many_routes(scene: Whole) -> None:
    await scene.served()
    for number in range(MANY):
        scene.route(f"r{number}", matches=[{"path": {"value": f"/r{number}"}}])
    await scene.answers_so(f"/r{MANY - 1}", 200)
    await scene.until(lambda: all(accepts(scene)), "every route is accepted")


def accepts(scene: Whole) -> list[bool]:
    return [scene.condition(f"r{number}").get("status") == "True" for number in range(MANY)]


class Load:
    """Requests to all routes in turn, without end; `answers` counts them by status."""

    def __init__(self, scene: Whole) -> None:
        self.answers: dict[int, int] = {}
        self._scene = scene

    async def __aenter__(self) -> Load:
        self._task = asyncio.ensure_future(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                for number in range(MANY):
                    status, _ = await text(session, f"http://{self._scene.address}:8080/r{number}")
                    self.answers[status] = self.answers.get(status, 0) + 1


async def every_route_answers(scene: Whole, status: int) -> None:
    async with aiohttp.ClientSession() as session:
        found = [await text(session, f"http://{scene.address}:8080/r{number}") for number in range(MANY)]
    assert {code for code, _ in found} == {status}


@pytest.mark.usefixtures("envoy_alone_decides")
@pytest.mark.parametrize(("name", "value"), [("Host", "x"), (":path", "x"), ("x-a", "a\nb")])
def test_a_policy_that_envoy_refuses_takes_no_route_down_and_its_removal_heals(name: str, value: str) -> None:
    async def test(scene: Whole) -> None:
        await many_routes(scene)
        async with Load(scene) as load:
            scene.apply("TrafficPolicy", "bad", changing(name, value))
            await scene.until(lambda: accepted(scene, "bad").get("status") == "False", "the policy is told")
            found = accepted(scene, "bad")
            assert (found["reason"], found["observedGeneration"]) == ("Invalid", 1)
            assert found["message"].startswith("The data plane refused it: ")
            assert all(accepts(scene)), "no route is blamed"
            await scene.served()
            scene.apply("TrafficPolicy", "good", changing("x-good", "1"))
            await scene.until(lambda: accepted(scene, "good").get("status") == "True", "another policy is taken")
            scene.store.delete(str(TrafficPolicy.RESOURCE), "default", "bad")
            scene.route("later", matches=[{"path": {"value": "/later"}}])
            await scene.answers_so("/later", 200)
        assert set(load.answers) == {200}
        await every_route_answers(scene, 200)
        assert all(accepts(scene))

    whole(test)


@pytest.mark.usefixtures("envoy_alone_decides")
def test_a_mended_policy_is_in_effect_and_one_that_protects_is_closed_until_it_is() -> None:
    limit = {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 100_000, "fillInterval": "1s"}}}}

    async def test(scene: Whole) -> None:
        await many_routes(scene)
        scene.apply("TrafficPolicy", "bad", {**changing("Host", "x"), **limit})
        await scene.until(lambda: accepted(scene, "bad").get("status") == "False", "the policy is told")
        await every_route_answers(scene, 500)
        modified = {"response": {"set": [{"name": "x-good", "value": "1"}]}}
        scene.edit(TrafficPolicy, "bad", {"spec": {"headerModifiers": modified}})
        await scene.until(lambda: accepted(scene, "bad").get("status") == "True", "mended, it is taken")
        await scene.answers_so("/r0", 200)
        async with Load(scene) as load:
            scene.edit(TrafficPolicy, "bad", {"spec": changing("Host", "x")})
            await scene.until(lambda: accepted(scene, "bad").get("status") == "False", "the policy is told again")
            async with aiohttp.ClientSession() as session, session.get(f"http://{scene.address}:8080/r0") as response:
                assert (response.status, response.headers["x-good"]) == (200, "1"), "its last good form is in effect"
        assert set(load.answers) == {200}

    whole(test)


def test_three_hundred_policies_with_bad_fields_are_each_told_and_all_routes_are_served() -> None:
    bad = dict(policies())

    async def test(scene: Whole) -> None:
        await many_routes(scene)
        protecting = {name for name, spec in bad.items() if "rateLimit" in spec}
        async with Load(scene) as load:
            for name, spec in bad.items():
                if name not in protecting:
                    scene.apply("TrafficPolicy", name, {**TARGET, **spec})
            open_ = [name for name in bad if name not in protecting]
            await scene.until(
                lambda: all(accepted(scene, name).get("status") == "False" for name in open_), "every policy is told"
            )
        assert len(open_) >= 300
        assert set(load.answers) == {200}
        assert all(accepts(scene))
        for name in protecting:
            scene.apply("TrafficPolicy", name, {**TARGET, **bad[name]})
        await scene.until(
            lambda: all(accepted(scene, name).get("status") == "False" for name in protecting), "so are these"
        )
        await scene.answers_so("/r0", 500)
        for name in protecting:
            scene.store.delete(str(TrafficPolicy.RESOURCE), "default", name)
        await scene.answers_so("/r0", 200)
        await every_route_answers(scene, 200)

    whole(test)


def test_a_route_that_envoy_refuses_is_taken_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "pattern", lambda _field, _expression, _budget: None)

    async def test(scene: Whole) -> None:
        await many_routes(scene)
        async with Load(scene) as load:
            scene.route("bad", matches=[{"path": {"type": "RegularExpression", "value": "/("}}])
            await scene.until(lambda: scene.condition("bad").get("status") == "False", "the route is told")
            assert "missing )" in scene.condition("bad")["message"]
            scene.edit(HTTPRoute, "bad", {"spec": {"rules": [{"matches": [{"path": {"value": "/mended"}}]}]}})
            await scene.until(lambda: scene.condition("bad").get("status") == "True", "mended, it is taken")
        assert set(load.answers) == {200}

    whole(test)


def listener_of(scene: Whole, name: str) -> dict[str, Any]:
    listeners = (scene.get(Gateway, "gateway").get("status") or {}).get("listeners") or []
    found: dict[str, Any] = next((each for each in listeners if each["name"] == name), {})
    programmed = {each["type"]: each for each in found.get("conditions") or ()}
    condition: dict[str, Any] = programmed.get("Programmed", {})
    return condition


def test_a_certificate_that_envoy_refuses_takes_its_listener_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pem, "pair", lambda secret: (secret.data["tls.crt"], secret.data["tls.key"], ""))
    monkeypatch.setattr(pem, "validity", lambda _chain: ())
    monkeypatch.setattr(certificates, "validity", lambda _chain: ())
    monkeypatch.setattr(certificates, "date_problem", lambda _chain, _now: "")
    good = certificate("a.example.com")

    async def test(scene: Whole) -> None:
        await many_routes(scene)
        data = {"tls.crt": b64(b"nonsense"), "tls.key": b64(b"nonsense")}
        scene.apply("Secret", "cert", data=data, type="kubernetes.io/tls")
        secure = {"name": "https", "port": 8443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert"}]}}
        plain = {"name": "http", "port": 8080, "protocol": "HTTP"}
        async with Load(scene) as load:
            scene.edit(Gateway, "gateway", {"spec": {"listeners": [plain, secure]}})
            await scene.until(lambda: listener_of(scene, "https").get("status") == "False", "the listener is told")
            await scene.until(
                lambda: "Secret default/cert" in listener_of(scene, "https").get("message", ""), "the Secret is named"
            )
            await scene.until(lambda: listener_of(scene, "http").get("status") == "True", "the other one is served")
            mended = {"data": {"tls.crt": b64(good.chain), "tls.key": b64(good.key)}}
            scene.edit(Secret, "cert", mended)
            await scene.until(lambda: listener_of(scene, "https").get("status") == "True", "mended, it is served")
        assert set(load.answers) == {200}
        assert all(accepts(scene))

    whole(test)


def test_a_tls_policy_that_envoy_refuses_is_taken_out_alone_and_no_connection_is_made_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pem, "authorities", lambda source: (source.data["ca.crt"].encode(), ""))

    async def test(scene: Whole) -> None:
        await many_routes(scene)
        scene.apply("Service", "secure", {"ports": [{"port": 80}]})
        scene.apply(
            "EndpointSlice",
            "secure",
            metadata={"labels": {"kubernetes.io/service-name": "secure"}},
            addressType="IPv4",
            endpoints=[{"addresses": ["127.0.0.1"]}],
            ports=[{"port": scene.port}],
        )
        to_secure = [{"name": "secure", "port": 80}]
        scene.route("secure", matches=[{"path": {"value": "/secure"}}], backendRefs=to_secure)
        await scene.answers_so("/secure", 200)
        async with Load(scene) as load:
            scene.apply("ConfigMap", "ca", data={"ca.crt": "nonsense"})
            validation = {
                "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}],
                "hostname": "secure.example.com",
            }
            target = {"group": "", "kind": "Service", "name": "secure"}
            scene.apply("BackendTLSPolicy", "tls", {"targetRefs": [target], "validation": validation})
            await scene.until(lambda: tls_accepted(scene).get("reason") == "Invalid", "the policy is told")
            assert tls_accepted(scene)["message"].startswith("The data plane refused it: ")
            await scene.answers_so("/secure", 503)
            scene.store.delete(str(BackendTLSPolicy.RESOURCE), "default", "tls")
            await scene.answers_so("/secure", 200)
        assert set(load.answers) == {200}
        assert all(accepts(scene))

    whole(test)


def tls_accepted(scene: Whole) -> dict[str, Any]:
    ancestors = (scene.get(BackendTLSPolicy, "tls").get("status") or {}).get("ancestors") or [{}]
    found: dict[str, dict[str, Any]] = {each["type"]: each for each in ancestors[0].get("conditions") or ()}
    return found.get("Accepted", {})


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()
