"""References with names that no object can have: refused by the name of the field, and never asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway.backendtlspolicy import controller as backendtls
from seamark.families.gateway.backendtlspolicy import reconcile as backendtls_reports
from seamark.families.gateway.certificates.references import read_granted_authorities
from seamark.families.gateway.gateway.certificates import GatewayCertificates
from seamark.families.gateway.model.policies import NO_PROBLEMS, PolicyTargets
from seamark.families.gateway.policies.state import SeenPolicy
from seamark.families.gateway.policies.status import announce
from seamark.families.gateway.trafficpolicy import controller as traffic
from seamark.families.gateway.trafficpolicy import reconcile as traffic_reports
from seamark.gatewayapi.listeners import declared_listeners
from seamark.gatewayapi.references import invalid_reference
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.grants import Referrer
from seamark_runtime.source import NotYet
from seamark_runtime.view import View

NAME = Key("default", "it")
NOTHING_APPLIED = Answers({}, {})
GROUP = "gateway.networking.k8s.io"
TRAVERSAL = "../../tenant-b/secrets/victim-tls"
WRONG = [TRAVERSAL, "..", ".", "", "a/b", "a%2fb", "a?b", "A", "a\0b", "a\nb", "x" * 254, "ü", "a b", "a.", "-a"]


@dataclass
class Objects:
    """A view of these objects alone; what is read by name is recorded."""

    objects: dict[type[Any], Any]
    asked: list[Key] = field(default_factory=list)

    def intent(self, kind: type[Any], _key: Key) -> Any:
        return self.objects.get(kind)

    def by(self, *_: Any) -> tuple[Any, ...]:
        return ()

    def single(self, _kind: type[Any], key: Key) -> Any:
        self.asked.append(key)
        return NotYet()


def policy(kind: type[Any], spec: Any) -> Objects:
    return Objects({kind: msgspec.convert({"metadata": {"name": "it", "namespace": "default"}, "spec": spec}, kind)})


@pytest.mark.parametrize("name", WRONG)
def test_the_field_is_named_and_the_name_is_shown_safely(name: str) -> None:
    message = invalid_reference("spec.refs[3]", name)
    assert message.startswith("spec.refs[3].name: ")
    assert message.isprintable()
    assert len(message) < 300


def test_a_namespace_is_checked_too() -> None:
    assert invalid_reference("spec.refs[0]", "web", "tenant-b/secrets").startswith("spec.refs[0].namespace: ")
    assert invalid_reference("spec.refs[0]", "web.example", "tenant-b") == ""


@pytest.mark.parametrize("name", WRONG)
def test_authorities_of_a_backend_tls_policy(name: str) -> None:
    ref = {"kind": "ConfigMap", "name": name}
    spec = {"targetRefs": [{"kind": "Service", "name": "web"}], "validation": {"caCertificateRefs": [ref]}}
    view = policy(BackendTLSPolicy, spec)
    seen = backendtls.observe_policy(cast("View", view), NAME, Results())
    assert seen is not None
    conditions = {one.type: (one.status, one.reason, one.message) for one in seen.conditions}
    assert conditions["ResolvedRefs"][:2] == ("False", "InvalidCACertificateRef")
    assert conditions["ResolvedRefs"][2].startswith("spec.validation.caCertificateRefs[0].name: ")
    assert conditions["Accepted"][:2] == ("False", "NoValidCACertificate")
    assert view.asked == []


def announced(entries: Mapping[Key, PolicyTargets]) -> Iterable[tuple[str, str]]:
    seen = SeenPolicy("us", (), {}, entries.get(NAME, NO_PROBLEMS))
    return [(notice.reason, notice.message) for notice in announce(seen, NOTHING_APPLIED)]


def test_a_target_of_a_backend_tls_policy_is_reported_by_an_event() -> None:
    targets = [{"kind": "Service", "name": TRAVERSAL}]
    view = policy(BackendTLSPolicy, {"targetRefs": targets, "validation": {"wellKnownCACertificates": "System"}})
    seen = backendtls.observe_policy(cast("View", view), NAME, Results())
    assert seen is not None
    assert seen.sections == ()
    [(reason, message)] = announced(backendtls_reports.report_targets(seen, NOTHING_APPLIED))
    assert (reason, message.partition(": ")[0]) == ("Invalid", "spec.targetRefs[0].name")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"targetRefs": [{"group": GROUP, "kind": "Gateway", "name": TRAVERSAL}]}, "targetRefs[0].name"),
        ({"targetRefs": [{"group": GROUP, "kind": "Secret\0" * 100, "name": "a"}]}, "targetRefs"),
        ({"targetRefs": "everything"}, "targetRefs"),
        ({"targetRefs": [{"kind": "Gateway", "name": "a", "nesting": {}}]}, "targetRefs[0].nesting"),
        ({"targetRefs": [{"group": GROUP, "kind": "Gateway", "name": "a"}] * 17}, "targetRefs"),
    ],
)
def test_a_traffic_policy_of_which_no_target_can_be_read_is_reported_by_an_event(spec: Any, field: str) -> None:
    view = policy(TrafficPolicy, spec)
    seen = traffic.observe_policy(cast("View", view), NAME, Results())
    assert seen is not None
    assert (seen.parts, seen.targets) == ((), ())
    [(reason, message)] = announced(traffic_reports.report_targets(seen, NOTHING_APPLIED))
    assert reason == "Invalid"
    assert field in message
    assert message.isprintable()
    assert len(message) < 300


def gateway(spec: Any) -> Gateway:
    tls = {"certificateRefs": [{"name": TRAVERSAL}]}
    listeners = [{"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}]
    document = {"metadata": {"name": "it", "namespace": "default"}, "spec": {"listeners": listeners, **spec}}
    return msgspec.convert(document, Gateway)


@pytest.mark.parametrize("name", WRONG)
def test_certificates_and_authorities_of_a_gateway(name: str) -> None:
    view = Objects({})
    one = gateway({"tls": {"backend": {"clientCertificateRef": {"name": name}}}})
    certificates = GatewayCertificates(cast("View", view), one)
    found = certificates.of_listener(declared_listeners(one, ())[0])
    assert (found.reason, found.message.partition(": ")[0]) == ("InvalidCertificateRef", "tls.certificateRefs[0].name")
    certificate, resolved = certificates.of_backends()
    assert certificate is None
    assert resolved is not None
    assert resolved.reason == "InvalidClientCertificateRef"
    assert resolved.message.startswith("spec.tls.backend.clientCertificateRef.name: ")
    ref = one.spec.tls.backend.client_certificate_ref if one.spec.tls and one.spec.tls.backend else None
    assert ref is not None
    referrer = Referrer(GROUP, "Gateway", "default")
    ref = msgspec.structs.replace(ref, kind="ConfigMap")
    unresolved = read_granted_authorities(cast("View", view), referrer, "caCertificateRefs[0]", ref)
    assert not isinstance(unresolved, bytes)
    assert unresolved.reason == "InvalidCACertificateRef"
    assert view.asked == []
