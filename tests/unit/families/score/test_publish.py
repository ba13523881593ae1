"""What the Kubernetes runtime says of what runs and of the ways to it (docs/spec/score/runtime.md, rules 5 to 13)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.apps import Deployment
from seamark.api.core import Pod, Service
from seamark.api.dns import DNSEndpoint
from seamark.api.gateway import Gateway, HTTPRoute
from seamark.api.meta import Key
from seamark.api.networking import Ingress
from seamark.api.score import WorkloadExposure, WorkloadExposureStatus, WorkloadPlan
from seamark.core.apply import Answers
from seamark.core.calls import Failed, Results
from seamark.families.score.runtime.names import lookup
from seamark.families.score.runtime.publish import desire, judge
from seamark.families.score.runtime.render import render
from seamark.families.score.runtime.state import GENERATION, Lookup, Published, Rendered

NOTHING = Answers({}, {})
LOCAL = "http://app.default.svc.cluster.local:80"
ROUTES = [{"key": "r", "host": "a.example.com", "path": "/", "port": "80"}]
COMPLETE = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
ROLLING = {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}


def wire(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def plan(**values: Any) -> WorkloadPlan:
    resolved = {
        "kind": "Deployment",
        "containers": {"main": {"image": "nginx"}},
        "ports": [{"name": "web", "port": 80}],
    }
    spec = {
        "workloadRef": {"name": "app", "uid": "u"},
        "observedWorkloadGeneration": 1,
        "runtimeClass": "kubernetes",
        "resolvedValues": {**resolved, **values},
    }
    metadata = {"name": "app", "namespace": "default", "uid": "plan"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, WorkloadPlan)


def exposure(*urls: str) -> WorkloadExposure:
    raw: dict[str, Any] = {
        "metadata": {"name": "app", "namespace": "default", "generation": 1},
        "spec": {"workloadRef": {"name": "app"}, "observedWorkloadGeneration": 1, "runtimeClass": "kubernetes"},
    }
    if urls:
        raw["status"] = {"exposures": [{"url": url, "reachable": True} for url in urls]}
    return msgspec.convert(raw, WorkloadExposure)


def rollout(available: int = 1, generation: str = "1", *conditions: Any) -> Deployment:
    status = {"observedGeneration": 3, "availableReplicas": available, "conditions": list(conditions) or [COMPLETE]}
    metadata = {"name": "app", "generation": 3, "annotations": {GENERATION: generation}}
    return msgspec.convert({"metadata": metadata, "spec": {"replicas": 1}, "status": status}, Deployment)


def seen(**more: Any) -> Published:
    service = render(plan())["service"]
    assert isinstance(service, Service)
    said: dict[str, Any] = {
        "exposure": exposure(),
        "plan": plan(),
        "rendered": Rendered(1),
        "rollout": rollout(),
        "service": service,
    }
    return Published(**{**said, **more})


def said(status: WorkloadExposureStatus) -> dict[str, str]:
    return {condition.type: f"{condition.status} {condition.reason}" for condition in status.conditions}


def urls(status: WorkloadExposureStatus) -> list[str]:
    return [one.url for one in status.exposures or ()]


def test_what_runs_is_published_with_its_generation() -> None:
    status = judge(seen(), NOTHING)
    assert wire(status.exposures) == [{"url": LOCAL, "scope": "ClusterLocal", "schemeHint": "HTTP"}]
    assert status.observed_workload_generation == 1
    assert said(status) == {
        "Ready": "True Running",
        "Available": "True Running",
        "Provisioning": "False RolledOut",
        "Degraded": "False AsItShould",
        "LBPending": "False Addressed",
        "IngressPending": "False Served",
        "DNSNotReady": "False Answered",
    }


def failure(message: str) -> dict[str, str]:
    return {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}


@pytest.mark.parametrize(
    ("more", "expected"),
    {
        "not rendered": (
            {"rollout": None},
            {"Provisioning": "True RollingOut", "Available": "Unknown Provisioning", "Ready": "Unknown Provisioning"},
        ),
        "of an older generation": ({"rollout": rollout(1, "0")}, {"Provisioning": "True RollingOut"}),
        "rolling out": ({"rollout": rollout(0, "1", ROLLING)}, {"Provisioning": "True RollingOut"}),
        "its pod died": (
            {"rollout": rollout(0)},
            {"Degraded": "True ReplicasMissing", "Available": "False Degraded", "Ready": "False Degraded"},
        ),
        "refused": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": "no such thing"})},
            {"Degraded": "True Refused", "Available": "False Refused"},
        ),
        "somebody else has its Service": (
            {"service": None, "rendered": Rendered(1, {"service": "it is not managed by Seamark"})},
            {"Degraded": "True Refused", "Available": "True Running"},
        ),
        "a quota": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": 'forbidden: exceeded quota: "q"'})},
            {"Available": "False QuotaExceeded"},
        ),
        "a quota of pods": (
            {"rollout": rollout(0, "1", COMPLETE, failure("pods is forbidden: exceeded quota"))},
            {"Available": "False QuotaExceeded"},
        ),
        "a right": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": 'forbidden: User "x" cannot create'})},
            {"Available": "False PermissionDenied"},
        ),
        "a policy": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": "ValidatingAdmissionPolicy 'x' denied request"})},
            {"Available": "False PolicyViolation"},
        ),
        "what was refused for an older generation is over": (
            {"rendered": Rendered(0, {"rollout": "no"})},
            {"Degraded": "False AsItShould"},
        ),
    }.values(),
)
def test_what_does_not_run_is_told(more: dict[str, Any], expected: dict[str, str]) -> None:
    found = said(judge(seen(**more), NOTHING))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"waiting": {"reason": "ImagePullBackOff"}}, "main: its image can't be pulled"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, "main: it ends again and again"),
        (
            {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}},
            'main: it can\'t be configured (secret "x" not found)',
        ),
        ({"running": {}}, "0 of 1 replicas are available"),
    ],
)
def test_why_replicas_are_missing_is_told_in_the_words_of_their_pods(state: dict[str, Any], words: str) -> None:
    pod = msgspec.convert({"status": {"containerStatuses": [{"name": "main", "state": state}]}}, Pod)
    (_, available, *_) = judge(seen(rollout=rollout(0), pods=(pod,)), NOTHING).conditions
    assert available.message.endswith(words)


def test_a_pod_that_no_node_takes_is_told() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod = msgspec.convert({"status": {"conditions": [condition]}}, Pod)
    (_, available, *_) = judge(seen(rollout=rollout(0), pods=(pod,)), NOTHING).conditions
    assert available.message == "0 of 1 replicas are available: no node takes its pod"


# ---- probes


def results(asked: Published, outcome: Any, expires: float = 9.0) -> Results:
    """The same outcome for every probe; names have an answer."""
    calls = desire(asked).calls
    answers = {
        call.target: Results.answer(call, True if isinstance(call.action, Lookup) else outcome, expires)
        for call in calls
    }
    return Results(answers, now=1.0)


def test_an_endpoint_is_reachable_by_probe_alone() -> None:
    asked = seen(probes=True, inside=True)
    assert len(desire(asked).calls) == 1
    assert desire(seen()).calls == ()
    assert desire(seen(probes=True)).calls == ()  # from outside, a cluster-local endpoint can't be tried

    def reachable(outcome: Any, expires: float = 9.0) -> bool | None:
        found = results(asked, outcome, expires)
        (entry,) = judge(seen(probes=True, inside=True, results=found), NOTHING).exposures or ()
        return entry.reachable

    assert reachable(True) is True
    assert reachable(Failed("refused")) is False
    assert reachable(True, expires=0.0) is None
    dead = seen(probes=True, inside=True, results=results(asked, Failed("refused")))
    assert said(judge(dead, NOTHING))["Degraded"] == "True Unreachable"


def test_an_endpoint_is_tried_anew_when_other_replicas_run() -> None:
    (before,) = desire(seen(probes=True, inside=True)).calls
    (after,) = desire(seen(probes=True, inside=True, rollout=rollout(0))).calls
    assert before.action != after.action
    assert before.target == after.target


def test_after_a_restart_what_was_found_out_stands_until_the_first_attempt_has_ended() -> None:
    (entry,) = judge(seen(exposure=exposure(LOCAL), probes=True, inside=True), NOTHING).exposures or ()
    assert entry.reachable is True


# ---- routes


def condition(type_: str, status: str = "True", **more: Any) -> dict[str, Any]:
    time = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": status, "reason": "A", "message": "", "lastTransitionTime": time, **more}


def route(*conditions: dict[str, Any], section: str | None = None) -> HTTPRoute:
    wanted = render(plan(routes=ROUTES))["route r"]
    raw = wire(wanted)
    ref = {"name": "default", **({"sectionName": section} if section else {})}
    raw["metadata"]["generation"] = 2
    raw["status"] = {"parents": [{"parentRef": ref, "controllerName": "c", "conditions": list(conditions)}]}
    return msgspec.convert(raw, HTTPRoute)


def gateway(*listeners: dict[str, Any], programmed: str = "True", **status: Any) -> dict[Key, Gateway]:
    spec = {"listeners": list(listeners) or [{"name": "web", "port": 80, "protocol": "HTTP"}]}
    raw = {
        "metadata": {"name": "default", "namespace": "default", "generation": 4},
        "spec": spec,
        "status": {"conditions": [condition("Programmed", programmed, observedGeneration=4)], **status},
    }
    return {Key("default", "default"): msgspec.convert(raw, Gateway)}


ACCEPTED = condition("Accepted", observedGeneration=2)


def routed(route: HTTPRoute, gateways: dict[Key, Gateway], **more: Any) -> Published:
    return seen(plan=plan(routes=ROUTES), routes=(route,), gateways=gateways, **more)


def test_a_route_that_its_gateway_serves_is_published_before_the_service() -> None:
    status = judge(routed(route(ACCEPTED), gateway()), NOTHING)
    assert wire(status.exposures)[0] == {
        "url": "http://a.example.com",
        "priority": 100,
        "scope": "Public",
        "schemeHint": "HTTP",
    }
    assert urls(status) == ["http://a.example.com", LOCAL]
    assert said(status)["IngressPending"] == "False Served"


@pytest.mark.parametrize(
    ("one", "gateways"),
    {
        "accepted for an older generation": (route(condition("Accepted", observedGeneration=1)), gateway()),
        "not accepted": (route(condition("Accepted", "False", observedGeneration=2)), gateway()),
        "its backend was not found": (route(ACCEPTED, condition("ResolvedRefs", "False")), gateway()),
        "nobody has looked at it": (route(), gateway()),
        "the Gateway is not programmed": (route(ACCEPTED), gateway(programmed="False")),
        "there is no such Gateway": (route(ACCEPTED), {}),
    }.values(),
)
def test_a_route_that_is_not_served_is_pending_and_not_published(one: HTTPRoute, gateways: Any) -> None:
    status = judge(routed(one, gateways), NOTHING)
    assert urls(status) == [LOCAL]
    assert said(status)["IngressPending"] == "True RouteNotServed"


def test_a_route_that_could_not_be_made_is_told_and_the_workload_runs() -> None:
    refused = Rendered(1, {"route r": "the server could not find the requested resource"})
    status = judge(seen(plan=plan(routes=ROUTES), rendered=refused), NOTHING)
    assert said(status)["IngressPending"] == "True Refused"
    assert said(status)["Degraded"] == "False AsItShould"


def test_the_listener_tells_scheme_and_port_and_the_secure_one_comes_first() -> None:
    listeners = (
        {"name": "web", "port": 8080, "protocol": "HTTP"},
        {"name": "tls", "port": 443, "protocol": "HTTPS", "hostname": "*.example.com"},
        {"name": "other", "port": 443, "protocol": "HTTPS", "hostname": "other.example.org"},
        {"name": "raw", "port": 9, "protocol": "TCP"},
    )
    status = judge(routed(route(ACCEPTED), gateway(*listeners)), NOTHING)
    assert urls(status) == ["https://a.example.com", "http://a.example.com:8080", LOCAL]
    one = judge(routed(route(ACCEPTED, section="web"), gateway(*listeners)), NOTHING)
    assert urls(one) == ["http://a.example.com:8080", LOCAL]
    down: dict[str, Any] = {"listeners": [{"name": "tls", "conditions": [condition("Programmed", "False")]}]}
    without = judge(routed(route(ACCEPTED), gateway(*listeners, **down)), NOTHING)
    assert urls(without) == ["http://a.example.com:8080", LOCAL]


def front(*ports: int, outside: tuple[int, ...] = ()) -> dict[Key, tuple[Service, ...]]:
    """The Service before the Gateway, which is reached at other ports than its own."""
    told = [{"port": port, "protocol": "TCP"} for port in outside]
    raw = {
        "metadata": {"name": "gw", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": port} for port in ports]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", **({"ports": told} if told else {})}]}},
    }
    return {Key("default", "default"): (msgspec.convert(raw, Service),)}


def test_the_load_balancer_before_the_gateway_tells_at_which_port_a_route_is_reached() -> None:
    one, listener = route(ACCEPTED), {"name": "web", "port": 8080, "protocol": "HTTP"}
    for fronts, url in (
        (front(9, 8080, outside=(20001, 20002)), "http://a.example.com:20002"),
        (front(8080), "http://a.example.com:8080"),
        ({}, "http://a.example.com:8080"),
    ):
        assert urls(judge(routed(one, gateway(listener), fronts=fronts), NOTHING))[0] == url


# ---- DNS


def with_answer(asked: Published, outcome: Any) -> Results:
    call = lookup(asked, "a.example.com")
    return Results({call.target: Results.answer(call, outcome, 9.0)}, now=1.0)


def test_a_route_is_published_when_dns_answers_and_not_before() -> None:
    asked = routed(route(ACCEPTED), gateway(), resolves=True)
    assert [call.action for call in desire(asked).calls] == [Lookup("a.example.com")]
    assert urls(judge(asked, NOTHING)) == [LOCAL]
    assert said(judge(asked, NOTHING))["DNSNotReady"] == "Unknown NotAskedYet"
    assert said(judge(asked, NOTHING))["Ready"] == "Unknown DNSNotReady"
    failed = Failed("a.example.com has no address in DNS")
    lost = routed(route(ACCEPTED), gateway(), resolves=True, results=with_answer(asked, failed))
    assert urls(judge(lost, NOTHING)) == [LOCAL]
    assert said(judge(lost, NOTHING))["DNSNotReady"] == "True NoAnswer"
    found = routed(route(ACCEPTED), gateway(), resolves=True, results=with_answer(asked, True))
    assert urls(judge(found, NOTHING)) == ["http://a.example.com", LOCAL]
    assert said(judge(found, NOTHING))["DNSNotReady"] == "False Answered"


def test_a_name_that_is_lost_after_it_was_published_is_not_reachable_and_not_taken_back() -> None:
    standing = exposure("http://a.example.com", LOCAL)
    asked = routed(route(ACCEPTED), gateway(), resolves=True, exposure=standing)
    again = judge(asked, NOTHING)  # after a restart, before the first answer
    assert urls(again) == ["http://a.example.com", LOCAL]
    assert said(again)["DNSNotReady"] == "False Answered"
    failed = with_answer(asked, Failed("gone"))
    lost = judge(routed(route(ACCEPTED), gateway(), resolves=True, exposure=standing, results=failed), NOTHING)
    assert next((one.url, one.reachable) for one in lost.exposures or ()) == ("http://a.example.com", False)
    assert said(lost)["DNSNotReady"] == "True NoAnswer"
    assert said(lost)["Degraded"] == "False AsItShould"


def record(*conditions: dict[str, Any], generation: int = 1) -> DNSEndpoint:
    raw = {
        "metadata": {"name": "names", "generation": generation},
        "spec": {"endpoints": [{"dnsName": "a.example.com.", "recordType": "A", "targets": ["192.0.2.1"]}]},
        "status": {"observedGeneration": 1, "conditions": list(conditions)},
    }
    return msgspec.convert(raw, DNSEndpoint)


@pytest.mark.parametrize(
    ("one", "expected", "words"),
    [
        (record(condition("Ready")), "False Answered", ""),
        (record(condition("Ready", "False")), "True RecordNotReady", "a.example.com: DNSEndpoint names: A"),
        (record(generation=2), "True RecordNotReady", "a.example.com: DNSEndpoint names was not looked at yet"),
    ],
)
def test_where_nothing_is_looked_up_the_dnsendpoint_tells(one: DNSEndpoint, expected: str, words: str) -> None:
    status = judge(routed(route(ACCEPTED), gateway(), records=(one,)), NOTHING)
    assert said(status)["DNSNotReady"] == expected
    assert urls(status) == (["http://a.example.com", LOCAL] if not words else [LOCAL])
    assert status.conditions[-1].message.startswith(words)


def test_a_refused_record_of_the_own_namespace_counts_whatever_answers_to_the_name() -> None:
    refused = record(condition("Ready", "False", message="REFUSED"))
    for namespace, expected in (("default", "True NoAnswer"), ("elsewhere", "False Answered")):
        own = msgspec.structs.replace(refused, metadata=msgspec.structs.replace(refused.metadata, namespace=namespace))
        asked = routed(route(ACCEPTED), gateway(), resolves=True, records=(own,))
        answered = with_answer(asked, True)
        status = judge(routed(route(ACCEPTED), gateway(), resolves=True, records=(own,), results=answered), NOTHING)
        assert said(status)["DNSNotReady"] == expected


def test_a_name_is_looked_up_anew_when_its_record_says_something_else() -> None:
    asked = [lookup(routed(route(ACCEPTED), gateway(), records=one), "a.example.com") for one in ((), (record(),))]
    assert asked[0].target == asked[1].target
    bad = lookup(routed(route(ACCEPTED), gateway(), records=(record(condition("Ready", "False")),)), "a.example.com")
    assert bad.action != asked[0].action


# ---- load balancers and Ingresses


def balancer(*ingress: dict[str, str]) -> Service:
    raw = {
        "metadata": {"name": "public", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"name": "web", "port": 8080}]},
        "status": {"loadBalancer": {"ingress": list(ingress)}},
    }
    return msgspec.convert(raw, Service)


@pytest.mark.parametrize(
    ("address", "url", "scope"),
    [
        ({"ip": "8.8.8.8"}, "http://8.8.8.8:8080", "Public"),
        ({"ip": "10.1.2.3"}, "http://10.1.2.3:8080", "VPC"),
        ({"ip": "2606:4700::1"}, "http://[2606:4700::1]:8080", "Public"),
        ({"hostname": "lb.example.net"}, "http://lb.example.net:8080", "Public"),
    ],
)
def test_a_load_balancer_is_published_with_its_address(address: dict[str, str], url: str, scope: str) -> None:
    status = judge(seen(services=(balancer(address),)), NOTHING)
    assert wire(status.exposures)[0] == {"url": url, "priority": 50, "scope": scope, "schemeHint": "HTTP"}
    assert said(status)["LBPending"] == "False Addressed"


def test_a_load_balancer_without_an_address_is_pending() -> None:
    status = judge(seen(services=(balancer(),)), NOTHING)
    assert urls(status) == [LOCAL]
    assert said(status)["LBPending"] == "True NoAddress"
    assert said(status)["Ready"] == "False LBPending"


def ingress(*addresses: dict[str, str], host: str = "b.example.com", tls: bool = False) -> Ingress:
    path = {"path": "/api", "backend": {"service": {"name": "app"}}}
    other = {"path": "/", "backend": {"service": {"name": "other"}}}
    raw = {
        "metadata": {"name": "front", "namespace": "default"},
        "spec": {
            "rules": [{"host": host, "http": {"paths": [other, path]}}],
            **({"tls": [{"hosts": [host]}]} if tls else {}),
        },
        "status": {"loadBalancer": {"ingress": list(addresses)}},
    }
    return msgspec.convert(raw, Ingress)


@pytest.mark.parametrize(
    ("one", "url"),
    [
        (ingress({"ip": "8.8.8.8"}), "http://b.example.com/api"),
        (ingress({"ip": "8.8.8.8"}, tls=True), "https://b.example.com/api"),
        (ingress({"ip": "8.8.8.8"}, host=""), "http://8.8.8.8/api"),
    ],
)
def test_an_ingress_that_has_an_address_is_published(one: Ingress, url: str) -> None:
    status = judge(seen(ingresses=(one,)), NOTHING)
    assert urls(status) == [url, LOCAL]
    assert said(status)["IngressPending"] == "False Served"


def test_an_ingress_without_an_address_is_pending() -> None:
    status = judge(seen(ingresses=(ingress(),)), NOTHING)
    assert urls(status) == [LOCAL]
    assert said(status)["IngressPending"] == "True IngressNotServed"
