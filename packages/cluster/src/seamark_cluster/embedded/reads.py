"""Get and list: the current state, or that at a revision; whole, or page by page."""

from __future__ import annotations

import base64
from bisect import bisect_right
from typing import Any

import msgspec

from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import (
    FieldError,
    Json,
    bad_request,
    expired,
    field_forbidden,
    invalid_object,
    not_found,
    too_large_version,
    unsupported,
)
from seamark_cluster.embedded.machinery.kinds import Kind, list_document
from seamark_cluster.embedded.machinery.revisions import ObjectKey, Revisions, Table
from seamark_cluster.embedded.machinery.selectors import Predicate, both, field_predicate, label_predicate
from seamark_runtime.untrusted.decoding import decode_plain_json

_EXPIRED_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def predicate_of(call: Call) -> Predicate | None:
    labels = label_predicate(call.option("labelSelector") or "")
    fields = field_predicate(call.option("fieldSelector") or "", call.kind.field_path, call.kind.unknown_field)
    return both(labels, fields)


class Reads:
    """Reads objects. Nothing here changes the store."""

    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions

    def get(self, call: Call) -> Json:
        key = (call.namespace if call.kind.names.namespaced else "", call.name)
        requested = self._version(call)
        if requested:
            self._check_not_ahead(requested)
        stored = self._revisions.get(call.kind.storage, key)
        if stored is None:
            raise not_found(call.kind.names.group, call.kind.names.plural, call.name)
        return call.kind.serve(stored)

    def list(self, call: Call) -> Json:
        check_list_options(call)
        matches = predicate_of(call)
        limit = int(call.option("limit") or 0)
        start: ObjectKey | None = None
        token = call.option("continue")
        if token:
            revision, start = self._page(call, token)
        else:
            revision = self._revision_for(call)
        table = self._revisions.at(call.kind.storage, revision)
        keys = scoped_keys(table, call.namespace, start)
        items, last, rest = _take(call.kind, table, keys, matches, limit)
        metadata: Json = call.kind.list_metadata(str(revision))
        if last is not None:
            metadata["continue"] = _token(revision, last)
            if matches is None:
                metadata["remainingItemCount"] = rest
        return list_document(call.kind, [call.kind.listed(item) for item in items], metadata)

    def _revision_for(self, call: Call) -> int:
        requested = self._version(call)
        current = self._revisions.current
        if not requested:
            return current
        self._check_not_ahead(requested)
        exact = call.option("resourceVersionMatch") == "Exact"
        # A limited list with a resourceVersion means exactly that one by default.
        if not exact and not (call.option("limit") and not call.option("resourceVersionMatch")):
            return current
        if requested < self._revisions.compacted:
            raise expired("The resourceVersion for the provided list is too old.")
        return requested

    def _check_not_ahead(self, requested: int) -> None:
        if requested > self._revisions.current:
            raise too_large_version(requested, self._revisions.current)

    @staticmethod
    def _version(call: Call) -> int:
        text = call.option("resourceVersion") or ""
        if not text:
            return 0
        if not text.isdigit():
            why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
            raise bad_request(f'invalid resource version: resourceVersion: Invalid value: "{text}": {why}')
        return int(text)

    def _page(self, call: Call, token: str) -> tuple[int, ObjectKey]:
        try:
            found: Any = decode_plain_json(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            revision, namespace, name = int(found["rv"]), str(found["ns"]), str(found["start"])
        except (KeyError, TypeError, ValueError):
            raise bad_request("invalid continue token: continue key is not valid: it can't be read") from None
        if call.option("resourceVersion") not in (None, "", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        if revision < 0:
            return self._revisions.current, (namespace, name)
        if revision < self._revisions.compacted:
            error = expired(_EXPIRED_PAGE)
            error.list_metadata = {"continue": _token(-1, (namespace, name))}
            raise error
        return revision, (namespace, name)


def _token(revision: int, last: ObjectKey) -> str:
    document = {"v": "meta.k8s.io/v1", "rv": revision, "ns": last[0], "start": last[1]}
    return base64.urlsafe_b64encode(msgspec.json.encode(document)).decode().rstrip("=")


def scoped_keys(table: Table, namespace: str, start: ObjectKey | None = None) -> list[ObjectKey]:
    keys = table.keys
    if namespace:
        first = bisect_right(keys, (namespace, ""))
        last = bisect_right(keys, (namespace + "\0", ""))
        keys = keys[first:last]
    return keys[bisect_right(keys, start) :] if start is not None else keys


def _take(
    kind: Kind, table: Table, keys: list[ObjectKey], matches: Predicate | None, limit: int
) -> tuple[list[Json], ObjectKey | None, int]:
    """Up to `limit` objects, the last key if there are more, and how many more."""
    items: list[Json] = []
    last: ObjectKey | None = None
    for index, key in enumerate(keys):
        obj = kind.serve(table.objects[key])
        if matches is not None and not matches(obj):
            continue
        if limit and len(items) == limit:
            return items, last, len(keys) - index
        items.append(obj)
        last = key
    return items, None, 0


def check_list_options(call: Call) -> None:
    errors: list[FieldError] = []
    match_rule, version = call.option("resourceVersionMatch") or "", call.option("resourceVersion") or ""
    initial = call.option("sendInitialEvents")
    if call.verb == "watch":
        errors += _watch_option_errors(match_rule, initial)
    elif initial is not None:
        errors.append(field_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if call.verb != "watch" and match_rule:
        if not version:
            errors.append(
                field_forbidden(
                    "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if call.option("continue"):
            errors.append(
                field_forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
            )
        if match_rule not in ("Exact", "NotOlderThan"):
            errors.append(unsupported("resourceVersionMatch", match_rule, ["Exact", "NotOlderThan", ""]))
        if match_rule == "Exact" and version == "0":
            errors.append(
                field_forbidden(
                    "resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                )
            )
    if errors:
        raise invalid_object("meta.k8s.io", "ListOptions", "", errors)


def _watch_option_errors(match_rule: str, initial: str | None) -> list[FieldError]:
    if match_rule and initial is None:
        return [
            field_forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        ]
    if initial is not None and match_rule != "NotOlderThan":
        if not match_rule:
            return [
                field_forbidden(
                    "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                )
            ]
        return [
            field_forbidden(
                "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            ),
            unsupported("resourceVersionMatch", match_rule, ["NotOlderThan"]),
        ]
    return []
