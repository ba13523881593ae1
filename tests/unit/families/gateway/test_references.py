"""References with names that no object can have: refused by the name of the field, and never asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway import backendtls, traffic
from seamark.families.gateway.gateways import Chest
from seamark.families.gateway.listeners import claims
from seamark.families.gateway.references import invalid
from seamark.families.gateway.words import SeenPolicy, announce_policy
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key
from seamark_runtime.grants import Asker
from seamark_runtime.source import NotYet
from seamark_runtime.view import View

NAME = Key("default", "it")
GROUP = "gateway.networking.k8s.io"
TRAVERSAL = "../../tenant-b/secrets/victim-tls"
WRONG = [TRAVERSAL, "..", ".", "", "a/b", "a%2fb", "a?b", "A", "a\0b", "a\nb", "x" * 254, "ü", "a b", "a.", "-a"]


@dataclass
class Objects:
    """A view of these objects alone; whatever is asked for by name is remembered."""

    objects: dict[type[Any], Any]
    asked: list[Key] = field(default_factory=list)

    def intent(self, kind: type[Any], _key: Key) -> Any:
        return self.objects.get(kind)

    def by(self, *_: Any) -> tuple[Any, ...]:
        return ()

    def one(self, _kind: type[Any], key: Key) -> Any:
        self.asked.append(key)
        return NotYet()


def policy(kind: type[Any], spec: Any) -> Objects:
    return Objects({kind: msgspec.convert({"metadata": {"name": "it", "namespace": "default"}, "spec": spec}, kind)})


@pytest.mark.parametrize("name", WRONG)
def test_the_field_is_named_and_the_name_is_shown_safely(name: str) -> None:
    words = invalid("spec.refs[3]", name)
    assert words.startswith("spec.refs[3].name: ")
    assert words.isprintable()
    assert len(words) < 300


def test_a_namespace_is_checked_too() -> None:
    assert invalid("spec.refs[0]", "web", "tenant-b/secrets").startswith("spec.refs[0].namespace: ")
    assert invalid("spec.refs[0]", "web.example", "tenant-b") == ""


@pytest.mark.parametrize("name", WRONG)
def test_authorities_of_a_backend_tls_policy(name: str) -> None:
    ref = {"kind": "ConfigMap", "name": name}
    spec = {"targetRefs": [{"kind": "Service", "name": "web"}], "validation": {"caCertificateRefs": [ref]}}
    view = policy(BackendTLSPolicy, spec)
    seen = backendtls.observe(cast("View", view), NAME)
    assert seen is not None
    said = {one.type: (one.status, one.reason, one.message) for one in seen.conditions}
    assert said["ResolvedRefs"][:2] == ("False", "InvalidCACertificateRef")
    assert said["ResolvedRefs"][2].startswith("spec.validation.caCertificateRefs[0].name: ")
    assert said["Accepted"][:2] == ("False", "NoValidCACertificate")
    assert view.asked == []


def told(kind: type[Any], view: Objects, reports: Any) -> Iterable[tuple[str, str]]:
    seen = SeenPolicy(view.objects[kind], {}, reports.get(("missing", NAME), ()), reports.get(("invalid", NAME), ()))
    return [(notice.reason, notice.message) for notice in announce_policy(seen, "us")]


def test_a_target_of_a_backend_tls_policy_is_told_by_an_event() -> None:
    targets = [{"kind": "Service", "name": TRAVERSAL}]
    view = policy(BackendTLSPolicy, {"targetRefs": targets, "validation": {"wellKnownCACertificates": "System"}})
    seen = backendtls.observe(cast("View", view), NAME)
    assert seen is not None
    assert seen.sections == ()
    [(reason, words)] = told(BackendTLSPolicy, view, backendtls.report(seen))
    assert (reason, words.partition(": ")[0]) == ("Invalid", "spec.targetRefs[0].name")


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
def test_a_traffic_policy_of_which_no_target_can_be_read_is_told_by_an_event(spec: Any, field: str) -> None:
    view = policy(TrafficPolicy, spec)
    seen = traffic.observe(cast("View", view), NAME)
    assert seen is not None
    assert (seen.parts, seen.targets) == ((), ())
    [(reason, words)] = told(TrafficPolicy, view, traffic.report(seen))
    assert reason == "Invalid"
    assert field in words
    assert words.isprintable()
    assert len(words) < 300


def gateway(spec: Any) -> Gateway:
    tls = {"certificateRefs": [{"name": TRAVERSAL}]}
    listeners = [{"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}]
    document = {"metadata": {"name": "it", "namespace": "default"}, "spec": {"listeners": listeners, **spec}}
    return msgspec.convert(document, Gateway)


@pytest.mark.parametrize("name", WRONG)
def test_certificates_and_authorities_of_a_gateway(name: str) -> None:
    view = Objects({})
    one = gateway({"tls": {"backend": {"clientCertificateRef": {"name": name}}}})
    chest = Chest(cast("View", view), one)
    keys = chest.keys(claims(one, ())[0])
    assert (keys.reason, keys.message.partition(": ")[0]) == ("InvalidCertificateRef", "tls.certificateRefs[0].name")
    certificate, resolved = chest.backend_certificate()
    assert certificate is None
    assert resolved is not None
    assert resolved.reason == "InvalidClientCertificateRef"
    assert resolved.message.startswith("spec.tls.backend.clientCertificateRef.name: ")
    ref = one.spec.tls.backend.client_certificate_ref if one.spec.tls and one.spec.tls.backend else None
    assert ref is not None
    asker = Asker(GROUP, "Gateway", "default")
    trouble = chest.authorities(asker, "caCertificateRefs[0]", msgspec.structs.replace(ref, kind="ConfigMap"))
    assert not isinstance(trouble, bytes)
    assert trouble.reason == "InvalidCACertificateRef"
    assert view.asked == []
