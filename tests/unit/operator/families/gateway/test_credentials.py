"""The certificate of a Gateway's Envoys: signed once, renewed in time, and kept while the authority can't be read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from seamark.api.gatewayinfra import EnvoyDeployment
from seamark.families.gateway.infrastructure.credentials import child, observe
from seamark.families.gateway.infrastructure.signing import Signer
from seamark.families.gateway.infrastructure.state import Certify, SeenCredential
from seamark_edge.dataplane.envoy.identity import Identity
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.calls import Results
from seamark_runtime.follow import Unreadable
from seamark_runtime.signing import CA_CRT, CRT, make_authority
from seamark_runtime.source import Absent, Fresh, NotYet
from seamark_runtime.view import View

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WEB = Identity(Key("shop", "web"), "uid-1")
PLACE, AUTHORITY = Key("seamark-system", "gw-web"), Key("seamark-system", "seamark-ca")
CA = make_authority(BEGIN)


@dataclass
class Time:
    now: datetime = BEGIN

    def wall(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        return 0.0


@dataclass
class Facts:
    """A view of two Secrets."""

    secrets: dict[Key, Any] = field(default_factory=dict)

    def single(self, _kind: type[Secret], key: Key) -> Any:
        return self.secrets.get(key, NotYet())


def secret(data: Mapping[str, bytes]) -> Fresh[Secret]:
    return Fresh(Secret(data=dict(data)))


def seen(standing: Any, authority: Any, results: Results | None = None, identity: Identity = WEB) -> SeenCredential:
    view = cast("View", Facts({PLACE: standing, AUTHORITY: authority}))
    return observe(view, identity, PLACE, AUTHORITY, results or Results())


def certified(signer: Signer, present: Mapping[str, bytes], ca: Mapping[str, bytes] = CA) -> Mapping[str, bytes]:
    return asyncio.run(signer.certify(Certify(WEB, ca, present))).files


def test_it_names_this_gateway_and_is_good_for_clients_only() -> None:
    certificate = x509.load_pem_x509_certificate(certified(Signer(Time()), {})[CRT])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(one.value) for one in names] == ["seamark://gateway/shop/web/uid-1"]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_it_is_signed_once_until_it_is_due() -> None:
    time = Time()
    signer = Signer(time)
    made = certified(signer, {})
    assert certified(signer, {}) == made  # its Secret has not been seen yet
    assert certified(signer, made) == made
    time.now += timedelta(days=200)
    assert certified(signer, made) == made
    time.now += timedelta(days=50)
    assert certified(signer, made) != made


def test_another_authority_or_another_gateway_of_that_name_needs_a_new_one() -> None:
    signer = Signer(Time())
    made = certified(signer, {})
    other = make_authority(BEGIN)
    assert certified(signer, made, other)[CA_CRT] == other[CA_CRT]
    again = asyncio.run(signer.certify(Certify(WEB._replace(uid="uid-2"), CA, made))).files
    assert again[CRT] != made[CRT]


def test_nothing_is_signed_before_both_secrets_were_read() -> None:
    assert seen(NotYet(), secret(CA)).call is None
    assert seen(Absent(), NotYet()).call is None
    assert seen(Absent(), secret(CA)).call is not None


def test_without_an_authority_the_gateway_is_told_unless_it_has_a_certificate() -> None:
    made = certified(Signer(Time()), {})
    for authority in (Absent(), Unreadable("forbidden"), secret({CA_CRT: CA[CA_CRT]})):
        assert "seamark-ca" in seen(Absent(), authority).problem
        assert seen(secret(made), authority) == SeenCredential()


def test_its_secret_belongs_to_the_workload() -> None:
    call = seen(Absent(), secret(CA)).call
    assert call is not None
    results = Results({call.target: Results.answer(call, asyncio.run(Signer(Time()).certify(call.action)), 1.0)})
    found = seen(Absent(), secret(CA), results)
    metadata = ObjectMeta(name=PLACE.name, namespace=PLACE.namespace)
    assert child(found, metadata, None) == {}
    workload = EnvoyDeployment(metadata=ObjectMeta(name=PLACE.name, namespace=PLACE.namespace, uid="uid-of-it"))
    made = child(found, metadata, workload)["credential"]
    assert isinstance(made, Secret)
    assert set(made.data or {}) == {"tls.crt", "tls.key", "ca.crt"}
    assert [one.uid for one in made.metadata.owner_references or ()] == ["uid-of-it"]
    assert "PRIVATE" not in repr(found) + repr(call)
