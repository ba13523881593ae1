"""Whether the backends of a route accept connections: from their endpoints and the results of probing them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from seamark.families.gateway.backends.reconcile import desire, known
from seamark.families.gateway.backends.state import Endpoint, Seen, probe
from seamark.families.gateway.model.routes import Backend, BackendHealth
from seamark.families.gateway.translation.endpoints import BY_SERVICE, Endpoints, endpoints, is_taken
from seamark_edge.dataplane.envoy.probe import connect
from seamark_edge.dataplane.protocol import ConnectionRefused
from seamark_runtime.api.discovery import Endpoint as SliceEndpoint
from seamark_runtime.api.discovery import EndpointPort, EndpointSlice
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.calls import Failed, Results
from seamark_runtime.client import Client
from seamark_runtime.errors import Refused
from seamark_runtime.source import Informer
from seamark_runtime.view import View
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Put
from tests.unit.runtime.scripted import ScriptedTransport
from tests.virtual_time import run

SERVICE = Key("default", "web")
BACKEND, GRPC = Backend(SERVICE, 80, "", "http1"), Backend(SERVICE, 80, "", "http2")
A, B, C, D = ((f"10.0.0.{number}", 8080) for number in (1, 2, 3, 4))
REFUSED = Failed("the connection was refused", ConnectionRefused("the connection was refused"))
SILENT = Failed("no answer within 4 s")
READY = BackendHealth("True", "BackendsReady")


def seen(*endpoints: Endpoint, now: float = 0.0, **outcomes: object) -> Seen:
    """Outcomes by the last number of the address: e1=None is an accepted connection."""
    calls = {endpoint: probe(endpoint) for endpoint in (A, B, C, D)}
    answers = {
        calls[endpoint].target: Results.answer(calls[endpoint], outcomes[name], 15.0)
        for endpoint in calls
        if (name := f"e{endpoint[0][-1]}") in outcomes
    }
    return Seen(SERVICE, {BACKEND: endpoints}, Results(answers, now))


def health(given: Seen) -> BackendHealth | None:
    return known(given).get(BACKEND)


def reason(given: Seen) -> str:
    found = health(given)
    return f"{found.status} {found.reason}" if found is not None else "not known"


def test_one_endpoint_that_accepts_is_enough() -> None:
    assert health(seen(A, e1=None)) == READY
    assert health(seen(A, B, e1=REFUSED, e2=None)) == READY
    assert health(seen(A, B, e2=None)) == READY


def test_without_a_ready_endpoint_nobody_has_to_be_probed() -> None:
    assert reason(seen()) == "False NoReadyEndpoint"
    assert desire(seen()).calls == ()


FORBIDDEN = [
    *("169.254.169.254", "fe80::1", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::", "::ffff:169.254.169.254", "::169.254.169.254"),
    *("2001:0:a9fe:a9fe::", "fd00::5efe:a9fe:a9fe", "0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "2852039166"),
    "metadata.internal",
]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_endpoint_where_a_tenant_may_lead_nobody_is_neither_served_nor_probed(address: str) -> None:
    assert sliced(address, "10.0.0.1") == Endpoints((A,), (address,))
    assert sliced(address) == Endpoints((), (address,))
    with pytest.raises(Refused):
        run(connect(address, 80))


def test_a_backend_of_nothing_but_such_endpoints_tells_so() -> None:
    found = health(replace(seen(), forbidden={BACKEND: ("64:ff9b::a9fe:a9fe",)}))
    assert found is not None
    assert (found.status, found.reason) == ("False", "AddressNotAllowed")
    assert "64:ff9b::a9fe:a9fe, a link-local or metadata address" in found.message


def test_an_endpoint_that_is_left_out_beside_others_is_named() -> None:
    found = health(replace(seen(A, e1=None), forbidden={BACKEND: ("fe80::1", "fe80::2")}))
    assert found is not None
    assert (found.status, found.reason) == ("True", "BackendsReady")
    assert found.message.startswith("Service default/web: no connection is made to its endpoint fe80::1, a link-local")


def sliced(*addresses: str) -> Endpoints:
    """What is found in an EndpointSlice with these."""
    metadata = ObjectMeta(name="web", namespace="default", labels={"kubernetes.io/service-name": "web"})
    many = tuple(SliceEndpoint(addresses=(address,)) for address in addresses)
    made = EndpointSlice(metadata=metadata, address_type="IPv6", endpoints=many, ports=(EndpointPort(port=8080),))
    slices: Informer[EndpointSlice] = Informer(
        Watch(Client(ScriptedTransport(), manager="test"), EndpointSlice, Random(0)), (BY_SERVICE,)
    )
    slices.handle(Put(made))
    return endpoints(View({EndpointSlice: slices}, 0.0), BACKEND)


def test_refusal_and_silence_are_told_apart() -> None:
    assert reason(seen(A, B, e1=REFUSED, e2=REFUSED)) == "False EndpointsRefuse"
    assert reason(seen(A, B, e1=REFUSED, e2=SILENT)) == "False EndpointsSilent"


def test_where_envoy_runs_elsewhere_silence_towards_us_proves_nothing() -> None:
    """A NetworkPolicy may let only Envoy through."""
    assert reason(replace(seen(A, e1=SILENT), silence="Unknown")) == "Unknown EndpointsSilent"
    assert reason(replace(seen(A, e1=REFUSED), silence="Unknown")) == "False EndpointsRefuse"


def test_an_accepted_connection_counts_for_its_shelf_life() -> None:
    assert reason(seen(A, e1=None, now=14.9)) == "True BackendsReady"
    assert reason(seen(A, e1=None, now=15.0)) == "Unknown NotVerified"


def test_while_new_endpoints_are_probed_for_the_first_time_what_was_known_stays() -> None:
    assert health(seen(A)) is None
    assert health(replace(seen(A), last={BACKEND: READY})) == READY


def test_an_endpoint_is_probed_once_however_many_backends_have_it_and_of_many_only_the_first() -> None:
    shared = replace(seen(A, B, C, D), endpoints={BACKEND: (A, B, C, D), GRPC: (A, B, C, D)})
    assert [call.target for call in desire(shared).calls] == [f"backend 10.0.0.{n}:8080" for n in (1, 2, 3)]


@pytest.mark.parametrize("address", ["010.0.0.1", "10.0.0.1 ", "10.0.0", "fe80::1%eth0", "web.example.com", ""])
def test_an_address_that_no_data_plane_takes_is_no_endpoint(address: str) -> None:
    assert not is_taken(address, 80)


def test_an_endpoint_is_an_address_and_a_port() -> None:
    assert is_taken("10.0.0.1", 65535)
    assert is_taken("2001:db8::1", 1)
    assert not is_taken("10.0.0.1", 65536)
