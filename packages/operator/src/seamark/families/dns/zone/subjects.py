"""Objects as the subjects of zones: what they claim, and whether an earlier run of the operator has refused it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.api.dns import MOST_SHOWN, DNSEndpoint
from seamark.families.dns.model.desired import DesiredRecords, desired_records, supported
from seamark.families.dns.model.entries import CRD, FINALIZER, LONGEST_MESSAGE, NOT_ACCEPTED, Ref
from seamark.families.dns.model.indexes import SpecReader, hidden
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import Claim
from seamark.families.dns.planning.subject import Subject, claims_of
from seamark.families.dns.sources.endpoints import endpoints_of
from seamark.families.dns.sources.kinds import AddressSources, SourceKind
from seamark.providers.dns.model import Slot
from seamark_runtime.api.meta import Key

_Claims = tuple[DesiredRecords, bool, Mapping[str, tuple[Claim, ...]]]  # desired records, settled → claims


class EndpointSubjects:
    """DNSEndpoints as subjects.

    - `_refused`: the records that each object had in conflict when it was first read, by its status then.
    - `_claims`: the last claims of each object: the same claims are the same value while its spec stays.
    """

    def __init__(self, rules: Rules, specs: SpecReader) -> None:
        self._rules = rules
        self._specs = specs
        self._refused: dict[Key, frozenset[Slot]] = {}
        self._claims: dict[Key, _Claims] = {}

    def subject(self, endpoint: DNSEndpoint) -> Subject:
        meta, desired = endpoint.metadata, self._specs.desired(endpoint)
        ref = Ref.of(CRD, endpoint.key)
        settled = not self._rules.finalizing or FINALIZER in (meta.finalizers or ())
        return Subject(
            ref=ref,
            uid=meta.uid,
            generation=meta.generation,
            desired=desired,
            claims=self._claims_of(endpoint, ref, desired, settled=settled),
            deleting=endpoint.deleting,
            settled=settled,
            hidden=hidden(endpoint, self._rules),
        )

    def forget(self, key: Key) -> None:
        self._refused.pop(key, None)
        self._claims.pop(key, None)
        self._specs.forget(key)

    def _claims_of(
        self, endpoint: DNSEndpoint, ref: Ref, desired: DesiredRecords, *, settled: bool
    ) -> Mapping[str, tuple[Claim, ...]]:
        known = self._claims.get(endpoint.key)
        if known is None or known[0] is not desired or known[1] is not settled:
            refused = self._refused.setdefault(endpoint.key, refused_before(endpoint, desired))
            created = endpoint.metadata.creation_timestamp or ""
            known = (desired, settled, claims_of(ref, desired, created, settled=settled, refused=refused))
            self._claims[endpoint.key] = known
        return known[2]


def refused_before(endpoint: DNSEndpoint, desired: DesiredRecords) -> frozenset[Slot]:
    """The records that are in conflict by the object's status. Of very many, not all are shown there."""
    rows = endpoint.status.endpoints if endpoint.status is not None else ()
    refused = {(row.dns_name, row.record_type) for row in rows if row.reason == "Conflict"}
    if not refused:
        return frozenset()
    cut = len(rows) >= MOST_SHOWN and all(row.state == NOT_ACCEPTED for row in rows)
    shown = [
        (record.dns_name[:LONGEST_MESSAGE], record.record_type[:LONGEST_MESSAGE]) for record in endpoint.spec.endpoints
    ]
    return frozenset(record.record.slot for record in desired.records if cut or shown[record.index] in refused)


def other_subject(source: SourceKind, obj: Any, addresses: AddressSources, rules: Rules) -> Subject:
    """An object of another kind than DNSEndpoint, by its annotations and status."""
    ref = Ref.of(source.name, obj.key)
    endpoints = endpoints_of(source, obj, addresses, create_ptr=rules.create_ptr)
    desired = desired_records(tuple(supported(endpoint, rules) for endpoint in endpoints), rules)
    return Subject(
        ref=ref,
        uid=obj.metadata.uid,
        generation=obj.metadata.generation,
        desired=desired,
        claims=claims_of(ref, desired, obj.metadata.creation_timestamp or "", settled=True),
        hidden=hidden(obj, rules) or desired == DesiredRecords(),  # without an address, its records stay as they are
    )
