"""Hostile tenants: refused, bounded, and reported to their owner only; no other tenant is affected.

On the embedded API server: nothing here depends on more than the API that both have.
"""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest

from seamark.api.dns import DNSEndpoint
from seamark.api.score import Workload
from seamark.explain.meanings import meanings
from seamark.explain.reader import Reader
from seamark.explain.show import plain
from seamark.explain.walk import explained
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.dns.family import controllers as dns
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.model.rules import Rules
from seamark.families.gateway.family import controllers as gateway
from seamark.families.gateway.model.options import Options as GatewayOptions
from seamark.families.loadbalancer.family import CRDS as LOADBALANCER
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark.families.loadbalancer.model.options import Options as LoadBalancerOptions
from seamark.families.sample.family import GREETING
from seamark.families.score.family import CRDS as SCORE
from seamark.families.score.family import runtime_controllers, without_runtime
from seamark.families.score.model.options import Options as ScoreOptions
from seamark.providers.board.memory import MemoryBoard
from seamark.providers.edge.memory import memory_edge
from seamark_cluster.embedded import EmbeddedTransport
from seamark_cluster.embedded.machinery.errors import ApiError
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.model import Owner
from seamark_runtime import log
from seamark_runtime.api.core import Secret, Service
from seamark_runtime.api.gateway import Gateway, GatewayClass
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.operator import Operator
from seamark_runtime.resolver import Resolver
from tests.answering import AnsweringMemory
from tests.cluster.embedded_scene import Json, Scene, store_with
from tests.cluster.tenants import (
    ATTACKER,
    CANARY,
    GATEWAY_KINDS,
    SCORE_KINDS,
    TENANTS,
    TIMING,
    VICTIM,
    ZONE,
    listener,
    status_of,
    story,
)
from tests.dns.running import until
from tests.greetings import greeting_controller as sample
from tests.unit.runtime.small_world import SmallWorld, world

MANY = 10_000
MEGABYTE = "x" * 1_000_000
LONGEST_MESSAGE = 32_768


# ---- ten thousand objects, and one that fails each time


READY = "Ready True"


def summaries(obj: Json) -> list[str]:
    return [f"{one['type']} {one['status']}" for one in (obj.get("status") or {}).get("conditions") or ()]


def seconds_until_ready(flood: int) -> float:
    """The p99 of another tenant's objects, from their creation to Ready, in the time of a loop without a busy CPU."""
    took: list[float] = []

    async def test(small: SmallWorld) -> None:
        manifest = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "spec": {"text": "x"}}
        for tenant in TENANTS:
            small.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": tenant}})
        for number in range(flood):
            small.store.create({**manifest, "metadata": {"name": f"a{number}", "namespace": ATTACKER}})
        loop = asyncio.get_running_loop()
        began: dict[str, float] = {}

        def changed(event: Any) -> None:
            new = event.new or {}
            meta, ready = new.get("metadata", {}), summaries(new)
            if meta.get("namespace") == VICTIM and meta["name"] in began and READY in ready:
                took.append(loop.time() - began.pop(meta["name"]))

        small.store.revisions.subscribe("greetings.sample.seamark.dev", changed)
        async with small.operating(sample(MemoryBoard())) as operator:
            while operator.missing():
                await asyncio.sleep(0.001)
            for number in range(50):
                began[f"v{number}"] = loop.time()
                small.store.create({**manifest, "metadata": {"name": f"v{number}", "namespace": VICTIM}})
                await asyncio.sleep(0.01)
            deadline = loop.time() + 60
            while began and loop.time() < deadline:
                await asyncio.sleep(0.01)

    world(test, GREETING)
    assert len(took) == 50
    return sorted(took)[-1]


def test_ten_thousand_objects_of_one_tenant_at_most_double_what_others_wait() -> None:
    quiet, beside = seconds_until_ready(0), seconds_until_ready(MANY)
    assert beside <= 2 * quiet, f"{beside:.4f} s beside {MANY}, {quiet:.4f} s alone"


