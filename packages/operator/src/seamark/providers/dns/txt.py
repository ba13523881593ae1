"""Ownership records: TXT records that say whose a DNS record is. Wire-compatible with ExternalDNS, both ways.

- The record `www.example.org A` is owned by the TXT record `a-www.example.org`; a prefix or suffix goes around the
  first label, and `%{record_type}` in it takes the place of the `a-`.
- The value is `heritage=external-dns,external-dns/owner=…,external-dns/resource=…`, keys sorted.
- Older names without a type are read, but not for AAAA, which had none then.
- The value has no escapes. So a label with a character that would end it is never written (`label_problem`), and a
  text with a repeated key is never trusted, by any writer. ExternalDNS writes no such text by itself.
- Encrypted: gzip, AES-256-GCM, base64 of nonce and ciphertext. The nonce follows from key and text, so the same
  ownership is the same value, and no two texts share a nonce.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import hmac
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

HERITAGE = "external-dns"
OWNER, RESOURCE = "owner", "resource"
TEMPLATE = "%{record_type}"
TYPES = ("A", "AAAA", "CNAME", "TXT", "SRV", "NS", "PTR", "MX", "NAPTR", "DNAME")
# One type's name can begin or end with another's: without a separator the longer one is meant.
LONGEST_FIRST = tuple(sorted(TYPES, key=len, reverse=True))
NONCE = 12
LARGEST = 65_536  # bytes of a decrypted value: what a TXT record can hold, and no bomb
PROPERTIES = "provider-specific"  # the names of the provider properties that we have set
OURS = (OWNER, RESOURCE, PROPERTIES)  # labels that only we set
UNSAFE = frozenset(',="\\')  # they end a label, a key or a text


class BadAffix(ValueError):
    """A prefix or suffix that can't work, in words."""


@dataclass(frozen=True)
class Names:
    """Where the ownership record of a record is, and whose ownership record a name is."""

    prefix: str = ""
    suffix: str = ""
    wildcard: str = ""  # what stands for a leading `*`; nothing leaves it as it is

    def __post_init__(self) -> None:
        if self.prefix and self.suffix:
            raise BadAffix("a prefix and a suffix of ownership records exclude each other")
        object.__setattr__(self, "prefix", self.prefix.lower())
        object.__setattr__(self, "suffix", self.suffix.lower())
        object.__setattr__(self, "wildcard", self.wildcard.lower())

    def of(self, name: str, type_: str) -> str:
        """The name of the ownership record."""
        first, *rest = name.split(".", 1)
        first = self._starless(first)
        kind = type_.lower()
        if not self._templated:
            first = f"{kind}-{first}"
        return ".".join([self._filled(self.prefix, kind) + first + self._filled(self.suffix, kind), *rest])

    def older(self, name: str, type_: str) -> str | None:
        """Where it was before ownership records had a type in their name; None where there was none."""
        if type_ == "AAAA":
            return None
        first, *rest = name.split(".", 1)
        return ".".join([self._filled(self.prefix, "") + self._starless(first) + self._filled(self.suffix, ""), *rest])

    def owners(self, name: str) -> tuple[tuple[str, str], ...]:
        """The names and type of the records that this ownership record may be about: none if its name has no type, and
        two where one is a wildcard and the other has its replacement as first label."""
        found = self.owned(name)
        if found is None:
            return ()
        other = self.other_owner(found[0])
        return (found,) if other is None else (found, (other, found[1]))

    def other_owner(self, name: str) -> str | None:
        """The name whose ownership records are at the same names: a wildcard, or what replaces it."""
        first, *rest = name.split(".", 1)
        if not self.wildcard or first not in ("*", self.wildcard):
            return None
        return ".".join([self.wildcard if first == "*" else "*", *rest])

    def owned(self, name: str) -> tuple[str, str] | None:
        """The name and type of the record that this ownership record is about; None if its name has no type."""
        for type_ in LONGEST_FIRST:
            prefix, suffix = self._filled(self.prefix, type_.lower()), self._filled(self.suffix, type_.lower())
            marker = "" if self._templated else f"{type_.lower()}-"
            rest = _stripped(name, prefix + marker, suffix)
            if rest is not None:
                first, *others = rest.split(".", 1)
                return ".".join(["*" if self.wildcard and first == self.wildcard else first, *others]), type_
        return None

    def younger(self, place: str) -> tuple[str, ...]:
        """The names whose older ownership record would be here."""
        name = _stripped(place, self._filled(self.prefix, ""), self._filled(self.suffix, ""))
        if name is None:
            return ()
        first, *rest = name.split(".", 1)
        return (name, ".".join(["*", *rest])) if self.wildcard and first == self.wildcard else (name,)

    @property
    def _templated(self) -> bool:
        return TEMPLATE in self.prefix or TEMPLATE in self.suffix

    def _filled(self, affix: str, kind: str) -> str:
        return affix.replace(TEMPLATE, kind)

    def _starless(self, first: str) -> str:
        return self.wildcard if first == "*" and self.wildcard else first


