"""No other writer can change our status fields, not even with the right to write them: ValidatingAdmissionPolicies.

They are generated from the declarations (`seamark policies`), and tried on a real API server.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from seamark.api.dns import DNSEndpoint
from seamark.api.sample import Greeting
from seamark.cli.families import FAMILIES
from seamark.cli.policies import status_policies
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.sample.family import GREETING
from seamark.gatewayapi.bundle import definitions
from seamark_cluster.real.plane import ControlPlane, Options, User
from seamark_runtime.api.core import Service
from seamark_runtime.api.gateway import HTTPRoute
from seamark_runtime.api.meta import Object
from tests.cluster.requests import eventually, install, request

OURS, STRANGER = "system:serviceaccount:seamark-system:seamark", "stranger"
MERGE = "application/merge-patch+json"
NOW = "2026-01-01T00:00:00Z"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """One of its own: policies are for the whole cluster."""
    with ControlPlane(Options(users=(User(OURS), User(STRANGER)), controllers=False)) as plane:
        routes = [one for one in definitions() if one["spec"]["names"]["kind"] == "HTTPRoute"]
        plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(routes))
        for crd in (GREETING, DNS_ENDPOINT):
            install(plane, crd)
        documents = yaml.safe_dump_all(status_policies(tuple(FAMILIES.values()), "seamark-system"))
        plane.kubectl("create", "-f", "-", "--validate=strict", stdin=documents)
        rights = ["get", "patch", "update"]
        resources = [f"{kind.RESOURCE}/status" for kind in (Greeting, DNSEndpoint, Service, HTTPRoute)]
        role = ("create", "clusterrole", "speakers", f"--verb={','.join(rights)}")
        plane.kubectl(*role, *(f"--resource={one.replace('/status', '')}/status" for one in resources))
        plane.kubectl("create", "clusterrolebinding", "speakers", "--clusterrole=speakers", *_users())
        make(plane, Greeting, "probe", {"text": "x"})
        tries = itertools.count()

        def stands() -> bool:
            """Asked with other words each time: those that came through before it stood are nothing new any more."""
            said = {**condition("Ready"), "message": f"I say so {next(tries)}"}
            return bool(say(plane, STRANGER, Greeting, "probe", {"conditions": [said]}).code == 422)

        eventually(stands, "the fence stands")
        yield plane


def _users() -> list[str]:
    return [f"--user={name}" for name in (OURS, STRANGER)]


def make(plane: ControlPlane, kind: type[Object], name: str, spec: Json) -> None:
    body = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": {"name": name}}
    made = request(plane, "POST", kind.RESOURCE.path("default"), {**body, "spec": spec})
    assert made.code == 201, made.body


def say(plane: ControlPlane, user: str, kind: type[Object], name: str, status: Json) -> Any:
    path = kind.RESOURCE.path("default", name, "status")
    return request(plane, "PATCH", path, {"status": status}, user=user, content_type=MERGE)


def conditions(*kinds: str) -> Json:
    return {"conditions": [condition(kind) for kind in kinds]}


def condition(kind: str) -> Json:
    said = {"status": "True", "reason": "Mine", "message": "I say so", "lastTransitionTime": NOW}
    return {"type": kind, "observedGeneration": 1, **said}


def test_every_policy_compiles(plane: ControlPlane) -> None:
    """The server took them all; a type checker of its own would have warnings."""
    found = request(plane, "GET", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies").body["items"]
    assert len(found) >= 15
    for one in found:
        assert not (one.get("status", {}).get("typeChecking") or {}).get("expressionWarnings"), one


def test_a_stranger_with_the_right_to_write_a_status_can_not_change_our_words(plane: ControlPlane) -> None:
    make(plane, Greeting, "a", {"text": "x"})
    ours = conditions("Published", "Posted", "Ready")
    assert say(plane, OURS, Greeting, "a", ours).code == 200
    refused = say(plane, STRANGER, Greeting, "a", conditions("Published", "Ready"))
    assert refused.code == 422
    assert f"only {OURS} may change it" in refused.body["message"]
    unsaid = say(plane, STRANGER, Greeting, "a", {"conditions": None})
    assert unsaid.code == 422
    beside = {"conditions": [*ours["conditions"], condition("example.com/Theirs")]}
    assert say(plane, STRANGER, Greeting, "a", beside).code == 200, "words of their own are their business"


def test_fields_are_fenced_as_conditions_are(plane: ControlPlane) -> None:
    spec = {"endpoints": [{"dnsName": "a.example.test", "recordType": "A", "targets": ["192.0.2.1"]}]}
    make(plane, DNSEndpoint, "records", spec)
    rows = {"endpoints": [{"dnsName": "a.example.test", "recordType": "A", "status": "Programmed"}]}
    assert say(plane, STRANGER, DNSEndpoint, "records", rows).code == 422
    assert say(plane, OURS, DNSEndpoint, "records", rows).code in (200, 422)
    assert "may change it" not in str(say(plane, OURS, DNSEndpoint, "records", rows).body)


def test_only_services_of_our_class_are_fenced(plane: ControlPlane) -> None:
    address = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    for name, class_ in (("ours", "ngrok"), ("theirs", "example.com/other")):
        spec = {"type": "LoadBalancer", "loadBalancerClass": class_, "ports": [{"port": 80}]}
        make(plane, Service, name, spec)
    assert say(plane, STRANGER, Service, "ours", address).code == 422
    assert say(plane, OURS, Service, "ours", address).code == 200
    assert say(plane, STRANGER, Service, "theirs", address).code == 200


def test_of_a_list_that_several_controllers_share_our_entries_are_fenced(plane: ControlPlane) -> None:
    make(plane, HTTPRoute, "route", {"parentRefs": [{"name": "gateway"}]})

    def entry(controller: str) -> Json:
        return {"controllerName": controller, "parentRef": {"name": "gateway"}, **conditions("Accepted")}

    ours, theirs = entry("kgateway.dev/kgateway"), entry("example.com/other")
    assert say(plane, STRANGER, HTTPRoute, "route", {"parents": [ours]}).code == 422
    assert say(plane, STRANGER, HTTPRoute, "route", {"parents": [theirs]}).code == 200
    assert say(plane, OURS, HTTPRoute, "route", {"parents": [theirs, ours]}).code == 200
    assert say(plane, STRANGER, HTTPRoute, "route", {"parents": [theirs]}).code == 422
    changed = {**theirs, **conditions("Accepted", "ResolvedRefs")}
    assert say(plane, STRANGER, HTTPRoute, "route", {"parents": [changed, ours]}).code == 200
