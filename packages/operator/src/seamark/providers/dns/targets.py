"""Targets of every record type in one spelling, and what is wrong with one that has none.

| type                    | a target is                                  | a trailing dot |
|-------------------------|----------------------------------------------|----------------|
| A, AAAA                 | an address of that family                    | refused        |
| CNAME, DNAME            | a name                                       | allowed        |
| NS, PTR                 | a name                                       | refused        |
| MX                      | `preference name`                            | allowed        |
| SRV                     | `priority weight port name.`                 | required       |
| NAPTR                   | `order preference "flags" "service" "regexp" name.` | required |
| TXT                     | any text, in quotes or not                   | text           |
"""

from __future__ import annotations

import ipaddress

from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name
from seamark_runtime.untrusted.numbers import InvalidNumber, integer
from seamark_runtime.untrusted.patterns import Pattern

HOSTS = ("CNAME", "DNAME", "NS", "PTR")
DOTTED = ("CNAME", "DNAME", "TXT", "MX", "SRV", "NAPTR")  # the types whose targets may end with a dot
QUOTED = Pattern(r'"((?:[^"\\]|\\.)*)"', dot_newline=True)
ESCAPED = Pattern(r"\\(.)", dot_newline=True)
NAPTR = Pattern(r'(\d+)\s+(\d+)\s+"([^"]*)"\s+"([^"]*)"\s+"((?:[^"\\]|\\.)*)"\s+(\S+)')
LONGEST_TEXT = 4000
LONGEST_TARGET = 2048  # characters of any other target


class BadTarget(ValueError):
    """With a message that fits after the name of a field."""


def canonical(type_: str, target: str) -> str:  # noqa: PLR0911 - one answer for each type
    """The target as the server would show it; a service's or root's own dot aside, without a trailing dot."""
    if type_ != "TXT" and len(target) > LONGEST_TARGET:
        raise BadTarget(f"{target[:80]!r} has {len(target)} characters; at most {LONGEST_TARGET} are allowed")
    if type_ not in DOTTED and target.endswith("."):
        raise BadTarget(f"{target[:80]!r} must not end with a dot")
    match type_:
        case "A":
            return _address(target, 4)
        case "AAAA":
            return _address(target, 6)
        case "MX":
            return _mx(target)
        case "SRV":
            return _srv(target)
        case "NAPTR":
            return _naptr(target)
        case "TXT":
            return text_of(target)
        case _ if type_ in HOSTS:
            return _host(target)
        case _:
            raise BadTarget(f"the type {type_} is not known")


def text_of(target: str) -> str:
    """What a TXT target says: strings in quotes are joined, anything else is taken as it is."""
    stripped = target.strip() if len(target) <= 8 * LONGEST_TEXT else ""  # quotes and escapes make it longer
    strings = [found[1] for found in QUOTED.finditer(stripped)]
    if strings and not QUOTED.sub("", stripped).strip():
        text = "".join(ESCAPED.sub(r"\1", string) for string in strings)
    else:
        text = target
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LONGEST_TEXT:
        raise BadTarget(f"is a text of {size} bytes; at most {LONGEST_TEXT} are served")
    return text


def _address(target: str, version: int) -> str:
    try:
        address = ipaddress.ip_address(target)
    except ValueError:
        raise BadTarget(f"{target[:80]!r} is not an IPv{version} address") from None
    if address.version != version:
        raise BadTarget(f"{target[:80]!r} is an IPv{address.version} address, and the record needs IPv{version}")
    if "%" in target:
        raise BadTarget(f"{target[:80]!r} has a scope, which DNS does not know")
    return str(address)


def _host(target: str) -> str:
    if target == ".":
        return target
    try:
        return canonical_name(target)
    except InvalidDnsName as error:
        raise BadTarget(f"{target[:80]!r} {error}") from None


def _mx(target: str) -> str:
    parts = target.split()
    if len(parts) != 2:
        raise BadTarget(f"{target[:80]!r} is not `preference name`, as in `10 mail.example.org`")
    return f"{_number(parts[0], 'preference')} {_host(parts[1])}"


def _srv(target: str) -> str:
    parts = target.split()
    if len(parts) != 4 or not parts[3].endswith("."):
        expected = "is not `priority weight port name.`, as in `10 5 443 www.example.org.` (with the dot at the end)"
        raise BadTarget(f"{target[:80]!r} {expected}")
    numbers = [_number(part, what) for part, what in zip(parts, ("priority", "weight", "port"), strict=False)]
    return " ".join([*map(str, numbers), _host(parts[3])])


def _naptr(target: str) -> str:
    match = NAPTR.fullmatch(target.strip())
    if match is None or not target.endswith("."):
        expected = 'is not `order preference "flags" "service" "regexp" name.` (with the dot at the end)'
        raise BadTarget(f"{target[:80]!r} {expected}")
    order, preference, flags, service, regexp, name = (match[number] for number in range(1, 7))
    numbers = f"{_number(order, 'order')} {_number(preference, 'preference')}"
    return f'{numbers} "{flags}" "{service}" "{regexp}" {_host(name)}'


def _number(text: str, what: str) -> int:
    try:
        return integer(text, 0, 65535)
    except InvalidNumber:
        raise BadTarget(f"the {what} {text[:20]!r} is not a number from 0 to 65535") from None