def _stripped(name: str, prefix: str, suffix: str) -> str | None:
    """Without what stands before and behind its first label; None if that does not stand there."""
    if not name.startswith(prefix):
        return None
    rest = name[len(prefix) :]
    if suffix:
        first, *others = rest.split(".", 1)
        own, *more = suffix.split(".", 1)  # the suffix ends the first label, and may go on behind it
        if not first.endswith(own):
            return None
        behind = others[0] if others else ""
        if more:
            if not f"{behind}.".startswith(f"{more[0]}."):
                return None
            behind = behind.removeprefix(more[0]).removeprefix(".")
        rest = ".".join([first.removesuffix(own), *([behind] if behind else [])])
    return None if not rest or rest.startswith(".") else rest


@dataclass(frozen=True)
class Values:
    """Labels as the value of a TXT record, and back. With a key they are encrypted; plain ones are read, too."""

    key: bytes = b""

    def encode(self, labels: Mapping[str, str]) -> str:
        """Labels that can't be carried are left out: callers have checked them before."""
        safe = [(name, value) for name, value in sorted(labels.items()) if not label_problem(name, value)]
        text = ",".join([f"heritage={HERITAGE}", *(f"{HERITAGE}/{name}={value}" for name, value in safe)])
        return self._encrypted(text) if self.key else text

    def decode(self, value: str) -> dict[str, str] | None:
        """The labels; None for a TXT record that is not an ownership record, or an ambiguous one.

        As in ExternalDNS, a token without exactly one `=` is no label. Where that would hide an owner or an object,
        the text is ambiguous.
        """
        seen: set[str] = set()
        labels: dict[str, str] = {}
        for token in self._tokens(value):
            name, found, content = token.partition("=")
            if not found or not (name == "heritage" or name.startswith(f"{HERITAGE}/")):
                continue
            if name in seen:
                return None
            seen.add(name)
            label = name.removeprefix(f"{HERITAGE}/")
            if "=" in content and (name == "heritage" or label in OURS):
                return None
            if name == "heritage":
                if content != HERITAGE:
                    return None
            elif "=" not in content:
                labels[label] = content
        return labels if "heritage" in seen else None

    def reserved(self, value: str) -> bool:
        """Whether any reader may accept this text as an ownership record, however ambiguous it is."""
        return any(token.strip(' "').startswith(f"heritage={HERITAGE}") for token in self._tokens(value))

    def _tokens(self, value: str) -> list[str]:
        text = value.strip('"')
        if self.key and (plain := self._decrypted(text)) is not None:
            text = plain.strip('"')
        return text.split(",")

    def _encrypted(self, text: str) -> str:
        nonce = hmac.new(self.key, text.encode(), hashlib.sha256).digest()[:NONCE]
        sealed = AESGCM(self.key).encrypt(nonce, gzip.compress(text.encode(), mtime=0), None)
        return base64.b64encode(nonce + sealed).decode()

    def _decrypted(self, text: str) -> str | None:
        try:
            raw = base64.b64decode(text, validate=True)
            packed = AESGCM(self.key).decrypt(raw[:NONCE], raw[NONCE:], None)
            unpacking = zlib.decompressobj(wbits=31)
            text = unpacking.decompress(packed, LARGEST).decode()
            return text if unpacking.eof else None  # a part of a text says something else
        except (binascii.Error, ValueError, InvalidTag, zlib.error):
            return None


def property_names(names: Iterable[str]) -> str:
    """The value of the label: names in one order, each without characters that a label can't have."""
    return ";".join(sorted(quote(name, safe="/.:-_") for name in names))


def properties_of(value: str) -> frozenset[str]:
    return frozenset(unquote(name) for name in value.split(";") if name)


def label_problem(name: str, value: str) -> str:
    """Why an ownership record can't carry this label, in words; empty where it can."""
    if not name:
        return "a key must not be empty"
    for what, text in ((f"the key {name[:40]!r}", name), (f"the value of {name[:40]!r}", value)):
        if not text.isascii() or not text.isprintable() or not UNSAFE.isdisjoint(text):
            return f"{what} must be printable ASCII without commas, quotes, backslashes and ="
        if text != text.strip():
            return f"{what} must not begin or end with a space"
    return ""


def key_from(text: str) -> bytes:
    """An AES-256 key as people give it: 32 characters, or 32 bytes in base64. ValueError names the error."""
    if len(text) == 32:
        return text.encode()
    try:
        key = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != 32:
        raise ValueError("the key must be 32 characters, or 32 bytes in base64")
    return key
