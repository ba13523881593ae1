"""Checks that many kinds share."""

from __future__ import annotations

import ipaddress
from typing import Any

from seamark_cluster.embedded.machinery.errors import FieldError, Json, invalid, unsupported

IP_MESSAGE = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CIDR_MESSAGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
PORT_MESSAGE = "must be between 1 and 65535, inclusive"
NEGATIVE_MESSAGE = "must be greater than or equal to 0"


def port(path: str, number: int) -> list[FieldError]:
    return [] if 1 <= number <= 65535 else [invalid(path, number, PORT_MESSAGE)]


def not_negative(obj: Json, path: str, *fields: str) -> list[FieldError]:
    return [
        invalid(f"{path}.{field}" if path else field, obj[field], NEGATIVE_MESSAGE)
        for field in fields
        if obj.get(field) is not None and obj[field] < 0
    ]


def one_of(path: str, value: Any, allowed: tuple[str, ...]) -> list[FieldError]:
    return [] if value in allowed else [unsupported(path, value, list(allowed))]


def ip_address(path: str, text: str) -> list[FieldError]:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return [invalid(path, text, IP_MESSAGE)]
    return []


def cidr(path: str, text: str) -> list[FieldError]:
    try:
        if "/" not in text:
            raise ValueError(text)
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return [invalid(path, text, CIDR_MESSAGE)]
    return []
