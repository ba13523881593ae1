"""Annotations of ExternalDNS on objects of other kinds. Pure.

- Annotations have the prefix `external-dns.kubernetes.io/` or, as before, `external-dns.alpha.kubernetes.io/`; if both
  are there, the first counts.
- `hostname` names it (several with commas), `target` replaces the object's own addresses, `ttl` is in seconds or as
  `1m30s`, `set-identifier` distinguishes records, `internal-hostname` names a Service's cluster address.
- An object with another `controller` than `dns-controller` is ignored.
- `alias`, and what begins with the name of a provider (`aws-…`, `webhook-…`), are properties for providers.
- `record-type: ptr` adds a PTR record for each address, and an empty one adds none, whatever the setting is.
"""

from __future__ import annotations

from seamark.api.dns import ProviderSpecific
from seamark.families.dns.sources.limits import LONGEST_TTL
from seamark_runtime.api.meta import Object
from seamark_runtime.untrusted.patterns import Pattern

PREFIXES = ("external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/")
OURS = "dns-controller"
LONGEST_DURATION = 100  # characters
DURATION = Pattern(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")

# Annotations that are properties of a provider: how they begin, and what that becomes.
PROPERTIES = {"aws-": "aws/", "scw-": "scw/", "ibmcloud-": "ibmcloud-", "coredns-": "coredns/", "webhook-": "webhook/"}
WHOLE_PROPERTIES = ("cloudflare-",)  # these keep their full name


def annotation(obj: Object, name: str) -> str:
    """An annotation under either prefix."""
    return next((value for prefix in PREFIXES if (value := obj.annotation(prefix + name))), "")


def listed(text: str) -> list[str]:
    return [part for part in (part.strip() for part in text.split(",")) if part]


def properties_of(obj: Object) -> tuple[ProviderSpecific, ...]:
    found = {"alias": "true"} if annotation(obj, "alias") == "true" else {}
    for prefix in reversed(PREFIXES):  # the new one counts
        for full_name, value in (obj.metadata.annotations or {}).items():
            name = full_name.removeprefix(prefix)
            if name == full_name:
                continue
            found |= {
                into + name.removeprefix(start): value for start, into in PROPERTIES.items() if name.startswith(start)
            }
            if name.startswith(WHOLE_PROPERTIES):
                found[full_name] = value
    return tuple(ProviderSpecific(name=name, value=value) for name, value in sorted(found.items()))


def wants_reverse_records(obj: Object, *, create_ptr: bool) -> bool:
    annotations = obj.metadata.annotations or {}
    requested = [annotations[name] for prefix in PREFIXES if (name := f"{prefix}record-type") in annotations]
    return requested[0].strip().lower() == "ptr" if requested else create_ptr


def seconds(text: str) -> int:
    """0 if it is not set. An impossible TTL (`LONGEST_TTL`) stays, and is reported with the record."""
    return duration(text) or 0


def duration(text: str) -> int | None:
    """None for what is no duration."""
    if text.isascii() and text.isdigit():
        return _capped(text)
    match = DURATION.fullmatch(text) if len(text) <= LONGEST_DURATION else None
    if match is None:
        return None
    hours, minutes, rest = (_capped(part or "0") for part in match.groups())
    return min(3600 * hours + 60 * minutes + rest, LONGEST_TTL + 1)


def _capped(digits: str) -> int:
    """A number of any length, as far as a TTL can tell them apart."""
    bare = digits.lstrip("0")
    return min(int(bare or 0), LONGEST_TTL + 1) if len(bare) <= 10 else LONGEST_TTL + 1
