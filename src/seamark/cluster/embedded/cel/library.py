"""The functions an expression may call: CEL's own, its string and list extensions, and Kubernetes'."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from seamark.cluster.embedded.cel import kubernetes, lists, strings
from seamark.cluster.embedded.cel.operators import bounded
from seamark.cluster.embedded.cel.values import (
    NONE,
    CelError,
    Optional,
    Type,
    UInt,
    no_overload,
    parse_duration,
    parse_timestamp,
    type_name,
)

Function = Callable[..., Any]


def size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise no_overload("size")


def to_int(value: Any) -> int:
    if isinstance(value, bool):
        raise no_overload("int")
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, (int, float)):
        return int(bounded(int(value), 0))
    if isinstance(value, str):
        try:
            return int(bounded(int(value), 0))
        except ValueError:
            raise CelError(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None
    raise no_overload("int")


def to_uint(value: Any) -> UInt:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise no_overload("uint")
    try:
        return UInt(bounded(int(value), UInt(0)))
    except ValueError:
        raise CelError(f'strconv.ParseUint: parsing "{value}": invalid syntax') from None


def to_double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise no_overload("double")
    try:
        return float(value)
    except ValueError:
        raise CelError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None


def _shown_double(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


_SHOWN: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bool, lambda value: "true" if value else "false"),
    (str, str),
    (float, _shown_double),
    (int, lambda value: str(int(value))),
    (bytes, lambda value: value.decode()),
    (datetime, lambda value: value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
    (timedelta, lambda value: f"{_shown_double(value.total_seconds())}s"),
)


def to_string(value: Any) -> str:
    for kind, show in _SHOWN:
        if isinstance(value, kind):
            return show(value)
    if hasattr(value, "as_string"):
        return str(value.as_string())
    raise no_overload("string")


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "True", "TRUE", "t", "1"):
        return True
    if value in ("false", "False", "FALSE", "f", "0"):
        return False
    raise no_overload("bool")


def to_duration(value: Any) -> timedelta:
    return value if isinstance(value, timedelta) else parse_duration(value)


def to_timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, int):
        return datetime.fromtimestamp(value, UTC)
    return parse_timestamp(value)


def _zone(zone: str) -> tzinfo:
    return UTC if zone in ("", "UTC") else ZoneInfo(zone)


def _part(read: Callable[[datetime], int], of_duration: float = 0) -> Function:
    def part(value: Any, zone: str = "") -> int:
        if isinstance(value, timedelta) and of_duration:
            return int(value.total_seconds() * of_duration)
        if not isinstance(value, datetime):
            raise no_overload("time")
        return read(value.astimezone(_zone(zone)))

    return part


def optional_none_if_zero(value: Any) -> Optional:
    return NONE if value in (None, "", 0, False, [], {}, b"") else Optional(present=True, value=value)


def value_of(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


NAMESPACES: dict[str, Function] = {
    "optional.of": lambda value: Optional(present=True, value=value),
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": optional_none_if_zero,
    "math.greatest": lambda *values: lists.extreme(values, 1),
    "math.least": lambda *values: lists.extreme(values, -1),
    "strings.quote": strings.quote,
    "sets.contains": lists.sets_contain,
    "sets.equivalent": lambda one, other: lists.sets_contain(one, other) and lists.sets_contain(other, one),
    "sets.intersects": lists.sets_intersect,
    **kubernetes.NAMESPACES,
}

_GLOBAL: dict[str, Function] = {
    "size": size,
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "string": to_string,
    "bool": to_bool,
    "bytes": lambda value: value if isinstance(value, bytes) else value.encode(),
    "dyn": lambda value: value,
    "type": lambda value: Type(type_name(value)),
    "duration": to_duration,
    "timestamp": to_timestamp,
    "matches": strings.matches,
    **kubernetes.GLOBAL,
}

_MEMBER: dict[str, Function] = {
    "size": size,
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
    "hasValue": lambda optional: optional.present,
    "value": value_of,
    "orValue": lambda optional, other: optional.value if optional.present else other,
    "or": lambda optional, other: optional if optional.present else other,
    **strings.MEMBER,
    **lists.MEMBER,
    **kubernetes.MEMBER,
}

FUNCTIONS: dict[tuple[str, bool], Function] = {
    **{(name, False): function for name, function in _GLOBAL.items()},
    **{(name, True): function for name, function in _MEMBER.items()},
}
