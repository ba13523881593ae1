"""Input that is decoded, matched or checked without its limits: caught by regression tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any, cast

from cryptography import x509

from seamark.families.gateway.addresses.reconcile import parse as parse_address
from seamark.families.gateway.translation.endpoints import may_be_connected_to
from seamark.families.score.model import quantity
from seamark.families.score.orchestrator import placeholders
from seamark.families.score.orchestrator.placeholders import Part
from seamark.lifecycle import bundle
from seamark.providers.dns import webhook
from seamark.providers.dns.failurelimit import FailureLimit
from seamark_edge import urls
from seamark_edge.dataplane.envoy import identity as envoy_identity
from seamark_edge.edge import policy_document
from seamark_edge.edge.http import BoundedHandler
from seamark_edge.edge.keypairs import check_pair
from seamark_runtime import reach
from seamark_runtime.cel import cost, program
from seamark_runtime.redaction import is_secret_flag
from seamark_runtime.renewal import Renewal
from seamark_runtime.untrusted import decoding
from seamark_runtime.untrusted.bodies import read_body
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("untrusted input")
UNIT = "tests/unit"


@BUGS.bug(
    "aliases counted once",
    "an alias of YAML counts as one value, whatever it expands to",
    test=f"{UNIT}/runtime/untrusted/test_decoding.py::test_yaml_aliases_are_counted_by_what_they_expand_to",
)
def aliases_counted_once() -> None:
    def one(_event: Any, _expanded: Mapping[str, int]) -> int:
        return 1

    swap(decoding._expansion, one)


@BUGS.bug(
    "a pattern that backtracks",
    "placeholders are found by a pattern that is tried at each position",
    test=f"{UNIT}/runtime/untrusted/test_linear_time.py::"
    "test_a_parser_takes_linear_time_and_raises_what_it_declares[Score placeholders]",
)
def a_pattern_that_backtracks() -> None:
    original = placeholders.parse

    def parse(text: str) -> tuple[Part, ...]:
        re.findall(r"\$\{(?:[^}])*?\}", text)
        return original(text)

    swap(placeholders.parse, parse)


@BUGS.bug(
    "loops cost nothing",
    "the estimate of an expression's cost does not see loops",
    test=f"{UNIT}/runtime/cel/test_limits.py::test_loops_in_loops_multiply_however_they_are_written",
)
def loops_cost_nothing() -> None:
    def estimate(_node: Any, _limits: Any, _library: Any) -> int:
        return 1

    swap(cost.estimate, estimate, only=program)


@BUGS.bug(
    "a body by its first piece",
    "of a response the part that has arrived is read",
    test=f"{UNIT}/runtime/untrusted/test_bodies.py::test_a_body_is_read_to_its_end_however_it_is_cut",
)
def a_body_by_its_first_piece() -> None:
    async def first(chunks: AsyncIterable[bytes], limit: int) -> bytes:
        async for chunk in chunks:
            return chunk[:limit]
        return b""

    swap(read_body, first)


@BUGS.bug(
    "a record raises what it likes",
    "a record of a webhook that can't be read raises an undeclared exception",
    test=f"{UNIT}/operator/providers/dns/test_webhook_answers.py",
)
def a_record_raises_what_it_likes() -> None:
    original = webhook._endpoint

    def endpoint(item: bytes, number: int) -> Any:
        try:
            return original(item, number)
        except ValueError as error:
            raise KeyError(number) from error

    swap(webhook._endpoint, endpoint)


@BUGS.bug(
    "a certificate unchecked",
    "the certificate and key of a policy are taken as they are",
    test=f"{UNIT}/edge/test_keypairs.py::test_a_key_that_is_none_is_refused_by_its_path",
)
def a_certificate_unchecked() -> None:
    def unchecked(_certificate: str, _key: str, certificate_field: str = "", key_field: str = "") -> x509.Certificate:
        return cast("x509.Certificate", (certificate_field, key_field))

    swap(check_pair, unchecked, only=policy_document)


@BUGS.bug(
    "an amount of any size",
    "a quantity is as large as it says",
    test=f"{UNIT}/operator/families/score/test_hostile_workloads.py::"
    "test_a_quantity_that_is_too_large_is_refused_with_the_limit",
)
def an_amount_of_any_size() -> None:
    def check(_text: str) -> None:
        return

    swap(quantity.check, check)


@BUGS.bug(
    "the value of a flag in a bundle",
    "an argument behind --password stays in a support bundle",
    test=f"{UNIT}/operator/lifecycle/test_bundle.py::test_the_value_of_a_secret_flag_goes_and_other_arguments_stay",
)
def the_value_of_a_flag_in_a_bundle() -> None:
    def never(_argument: str) -> bool:
        return False

    swap(is_secret_flag, never, only=bundle)


@BUGS.bug(
    "an address by its spelling",
    "addresses are compared as they are written",
    test=f"{UNIT}/operator/families/gateway/test_addresses.py::test_other_spellings_of_an_address_are_the_same_address",
)
def an_address_by_its_spelling() -> None:
    original = parse_address

    def parse(text: str, networks: Any) -> Any:
        found = original(text, networks)
        return found if found is None or str(found) == text else None

    swap(parse_address, parse)


@BUGS.bug(
    "metadata addresses in other spellings",
    "an upstream at a metadata address is recognised in its usual spelling alone",
    test=f"{UNIT}/edge/test_agent_upstream.py::test_metadata_and_link_local_addresses_are_refused_in_every_spelling",
)
def metadata_addresses_in_other_spellings() -> None:
    def none(_address: object) -> Iterator[IPv4Address]:
        yield from ()

    swap(reach._carried, none)


@BUGS.bug(
    "a head without a deadline",
    "a connection to the edge's API stays open however long the head of its first request takes",
    test=f"{UNIT}/edge/test_request_deadline.py::test_a_head_that_does_not_arrive_ends_the_connection",
)
def a_head_without_a_deadline() -> None:
    original = BoundedHandler.connection_made

    def connection_made(self: BoundedHandler, transport: asyncio.BaseTransport) -> None:
        original(self, transport)
        self.begun()

    swap(BoundedHandler.connection_made, connection_made)


@BUGS.bug(
    "a plugin without a deadline",
    "a credential plugin that hangs is waited for without end, and no other load begins",
    test=f"{UNIT}/runtime/test_renewal.py::test_a_plugin_that_hangs_once_is_given_up_and_asked_again",
)
def a_plugin_without_a_deadline() -> None:
    async def load_and_use(self: Renewal) -> None:
        await self._use(await self._load())

    swap(Renewal._load_and_use, load_and_use)


@BUGS.bug(
    "an internal endpoint at port 0",
    "an https URL of an internal endpoint without a port is taken as the port 0",
    test=f"{UNIT}/edge/test_binds.py::test_an_internal_endpoint_has_the_port_of_its_url_or_of_its_scheme",
)
def an_internal_endpoint_at_port_0() -> None:
    original = urls.place

    def place(text: str) -> urls.Place:
        found = original(text)
        written = text.rpartition(":")[2].isdecimal()
        return replace(found, port=0) if found.internal and not written else found

    swap(urls.place, place)


@BUGS.bug(
    "any address in an EndpointSlice",
    "Envoy connects to whatever address a tenant writes, that of the metadata service included",
    test=f"{UNIT}/operator/families/gateway/test_backends.py::"
    "test_an_endpoint_where_a_tenant_may_lead_nobody_is_neither_served_nor_probed",
)
def any_address_in_an_endpoint_slice() -> None:
    def always(_address: str) -> bool:
        return True

    swap(may_be_connected_to, always)


@BUGS.bug(
    "whatever address an Envoy claims",
    "the operator probes the address that a node id has, that of the metadata service included",
    test=f"{UNIT}/edge/dataplane/test_identity.py::test_an_envoy_does_not_lead_our_probes_to_where_no_tenant_may",
)
def whatever_address_an_envoy_claims() -> None:
    def nowhere(_host: str) -> str:
        return ""

    swap(reach.forbidden, nowhere, only=envoy_identity)


@BUGS.bug(
    "a failing provider is called without a limit",
    "every record is sent again and again to a webhook provider that refuses all of them",
    test=f"{UNIT}/operator/providers/dns/test_webhook_failures.py",
)
def a_failing_provider_is_called_without_a_limit() -> None:
    def wait(_limit: FailureLimit, _now: float, _changes: object = ()) -> float:
        return 0.0

    swap(FailureLimit.wait, wait)


@BUGS.bug(
    "an owner goes before its record",
    "an ownership record is removed while the webhook provider still lists its record",
    test="tests/dns/test_webhook_aws.py::test_an_ownership_record_stays_while_the_provider_still_lists_its_record",
)
def an_owner_goes_before_its_record() -> None:
    async def unchecked(_provider: webhook.WebhookProvider, _zone: str, _changes: object) -> None:
        return None

    swap(webhook.WebhookProvider._check_gone, unchecked)
