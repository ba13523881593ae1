"""The status of a DNSEndpoint, from the entries of its zones."""

from __future__ import annotations

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec, Endpoint
from seamark.families.dns.dnsendpoint.reconcile import judge
from seamark.families.dns.dnsendpoint.state import Seen
from seamark.families.dns.model.desired import desired_records
from seamark.families.dns.model.entries import FINALIZER, ZONES
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.apply import Answers
from tests.unit.operator.families.dns.zones import ZONE, rules

WWW = Endpoint(dns_name=f"www.{ZONE}", record_type="A", targets=("192.0.2.1",))


def seen(*, deleting: bool = False) -> Seen:
    """An object in a zone that has not been read."""
    metadata = ObjectMeta(
        name="www",
        namespace="default",
        uid="uid-www",
        generation=1,
        finalizers=(FINALIZER,),
        annotations={ZONES: ZONE},
        deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
    )
    spec = DNSEndpointSpec(endpoints=(WWW,))
    return Seen(DNSEndpoint(metadata=metadata, spec=spec), desired_records(spec.endpoints, rules()), {}, rules())


def test_nothing_is_accepted_in_a_zone_that_was_never_read_also_while_the_object_goes() -> None:
    status = judge(seen(deleting=True), Answers({}, {}))
    assert [(condition.type, condition.status) for condition in status.conditions] == [
        ("Accepted", "Unknown"),
        ("Ready", "Unknown"),
    ]