def test_an_object_that_makes_a_worker_fail_each_time_is_tried_ever_less_and_its_owner_alone_is_told() -> None:
    passes = 0
    good = sample(MemoryBoard())

    def judge(seen: Any, answers: Any) -> Any:
        nonlocal passes
        if seen.greeting.spec.text == "poison":
            passes += 1
            raise RuntimeError(f"a bug that shows {CANARY}")
        return good.judge(seen, answers)

    async def test(small: SmallWorld) -> None:
        async with small.operating(replace(good, judge=judge)):
            await small.greet("bad", text="poison")
            await asyncio.sleep(3600)
            await small.greet("good")
            await asyncio.sleep(5)
            assert await small.condition("good") == "True Ready"
        events = small.store.objects("events")
        assert {one["involvedObject"]["name"] for one in events if one["reason"] == "InternalError"} == {"bad"}
        assert CANARY not in json.dumps(small.store.objects("greetings.sample.seamark.dev") + events)

    world(test, GREETING)
    assert passes < 100, "an hour of failures costs next to nothing"


# ---- fields of a megabyte


def bounded(scene: Scene, kind: type[Object], name: str) -> None:
    """All reports about it are short."""
    for one in (scene.get(kind, name, ATTACKER).get("status") or {}).get("conditions") or ():
        assert len(one["message"]) <= LONGEST_MESSAGE, len(one["message"])
    for event in scene.store.objects("events"):
        assert len(event["message"]) <= 1024


def big(scene: Scene, kind: type[Object], name: str, spec: Json) -> bool:
    """Whether the API server takes it."""
    try:
        scene.make(kind, name, spec, ATTACKER)
    except ApiError:
        return False
    return True


def test_records_of_a_megabyte() -> None:
    scene = Scene(store_with(DNS_ENDPOINT, more=TENANTS))
    declared = dns(
        Options(Rules(zones=(ZONE,), owner="me"), Intervals(spacing=0.02, poll=1.0)), AnsweringMemory((ZONE,))
    )

    async def play(operator: Operator) -> None:
        record = {"dnsName": f"a.{ZONE}", "recordType": "TXT", "targets": ["x"]}
        wrong: list[Json] = [{"dnsName": MEGABYTE}, {"targets": [MEGABYTE]}, {"recordType": MEGABYTE}]
        for number, bad in enumerate(wrong):
            big(scene, DNSEndpoint, f"bad-{number}", {"endpoints": [{**record, **bad}]})
        good = {"endpoints": [{"dnsName": f"good.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"]}]}
        scene.make(DNSEndpoint, "good", good, VICTIM)
        await until(lambda: status_of(scene, DNSEndpoint, "good", "Ready", VICTIM) == "True", "the other is served")
        await until(lambda: operator.quiet, "nothing is left to do")
        for number in range(3):
            bounded(scene, DNSEndpoint, f"bad-{number}")

    story(scene, declared, play)


def test_endpoints_and_workloads_of_a_megabyte() -> None:
    scene = Scene(store_with(*LOADBALANCER, *SCORE, more=TENANTS))
    declared = (*loadbalancer(LoadBalancerOptions(timing=TIMING), memory_edge(reachable=True)), *without_runtime())

    async def play(operator: Operator) -> None:
        endpoint = {"url": "tcp://a.internal:1", "upstream": {"url": "tcp://web:80"}}
        wrong: list[Json] = [{"url": f"tcp://{MEGABYTE}"}, {"upstream": {"url": f"tcp://{MEGABYTE}:80"}}]
        for number, bad in enumerate(wrong):
            big(scene, AgentEndpoint, f"bad-{number}", {**endpoint, **bad})
        main = {"image": "nginx", "variables": {"BIG": MEGABYTE, "REF": "${resources." + MEGABYTE[:1000] + "}"}}
        big(scene, Workload, "bad", {"containers": {"main": main}})
        scene.make(Workload, "good", {"containers": {"main": {"image": "nginx"}}}, VICTIM)
        await until(lambda: status_of(scene, Workload, "good", "InputsValid", VICTIM) == "True", "the other is planned")
        await until(lambda: operator.quiet, "nothing is left to do")
        bounded(scene, Workload, "bad")
        for number in range(2):
            bounded(scene, AgentEndpoint, f"bad-{number}")

    story(scene, declared, play)


# ---- what belongs to another tenant


