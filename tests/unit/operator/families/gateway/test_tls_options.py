"""`tls.options`: what is asked for is served or reported; and the dates of certificates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from seamark.families.gateway.certificates.pem import date_problem, validity
from seamark.families.gateway.gateway.certificates import ListenerCertificates
from seamark.families.gateway.gateway.listeners import listener_view
from seamark.families.gateway.model.gateways import ListenerTLS as ServedTLS
from seamark.gatewayapi.listeners import DeclaredListener, ListenerId
from seamark_edge.dataplane.envoy.resources import server_tls
from seamark_edge.dataplane.model import Secret, ServerTls
from seamark_runtime.api.gateway import Listener, ListenerTLS
from seamark_runtime.api.meta import Condition, Key
from tests.unit.operator.families.gateway.test_certificates import certified

PAIR = ServedTLS((Secret("default/cert", b"", b""),))


def declared(**options: str) -> DeclaredListener:
    given = {name.replace("_", "-").replace("kgateway-", "kgateway.dev/"): value for name, value in options.items()}
    listener = Listener(name="https", port=443, protocol="HTTPS", tls=ListenerTLS(options=given))
    return DeclaredListener(ListenerId("Gateway", Key("default", "web"), "https"), listener)


def accepted(**options: str) -> Condition:
    return listener_view(declared(**options), "", lambda _: ListenerCertificates(PAIR)).conditions[0]


def test_versions_are_served_as_they_are_asked_for() -> None:
    given = declared(kgateway_min_tls_version="1.3")
    found = listener_view(given, "", lambda _: ListenerCertificates(PAIR))
    assert found.tls.versions == ("1.3", "")
    params = server_tls(ServerTls((), versions=("1.2", "1.3"))).common_tls_context.tls_params
    assert (params.tls_minimum_protocol_version, params.tls_maximum_protocol_version) == (
        params.TLSv1_2,
        params.TLSv1_3,
    )
    assert found.refusal == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kgateway_cipher_suites": "X"}, "The TLS option kgateway.dev/cipher-suites is not supported"),
        ({"kgateway_min_tls_version": "3"}, "The TLS option kgateway.dev/min-tls-version must be one of"),
        ({"kgateway_min_tls_version": "1.3", "kgateway_max_tls_version": "1.2"}, "is above"),
    ],
)
def test_an_option_that_can_not_be_served_is_named_and_the_listener_is_not_accepted(
    options: dict[str, str], message: str
) -> None:
    condition = accepted(**options)
    assert (condition.status, condition.reason) == ("False", "UnsupportedValue")
    assert message in condition.message


def test_options_of_other_implementations_are_theirs() -> None:
    assert accepted(example="x").status == "True"


def test_a_certificate_is_reported_with_the_date_on_which_it_expired_or_begins() -> None:
    chain = certified(ec.generate_private_key(ec.SECP256R1()))
    begins, ends = validity(chain)
    assert date_problem(chain, begins) == ""
    assert date_problem(chain, begins - timedelta(seconds=1)) == f"the certificate is not valid before {shown(begins)}"
    assert date_problem(chain, ends) == f"the certificate expired at {shown(ends)}"
    assert date_problem(chain, ends + timedelta(days=9)) == f"the certificate expired at {shown(ends)}"


def shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
