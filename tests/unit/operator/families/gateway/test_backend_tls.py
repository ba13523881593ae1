"""BackendTLSPolicies whose targets are missing, or of a kind that none can target: their status and events show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import msgspec
import pytest

from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.families.gateway.backendtlspolicy.controller import observe_policy
from seamark.families.gateway.backendtlspolicy.reconcile import report_policy, report_targets
from seamark.families.gateway.model.policies import NO_PROBLEMS, TLSPolicyView
from seamark.families.gateway.model.routes import Backend
from seamark.families.gateway.policies.state import SeenPolicy
from seamark.families.gateway.policies.status import announce
from seamark.families.gateway.translation.tlspolicies import merge_tls_policies
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.source import Collection
from seamark_runtime.view import View
from tests.unit.operator.families.gateway.given import given

POLICY, WEB = Key("default", "tls"), Key("default", "web")
HTTPS, HTTP = Backend(WEB, 443, "https", "http1"), Backend(WEB, 80, "http", "http1")
NOTHING_APPLIED = Answers({}, {})


@dataclass
class Objects:
    """One policy and one Service, and what is known of policies."""

    policy: BackendTLSPolicy
    service: Service
    seen: TLSPolicyView | None = None

    def intent(self, kind: type[Any], key: Key) -> Any:
        return self.policy if kind is BackendTLSPolicy else self.service if key == WEB else None

    def entries(self, _collection: Any, key: Key) -> dict[Key, TLSPolicyView]:
        found = report_policy(self.seen, NOTHING_APPLIED) if self.seen is not None else {}
        return {POLICY: found[key]} if key in found else {}


def target(name: str = "web", kind: str = "Service", **more: str) -> dict[str, str]:
    return {"group": "", "kind": kind, "name": name, **more}


def targeting(*targets: dict[str, str]) -> Objects:
    spec = {
        "targetRefs": list(targets),
        "validation": {"hostname": "web.example", "wellKnownCACertificates": "System"},
    }
    policy = msgspec.convert({"metadata": {"name": "tls", "namespace": "default"}, "spec": spec}, BackendTLSPolicy)
    ports = [{"name": "http", "port": 80}, {"name": "https", "port": 443}]
    service = msgspec.convert({"metadata": {"name": "web", "namespace": "default"}, "spec": {"ports": ports}}, Service)
    objects = Objects(policy, service)
    objects.seen = observe_policy(cast("View", objects), POLICY, Results())
    return objects


def events(objects: Objects) -> list[tuple[str, str]]:
    assert objects.seen is not None
    targets = report_targets(objects.seen, NOTHING_APPLIED).get(POLICY, NO_PROBLEMS)
    return [(notice.reason, notice.message) for notice in announce(SeenPolicy("us", (), {}, targets), NOTHING_APPLIED)]


def accepted(objects: Objects, *backends: Backend) -> str:
    """The condition of the policy at a gateway with these backends; nothing without an entry."""
    policies = Collection[Key, TLSPolicyView]("policies")
    conditions = merge_tls_policies(cast("View", objects), given().gateway, backends, policies).conditions
    found = {condition.type: condition for condition in conditions.get(POLICY, ())}
    return f"{found['Accepted'].status} {found['Accepted'].reason}: {found['Accepted'].message}" if found else ""


def test_a_port_that_the_service_does_not_have_is_reported_by_an_event_and_at_the_gateway() -> None:
    objects = targeting(target(sectionName="htps"))
    assert events(objects) == [("TargetNotFound", "'htps' in Service default/web does not exist")]
    assert accepted(objects, HTTP, HTTPS) == "False TargetNotFound: Not found: 'htps' in Service default/web"


def test_a_gateway_without_a_backend_of_that_service_has_no_entry() -> None:
    assert accepted(targeting(target(sectionName="htps"))) == ""


def test_what_is_missing_beside_an_effective_target_is_in_the_message() -> None:
    objects = targeting(target(sectionName="https"), target(sectionName="htps"), target("gone"))
    missing = "'htps' in Service default/web, Service default/gone"
    assert accepted(objects, HTTPS) == f"True Accepted: Policy is accepted; not found: {missing}"
    assert [reason for reason, _ in events(objects)] == ["TargetNotFound", "TargetNotFound"]


def test_a_port_that_exists_and_that_no_route_uses_is_not_missing() -> None:
    objects = targeting(target(sectionName="https"))
    assert events(objects) == []
    assert accepted(objects, HTTP) == ""


@pytest.mark.parametrize(
    ("group", "kind"), [("", "Pod"), ("gateway.networking.k8s.io", "Gateway"), ("apps", "Service"), ("", "x\n" * 90)]
)
def test_a_kind_that_it_can_not_target_is_reported_by_an_event(group: str, kind: str) -> None:
    objects = targeting({**target(kind=kind), "group": group})
    [(reason, message)] = events(objects)
    assert reason == "Invalid"
    assert message.startswith("spec.targetRefs[0]: ")
    assert "use a Service" in message
    assert message.isprintable()
    assert len(message) < 300
    assert accepted(objects, HTTPS) == ""
