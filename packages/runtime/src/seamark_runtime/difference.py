"""The difference between a wanted object and the live one, by the types of its fields.

- A field that the wanted object does not set belongs to the server or another writer, and stays.
- A struct is compared field by field, a map key by key (keys we don't want go), a list as a whole.
- A struct may name fields that are `OURS` even when they are not set: then their value is removed.
- Of the metadata only labels, annotations and owner references are ours, and those of others stay beside them. An
  owner reference that is ours and not wanted any more is removed: Kubernetes would delete the object for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec

from seamark_runtime.api.meta import Object, ObjectMeta, OwnerReference, to_wire

IsOurs = Callable[[OwnerReference], bool]


def _none_is_ours(_reference: OwnerReference) -> bool:
    return False


def difference(wanted: Object, live: Object, ours: IsOurs = _none_is_ours) -> dict[str, Any]:
    """A merge patch with what `wanted` says and `live` does not; empty when there is nothing to do.

    `ours`: whether an owner reference is one that only we set, so that it is removed where it is not wanted.
    """
    patch = _struct(wanted, live, skip=("metadata",))
    metadata = _metadata(wanted.metadata, live.metadata, ours)
    return {**patch, **({"metadata": metadata} if metadata else {})}


def _metadata(wanted: ObjectMeta, live: ObjectMeta, is_ours: IsOurs) -> dict[str, Any]:
    """Labels, annotations and owner references of others stay; ours are set."""
    patch: dict[str, Any] = {}
    for name in ("labels", "annotations"):
        have = getattr(live, name) or {}
        if changed := {k: v for k, v in (getattr(wanted, name) or {}).items() if have.get(k) != v}:
            patch[name] = changed
    owners = {ref.uid: ref for ref in live.owner_references or ()}
    ours = {ref.uid: ref for ref in wanted.owner_references or ()}
    kept = {uid: ref for uid, ref in owners.items() if uid in ours or not is_ours(ref)}
    if len(kept) < len(owners) or any(owners.get(uid) != ref for uid, ref in ours.items()):
        patch["ownerReferences"] = to_wire(tuple({**kept, **ours}.values()))
    return patch


def _struct(wanted: msgspec.Struct, live: msgspec.Struct | None, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for info in _fields(type(wanted)):
        if info.name in skip:
            continue
        want = getattr(wanted, info.name)
        have = None if live is None else getattr(live, info.name)
        if want is None or (not want and want == info.default):
            if have and have != info.default and info.name in getattr(wanted, "OURS", ()):
                patch[info.encode_name] = None
            continue  # not set: not ours
        change = _value(want, have)
        if change is not UNCHANGED:
            patch[info.encode_name] = change
    return patch


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)  # it reads annotations anew each time, slower than all the rest together


UNCHANGED = object()


def _value(want: Any, have: Any) -> Any:
    if isinstance(want, msgspec.Struct):
        return _struct(want, have) or UNCHANGED
    if isinstance(want, dict):
        return _map(want, have if isinstance(have, dict) else {}) or UNCHANGED
    if isinstance(want, tuple | list):
        return UNCHANGED if _same_list(want, have if isinstance(have, tuple | list) else ()) else to_wire(want)
    return UNCHANGED if want == have else want


def _map(want: dict[str, Any], have: dict[str, Any]) -> dict[str, Any]:
    changed = {k: change for k, v in want.items() if (change := _value(v, have.get(k))) is not UNCHANGED}
    return {**changed, **{k: None for k in have if k not in want}}


def _same_list(want: Iterable[Any], have: Iterable[Any]) -> bool:
    wants, haves = tuple(want), tuple(have)
    return len(wants) == len(haves) and all(_value(w, h) is UNCHANGED for w, h in zip(wants, haves, strict=True))