def test_a_name_of_somebody_else_is_refused_without_a_word_about_them() -> None:
    scene = Scene(store_with(DNS_ENDPOINT, more=TENANTS))
    provider = AnsweringMemory((ZONE,))
    declared = dns(Options(Rules(zones=(ZONE,), owner="me"), Intervals(spacing=0.02, poll=1.0)), provider)

    async def play(_operator: Operator) -> None:
        spec = {"endpoints": [{"dnsName": f"www.{ZONE}", "recordType": "A", "targets": ["192.0.2.1"]}]}
        scene.make(DNSEndpoint, "private-name", spec, VICTIM)
        await until(lambda: status_of(scene, DNSEndpoint, "private-name", "Ready", VICTIM) == "True", "it is served")
        stolen = {"endpoints": [{"dnsName": f"WWW.{ZONE}.", "recordType": "A", "targets": ["203.0.113.6"]}]}
        scene.make(DNSEndpoint, "thief", stolen, ATTACKER)
        await until(lambda: status_of(scene, DNSEndpoint, "thief", "Accepted", ATTACKER) == "False", "it is refused")
        words = json.dumps(scene.get(DNSEndpoint, "thief", ATTACKER)["status"])
        assert VICTIM not in words
        assert "private-name" not in words
        assert status_of(scene, DNSEndpoint, "private-name", "Ready", VICTIM) == "True"

    story(scene, declared, play)


def balanced(url: str = "", forged: str = "") -> Json:
    notes = {"k8s.ngrok.com/url": url} | ({"k8s.ngrok.com/computed-url": forged} if forged else {})
    return {key: value for key, value in notes.items() if value}


def test_a_host_of_somebody_else_is_not_had_by_a_forged_annotation() -> None:
    scene, host = Scene(store_with(*LOADBALANCER, more=TENANTS)), "tls://shop.example.com"

    def serve(namespace: str, annotations: Json) -> None:
        spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 443}]}
        metadata = {"name": "web", "namespace": namespace, "annotations": annotations}
        scene.store.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})

    def urls(namespace: str) -> set[str]:
        found = scene.store.objects("agentendpoints.ngrok.k8s.ngrok.com")
        return {one["spec"]["url"] for one in found if one["metadata"]["namespace"] == namespace}

    async def play(operator: Operator) -> None:
        serve(ATTACKER, balanced())  # older than the victim's
        await until(lambda: operator.quiet and urls(ATTACKER), "it has a place of its own")
        await asyncio.sleep(1.1)  # ages have whole seconds
        serve(VICTIM, balanced(host))
        await until(lambda: urls(VICTIM) == {f"{host}:443"}, "the victim has its place")
        await until(lambda: operator.quiet, "nothing is left to do")
        path = Service.RESOURCE.path(ATTACKER, "web")
        scene.edit(path, {"metadata": {"annotations": balanced(host, f"{host}:443")}})
        told = "k8s.ngrok.com/Accepted"
        await until(lambda: status_of(scene, Service, "web", told, ATTACKER) == "False", "it is reported")
        await until(lambda: operator.quiet, "nothing is left to do")
        assert urls(VICTIM) == {f"{host}:443"}
        assert f"{host}:443" not in urls(ATTACKER)
        assert VICTIM not in json.dumps(scene.get(Service, "web", ATTACKER)["status"])

    story(scene, loadbalancer(LoadBalancerOptions(timing=TIMING), memory_edge(reachable=True)), play)


def test_an_older_endpoint_at_an_address_that_is_reserved_for_a_service_later_is_refused() -> None:
    """Places rules 3, 6 and 11: a squatter, which has named the addresses of the edge before anybody had them."""
    scene = Scene(store_with(*LOADBALANCER, more=TENANTS))
    owner = Owner("cluster", VICTIM, "web", "uid")

    def created(name: str) -> Json:
        return scene.condition(AgentEndpoint, name, "EndpointCreated", ATTACKER)

    async def play(operator: Operator) -> None:
        addr = (await memory_edge(reachable=True).reserve_address(owner)).addr  # the first that such an edge gives
        spec = {"url": f"tcp://{addr}", "upstream": {"url": "tcp://web:80"}}
        scene.make(AgentEndpoint, "squatter", spec, ATTACKER)
        await until(lambda: created("squatter").get("reason") == "Pending", "no other tenant is there yet")
        await asyncio.sleep(1.1)  # ages have whole seconds
        balancer = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": [{"port": 80}]}
        scene.make(Service, "web", balancer, VICTIM)
        await until(lambda: created("squatter").get("reason") == "Taken", "the squatter is refused")
        await until(lambda: operator.quiet, "nothing is left to do")
        endpoints = scene.store.objects("agentendpoints.ngrok.k8s.ngrok.com")
        (made,) = [one for one in endpoints if one["metadata"]["namespace"] == VICTIM]
        assert made["spec"]["url"] == spec["url"]
        assert "Taken" not in json.dumps(made.get("status"))
        assert VICTIM not in json.dumps(scene.get(AgentEndpoint, "squatter", ATTACKER)["status"])
        scene.delete(Service, "web", VICTIM)
        await until(lambda: created("squatter").get("reason") == "Pending", "the address is free again")

    story(scene, loadbalancer(LoadBalancerOptions(timing=replace(TIMING, hold=1.0)), memory_edge(reachable=True)), play)


