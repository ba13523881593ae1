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
import re

from seamark.providers.dns.names import BadName, normal

HOSTS = ("CNAME", "DNAME", "NS", "PTR")
DOTTED = ("CNAME", "DNAME", "TXT", "MX", "SRV", "NAPTR")  # the types whose targets may end with a dot
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
NAPTR = re.compile(r'(\d+)\s+(\d+)\s+"([^"]*)"\s+"([^"]*)"\s+"((?:[^"\\]|\\.)*)"\s+(\S+)')
LONGEST_TEXT = 4000


class BadTarget(ValueError):
    """In words that fit after the name of a field."""


def canonical(type_: str, target: str) -> str:  # noqa: PLR0911 - one answer for each type
    """The target as the server would show it; a service's or root's own dot aside, without a trailing dot."""
    if type_ not in DOTTED and target.endswith("."):
        raise BadTarget(f"{target!r} must not end with a dot")
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
    stripped = target.strip()
    strings = QUOTED.findall(stripped)
    if strings and not QUOTED.sub("", stripped).strip():
        text = "".join(re.sub(r"\\(.)", r"\1", string) for string in strings)
    else:
        text = target
    if len(text.encode()) > LONGEST_TEXT:
        raise BadTarget(f"is a text of {len(text.encode())} bytes; at most {LONGEST_TEXT} are served")
    return text


def _address(target: str, version: int) -> str:
    try:
        address = ipaddress.ip_address(target)
    except ValueError:
        raise BadTarget(f"{target[:80]!r} is not an IPv{version} address") from None
    if address.version != version:
        raise BadTarget(f"{target!r} is an IPv{address.version} address, and the record needs IPv{version}")
    if "%" in target:
        raise BadTarget(f"{target!r} has a scope, which DNS does not know")
    return str(address)


def _host(target: str) -> str:
    if target == ".":
        return target
    try:
        return normal(target)
    except BadName as error:
        raise BadTarget(f"{target[:80]!r} {error}") from None


def _mx(target: str) -> str:
    parts = target.split()
    if len(parts) != 2:
        raise BadTarget(f"{target[:80]!r} is not `preference name`, as in `10 mail.example.org`")
    return f"{_number(parts[0], 'preference')} {_host(parts[1])}"


def _srv(target: str) -> str:
    parts = target.split()
    if len(parts) != 4 or not parts[3].endswith("."):
        words = "is not `priority weight port name.`, as in `10 5 443 www.example.org.` (with the dot at the end)"
        raise BadTarget(f"{target[:80]!r} {words}")
    numbers = [_number(part, what) for part, what in zip(parts, ("priority", "weight", "port"), strict=False)]
    return " ".join([*map(str, numbers), _host(parts[3])])


def _naptr(target: str) -> str:
    match = NAPTR.fullmatch(target.strip())
    if match is None or not target.endswith("."):
        words = 'is not `order preference "flags" "service" "regexp" name.` (with the dot at the end)'
        raise BadTarget(f"{target[:80]!r} {words}")
    order, preference, flags, service, regexp, name = match.groups()
    numbers = f"{_number(order, 'order')} {_number(preference, 'preference')}"
    return f'{numbers} "{flags}" "{service}" "{regexp}" {_host(name)}'


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise BadTarget(f"the {what} {text[:20]!r} is not a number from 0 to 65535")
    return int(text)
