"""`rateLimit.global`: a server counts requests by descriptors."""

from __future__ import annotations

from seamark.api.trafficfilters import DescriptorEntry, GlobalRateLimit
from seamark.families.gateway.rules.features.extensions import limit_service, service
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import most
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters

MOST_DESCRIPTORS, MOST_ENTRIES = 16, 16
KINDS = ("Generic", "Header", "RemoteAddress", "Path")


def read(field: str, given: GlobalRateLimit, references: References) -> filters.GlobalLimit:
    descriptors = most(f"{field}.descriptors", given.descriptors, MOST_DESCRIPTORS)
    if not descriptors:
        raise Unsupported(f"{field}.descriptors: at least one is required")
    found = []
    for number, descriptor in enumerate(descriptors):
        where = f"{field}.descriptors[{number}].entries"
        entries = most(where, descriptor.entries, MOST_ENTRIES)
        if not entries:
            raise Unsupported(f"{where}: at least one is required")
        found.append(tuple(_entry(f"{where}[{n}]", entry) for n, entry in enumerate(entries)))
    return filters.GlobalLimit(
        service(field, given.extension_ref, references, "rateLimit", lambda spec: spec.rate_limit, limit_service),
        tuple(found),
    )


def _entry(field: str, given: DescriptorEntry) -> filters.DescriptorEntry:
    kind = limits.one_of(f"{field}.type", given.type, KINDS)
    if (kind == "Generic") != (given.generic is not None) or (kind == "Header") != (given.header is not None):
        raise Unsupported(f"{field}: generic is for the type Generic, header for the type Header, and required there")
    if given.generic is not None:
        key, value = given.generic.key, given.generic.value
        for name, text in (("key", key), ("value", value)):
            if not limits.header_value(f"{field}.generic.{name}", text):
                raise Unsupported(f"{field}.generic.{name}: must not be empty")
        return filters.DescriptorEntry(kind, key, value)
    return filters.DescriptorEntry(kind, limits.header_name(f"{field}.header", given.header) if given.header else "")
