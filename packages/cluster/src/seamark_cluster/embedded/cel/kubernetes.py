"""Kubernetes' own functions: URLs, addresses, quantities, versions, formats."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs, urlsplit

from seamark_cluster.embedded.machinery.formats import check_for
from seamark_cluster.embedded.machinery.names import label, label_1035, label_value, qualified, subdomain
from seamark_runtime.cel.functions import Function, Library
from seamark_runtime.cel.values import NONE, CelError, Optional, no_overload
from seamark_runtime.quantity import InvalidQuantity, amount_of
from seamark_runtime.untrusted.patterns import Pattern

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Url:
    """A parsed URL."""

    cel_type = "kubernetes.URL"

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self._parts = urlsplit(text)
            self._parts.port  # noqa: B018 - reading it checks it
        except ValueError:
            raise CelError(f"URL parse error during conversion from string: {text}") from None
        if not text.startswith("/") and not self._parts.scheme:
            raise CelError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')

    def __eq__(self, right: object) -> bool:
        return isinstance(right, Url) and self._text == right._text

    def __hash__(self) -> int:
        return hash(self._text)

    def part(self, name: str) -> Any:
        parts = self._parts
        values: dict[str, Any] = {
            "getScheme": parts.scheme,
            "getHost": parts.netloc.rpartition("@")[2],
            "getHostname": (parts.hostname or "") if ":" not in (parts.hostname or "") else f"[{parts.hostname}]",
            "getPort": str(parts.port) if parts.port is not None else "",
            "getEscapedPath": parts.path,
            "getQuery": parse_qs(parts.query, keep_blank_values=True),
        }
        return values[name]


class Quantity:
    """An amount of any unit."""

    cel_type = "kubernetes.Quantity"

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def __eq__(self, right: object) -> bool:
        return isinstance(right, Quantity) and self.value == right.value

    def __hash__(self) -> int:
        return hash(self.value)

    def compare_to(self, right: Quantity) -> int:
        return (self.value > right.value) - (self.value < right.value)


def quantity(text: str) -> Quantity:
    try:
        return Quantity(amount_of(text))
    except InvalidQuantity as error:
        raise CelError(str(error)) from None


class Ip:
    """An IP address."""

    cel_type = "net.IP"

    def __init__(self, address: Address) -> None:
        self.address = address

    def __eq__(self, right: object) -> bool:
        return isinstance(right, Ip) and self.address == right.address

    def __hash__(self) -> int:
        return hash(self.address)

    def as_string(self) -> str:
        return str(self.address)


def ip(value: Any) -> Ip:
    if isinstance(value, Cidr):
        return Ip(value.given)
    try:
        return Ip(ipaddress.ip_address(value))
    except ValueError:
        raise CelError(f'IP Address "{value}" parse error during conversion from string') from None


class Cidr:
    """A network as written: the address may have bits beyond the prefix."""

    cel_type = "net.CIDR"

    def __init__(self, text: str) -> None:
        try:
            interface = ipaddress.ip_interface(text)
        except ValueError:
            raise CelError(f'network address parse error during conversion from string: "{text}"') from None
        if "/" not in text:
            raise CelError(f'network address parse error during conversion from string: "{text}"')
        self.given: Address = interface.ip
        self.network: Network = interface.network

    def __eq__(self, right: object) -> bool:
        return isinstance(right, Cidr) and (self.given, self.network) == (right.given, right.network)

    def __hash__(self) -> int:
        return hash(self.network)

    def as_string(self) -> str:
        return f"{self.given}/{self.network.prefixlen}"


def contains_ip(cidr: Cidr, address: Any) -> bool:
    return (address if isinstance(address, Ip) else ip(address)).address in cidr.network


def contains_cidr(cidr: Cidr, right: Any) -> bool:
    inner = right if isinstance(right, Cidr) else Cidr(right)
    return inner.network.version == cidr.network.version and inner.network.subnet_of(cidr.network)  # type: ignore[arg-type]  # versions agree


_SEMVER = Pattern(r"(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


class Semver:
    """A semantic version."""

    cel_type = "kubernetes.Semver"

    def __init__(self, text: str) -> None:
        match = _SEMVER.fullmatch(text)
        if match is None:
            raise CelError(f"semver parse error: {text}")
        self.numbers = tuple(int(match[part]) for part in (1, 2, 3))
        self.before = match.groups()[3] or ""

    def _key(self) -> tuple[Any, ...]:
        parts = (
            [(0, int(value), "") if value.isdigit() else (1, 0, value) for value in self.before.split(".")]
            if self.before
            else []
        )
        return (self.numbers, not self.before, parts)

    def __eq__(self, right: object) -> bool:
        return isinstance(right, Semver) and self._key() == right._key()

    def __hash__(self) -> int:
        return hash(self.numbers)

    def compare_to(self, right: Semver) -> int:
        return (self._key() > right._key()) - (self._key() < right._key())


class Format:
    """A named string format."""

    cel_type = "kubernetes.NamedFormat"

    def __init__(self, name: str, problems: Callable[[str], list[str]]) -> None:
        self.name = name
        self._problems = problems

    def validate(self, text: str) -> Optional:
        problems = self._problems(text)
        return Optional(present=True, value=problems) if problems else NONE


def _checked(name: str) -> Callable[[str], list[str]]:
    check = check_for(name)
    return lambda text: [] if check is None or check(text) else [f"invalid {name}"]


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": label,
    "dns1123Subdomain": subdomain,
    "dns1035Label": label_1035,
    "qualifiedName": qualified,
    "labelValue": label_value,
    "uri": _checked("uri"),
    "uuid": _checked("uuid"),
    "byte": _checked("byte"),
    "date": _checked("date"),
    "datetime": _checked("date-time"),
}


def _parses(make: Callable[[str], Any]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if not isinstance(value, str):
            raise no_overload("is")
        try:
            make(value)
        except CelError:
            return False
        return True

    return check


def _less(left: Any, right: Any) -> bool:
    return bool(left.compare_to(right) < 0)


def _arithmetic(sign: int) -> Callable[[Quantity, Any], Quantity]:
    def combine(left: Quantity, right: Any) -> Quantity:
        right_value = right.value if isinstance(right, Quantity) else Fraction(right)
        return Quantity(left.value + sign * right_value)

    return combine


def _integer(left: Quantity) -> int:
    if left.value.denominator != 1:
        raise CelError("cannot convert value to integer")
    return int(left.value)


def _url_part(name: str) -> Callable[[Url], Any]:
    return lambda url: url.part(name)


def _named_format(name: str) -> Optional:
    return Optional(present=True, value=Format(name, _FORMATS[name])) if name in _FORMATS else NONE


_NAMESPACED: dict[str, Callable[..., Any]] = {
    "format.named": _named_format,
    "ip.isCanonical": lambda text: ip(text).as_string() == text,
    **{f"format.{name}": (lambda name=name: Format(name, _FORMATS[name])) for name in _FORMATS},
}

_PLAIN: dict[str, Callable[..., Any]] = {
    "url": Url,
    "isURL": _parses(Url),
    "quantity": quantity,
    "isQuantity": _parses(quantity),
    "ip": ip,
    "isIP": _parses(ip),
    "cidr": Cidr,
    "isCIDR": _parses(Cidr),
    "semver": Semver,
    "isSemver": _parses(Semver),
}

_MEMBERS: dict[str, Callable[..., Any]] = {
    **{
        name: _url_part(name)
        for name in ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery")
    },
    "isGreaterThan": lambda candidate, right: _less(right, candidate),
    "isLessThan": _less,
    "compareTo": lambda candidate, right: candidate.compare_to(right),
    "add": _arithmetic(1),
    "sub": _arithmetic(-1),
    "sign": lambda candidate: (candidate.value > 0) - (candidate.value < 0),
    "isInteger": lambda candidate: candidate.value.denominator == 1,
    "asInteger": _integer,
    "asApproximateFloat": lambda candidate: float(candidate.value),
    "family": lambda candidate: candidate.address.version,
    "isUnspecified": lambda candidate: candidate.address.is_unspecified,
    "isLoopback": lambda candidate: candidate.address.is_loopback,
    "isLinkLocalMulticast": lambda candidate: candidate.address.is_multicast and candidate.address.is_link_local,
    "isLinkLocalUnicast": lambda candidate: candidate.address.is_link_local,
    "isGlobalUnicast": lambda candidate: (
        not (candidate.address.is_multicast or candidate.address.is_loopback or candidate.address.is_link_local)
    ),
    "containsIP": contains_ip,
    "containsCIDR": contains_cidr,
    "ip": ip,
    "masked": lambda candidate: Cidr(str(candidate.network)),
    "prefixLength": lambda candidate: candidate.network.prefixlen,
    "major": lambda item: item.numbers[0],
    "minor": lambda entry: entry.numbers[1],
    "patch": lambda element: element.numbers[2],
    "validate": lambda candidate, text: candidate.validate(text),
}

LIBRARY = Library(
    plain={name: Function(run) for name, run in _PLAIN.items()},
    members={name: Function(run) for name, run in _MEMBERS.items()},
    namespaced={name: Function(run) for name, run in _NAMESPACED.items()},
)