@pytest.mark.parametrize(
    "url", ["tcp://169.254.169.254:80", "http://[fe80::1]", "http://[::ffff:169.254.169.254]:80", "tcp://0.0.0.0:1"]
)
def test_an_upstream_at_the_metadata_address_is_refused_and_told(url: str) -> None:
    scene = Scene(store_with(*LOADBALANCER, more=TENANTS))

    async def play(_operator: Operator) -> None:
        scene.make(AgentEndpoint, "ssrf", {"url": "tcp://a.internal:1", "upstream": {"url": url}}, ATTACKER)
        await until(lambda: status_of(scene, AgentEndpoint, "ssrf", "Ready", ATTACKER) == "False", "it is told")
        assert scene.condition(AgentEndpoint, "ssrf", "EndpointCreated", ATTACKER)["reason"] == "ConfigurationError"

    story(scene, loadbalancer(LoadBalancerOptions(timing=TIMING), memory_edge(reachable=True)), play)


# ---- a canary


def test_what_is_in_a_secret_shows_nowhere() -> None:
    """In no status, event, log line or metric, not in what is explained, and in no object that could be listed."""
    scene = Scene(store_with(*GATEWAY_KINDS, *SCORE_KINDS, *LOADBALANCER, more=TENANTS))
    scene.make(GatewayClass, "kgateway", {"controllerName": "kgateway.dev/kgateway"})
    lines = io.StringIO()
    text = dict.fromkeys(("tls.crt", "tls.key", "ca.crt", "word"), CANARY)
    for name in ("words", "certificate"):
        metadata = {"name": name, "namespace": ATTACKER}
        scene.store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": text})
    assert CANARY not in json.dumps(scene.get(Secret, "words", ATTACKER)), "it is in base64"

    async def play(operator: Operator) -> None:
        tls = {"certificateRefs": [{"name": "certificate"}]}
        listeners = [{"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}]
        scene.make(Gateway, "certificate", {"gatewayClassName": "kgateway", "listeners": listeners}, ATTACKER)
        variables = {"WORD": "${resources.keys.word}", "BAD": "${resources.keys.nothing}"}
        main = {"image": "nginx", "variables": variables}
        resources = {"keys": {"type": "secret", "params": {"name": "words"}}}
        scene.make(Workload, "app", {"containers": {"main": main}, "resources": resources}, ATTACKER)
        termination = {"serverCertificateRef": {"name": "certificate"}}
        upstream = {"url": f"tcp://user:{CANARY}@web:80"}
        endpoint = {"url": "tls://a.example.com", "upstream": upstream, "tlsTermination": termination}
        scene.make(AgentEndpoint, "tls", endpoint, ATTACKER)
        await until(lambda: listener(scene, "certificate").get("status") == "False", "the certificate is refused")
        await until(lambda: status_of(scene, Workload, "app", "InputsValid", ATTACKER) != "", "it is looked at")
        await asyncio.sleep(1.5)
        await until(lambda: operator.quiet, "nothing is left to do")
        assert CANARY not in generate_latest(operator.metrics.registry).decode()
        reader = Reader(EmbeddedTransport(scene.store))
        for kind, name in ((Workload, "app"), (Gateway, "certificate")):
            hop = await explained(reader, kind.RESOURCE, Key(ATTACKER, name), meanings())
            assert CANARY not in json.dumps(plain(hop)), "which is what the console shows, too"

    log.configure("debug", out=lines)
    declared = (
        *gateway(GatewayOptions(), MemoryDataPlane(listens=True)),
        *(
            *without_runtime(),
            *runtime_controllers(ScoreOptions(), Resolver()),
            *loadbalancer(LoadBalancerOptions(timing=TIMING), memory_edge(reachable=True)),
        ),
    )
    story(scene, declared, play)
    assert CANARY not in lines.getvalue()
    for resource in scene.store.revisions.resources():
        for one in scene.store.objects(resource):
            shown = {**one, "spec": None} if one["kind"] == "AgentEndpoint" else one  # its owner wrote it there
            assert CANARY not in json.dumps(shown) or one["kind"] == "Secret", f"{one['kind']} shows it"
