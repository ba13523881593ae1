"""Hostile tenants: references into another tenant's namespace need a grant, and go with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Options as GatewayOptions
from seamark.families.loadbalancer.family import CRDS as LOADBALANCER
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.providers.edge.memory import memory_edge
from seamark_cluster.real.pki import Pki
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.api.core import Service
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import Gateway, GatewayClass, HTTPRoute, ReferenceGrant
from seamark_runtime.operator import Operator
from tests.cluster.embedded_scene import Json, Scene, store_with
from tests.cluster.tenants import ATTACKER, CANARY, GATEWAY_KINDS, TENANTS, TIMING, VICTIM, listener, story
from tests.dns.running import until


def gateway_scene() -> Scene:
    scene = Scene(store_with(*GATEWAY_KINDS, more=TENANTS))
    scene.make(GatewayClass, "kgateway", {"controllerName": "kgateway.dev/kgateway"})
    return scene


def parent(scene: Scene, type_: str) -> Json:
    parents = (scene.get(HTTPRoute, "route", ATTACKER).get("status") or {}).get("parents") or [{"conditions": []}]
    return next((dict(one) for one in parents[0]["conditions"] if one["type"] == type_), {})


async def granted_and_revoked(scene: Scene, source: str, target: str, shown: Callable[[], Json]) -> None:
    """What is shown of the attacker's reference into the victim's namespace follows the victim's grant, both ways."""
    await until(lambda: shown().get("reason") == "RefNotPermitted", "it is refused")
    lets = {"group": "gateway.networking.k8s.io", "kind": source, "namespace": ATTACKER}
    scene.make(ReferenceGrant, "lets", {"from": [lets], "to": [{"group": "", "kind": target}]}, VICTIM)
    await until(lambda: shown().get("status") == "True", "the grant lets it")
    scene.delete(ReferenceGrant, "lets", VICTIM)
    await until(lambda: shown().get("reason") == "RefNotPermitted", "it is revoked")


@pytest.mark.parametrize("host", ["web.victim", "web.victim.svc", "WEB.Victim.svc.cluster.local."])
def test_an_upstream_of_another_namespace_needs_a_grant_and_goes_with_it(host: str) -> None:
    scene = Scene(store_with(*LOADBALANCER, CRD(kind=ReferenceGrant), more=TENANTS))

    def shown() -> Json:
        return scene.condition(AgentEndpoint, "endpoint", "EndpointCreated", ATTACKER)

    async def play(_operator: Operator) -> None:
        spec = {"url": "tcp://a.internal:1", "upstream": {"url": f"tcp://{host}:80"}}
        scene.make(AgentEndpoint, "endpoint", spec, ATTACKER)
        await until(lambda: shown().get("reason") == "ConfigurationError", "it is refused")
        assert "lb_cross_namespace_upstreams" in shown()["message"]
        lets = {"group": "ngrok.k8s.ngrok.com", "kind": "AgentEndpoint", "namespace": ATTACKER}
        scene.make(ReferenceGrant, "lets", {"from": [lets], "to": [{"group": "", "kind": "Service"}]}, VICTIM)
        await until(lambda: shown().get("reason") == "Pending", "the grant lets it")
        scene.delete(ReferenceGrant, "lets", VICTIM)
        await until(lambda: shown().get("reason") == "ConfigurationError", "it is revoked")

    story(scene, loadbalancer(LoadBalancerOptions(timing=TIMING), memory_edge(reachable=True)), play)


def test_a_backend_of_another_namespace_needs_a_grant_and_goes_with_it() -> None:
    scene = gateway_scene()

    async def play(_operator: Operator) -> None:
        scene.make(Service, "web", {"ports": [{"port": 80}]}, VICTIM)
        listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
        scene.make(Gateway, "gateway", {"gatewayClassName": "kgateway", "listeners": listeners}, ATTACKER)
        backend = {"name": "web", "namespace": VICTIM, "port": 80}
        spec = {"parentRefs": [{"name": "gateway"}], "rules": [{"backendRefs": [backend]}]}
        scene.make(HTTPRoute, "route", spec, ATTACKER)
        await granted_and_revoked(scene, "HTTPRoute", "Service", lambda: parent(scene, "ResolvedRefs"))

    story(scene, gateway(GatewayOptions(), MemoryDataPlane(listens=True)), play)


def certified(scene: Scene, secret: str) -> None:
    tls = {"certificateRefs": [{"name": secret, "namespace": VICTIM}]}
    listeners = [{"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}]
    scene.make(Gateway, secret, {"gatewayClassName": "kgateway", "listeners": listeners}, ATTACKER)


def test_a_certificate_of_another_namespace_needs_a_grant_and_goes_with_it(tmp_path: Path) -> None:
    scene = gateway_scene()
    certificate, key = Pki(tmp_path).server("lent", ("a.example.com",))
    text = {"tls.crt": certificate.read_text(), "tls.key": key.read_text()}
    metadata = {"name": "lent", "namespace": VICTIM}
    scene.store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": text})

    async def play(_operator: Operator) -> None:
        certified(scene, "lent")
        await granted_and_revoked(scene, "Gateway", "Secret", lambda: listener(scene, "lent"))

    story(scene, gateway(GatewayOptions(), MemoryDataPlane(listens=True)), play)


def test_nobody_learns_which_secrets_another_namespace_has() -> None:
    scene = gateway_scene()
    metadata, text = {"name": "there", "namespace": VICTIM}, {"tls.crt": CANARY, "tls.key": CANARY}
    scene.store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": text})

    async def play(_operator: Operator) -> None:
        for name in ("there", "none"):
            certified(scene, name)
        for name in ("there", "none"):
            await until(lambda n=name: bool(listener(scene, n)), f"{name} is judged")  # type: ignore[misc]
            await until(lambda n=name: listener(scene, n)["reason"] == "RefNotPermitted", "refused")  # type: ignore[misc]
        words = [listener(scene, name)["message"].replace(name, "NAME") for name in ("there", "none")]
        assert words[0] == words[1]

    story(scene, gateway(GatewayOptions(), MemoryDataPlane(listens=True)), play)
