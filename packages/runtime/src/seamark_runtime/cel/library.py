"""The functions that every language has: CEL's own and its extensions for texts, lists, times and optional values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from seamark_runtime.cel import lists, strings
from seamark_runtime.cel.conversions import (
    to_bool,
    to_bytes,
    to_double,
    to_duration,
    to_int,
    to_string,
    to_timestamp,
    to_uint,
)
from seamark_runtime.cel.functions import Function, Library
from seamark_runtime.cel.values import NONE, CelError, Optional, Type, no_overload, type_name


def size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise no_overload("size")


def _zone(zone: str) -> tzinfo:
    return UTC if zone in ("", "UTC") else ZoneInfo(zone)


def _part(read: Callable[[datetime], int], of_duration: float = 0) -> Function:
    def part(value: Any, zone: str = "") -> int:
        if isinstance(value, timedelta) and of_duration:
            return int(value.total_seconds() * of_duration)
        if not isinstance(value, datetime):
            raise no_overload("time")
        return read(value.astimezone(_zone(zone)))

    return Function(part, steps=8)


def optional_none_if_zero(value: Any) -> Optional:
    return NONE if value in (None, "", 0, False, [], {}, b"") else Optional(present=True, value=value)


def value_of(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


STANDARD = Library(
    plain={
        "size": Function(size),
        "int": Function(to_int),
        "uint": Function(to_uint),
        "double": Function(to_double),
        "string": Function(to_string),
        "bool": Function(to_bool),
        "bytes": Function(to_bytes),
        "dyn": Function(lambda value: value),
        "type": Function(lambda value: Type(type_name(value))),
        "duration": Function(to_duration, steps=4),
        "timestamp": Function(to_timestamp, steps=4),
        "matches": strings.MATCHES,
    },
    members={
        "size": Function(size),
        "getFullYear": _part(lambda moment: moment.year),
        "getMonth": _part(lambda moment: moment.month - 1),
        "getDate": _part(lambda moment: moment.day),
        "getDayOfMonth": _part(lambda moment: moment.day - 1),
        "getDayOfWeek": _part(lambda moment: moment.isoweekday() % 7),
        "getDayOfYear": _part(lambda moment: moment.timetuple().tm_yday - 1),
        "getHours": _part(lambda moment: moment.hour, 1 / 3600),
        "getMinutes": _part(lambda moment: moment.minute, 1 / 60),
        "getSeconds": _part(lambda moment: moment.second, 1),
        "getMilliseconds": _part(lambda moment: moment.microsecond // 1000, 1000),
        "hasValue": Function(lambda optional: optional.present),
        "value": Function(value_of),
        "orValue": Function(lambda optional, other: optional.value if optional.present else other),
        "or": Function(lambda optional, other: optional if optional.present else other),
        **strings.MEMBERS,
        **lists.MEMBERS,
    },
    namespaced={
        "optional.of": Function(lambda value: Optional(present=True, value=value)),
        "optional.none": Function(lambda: NONE),
        "optional.ofNonZeroValue": Function(optional_none_if_zero),
        "strings.quote": strings.QUOTE,
        **lists.NAMESPACED,
    },
)
