"""Field ownership: `managedFields` through updates, and server-side apply.

- An `Entry` is one manager's claim: its name, the operation (Apply or Update), the version and the subresource.
- An update takes the fields it changed from all other managers. An apply claims exactly the fields it sent; fields it
  sent before and no longer sends are given up, and removed where no other manager owns them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from seamark_cluster.embedded.machinery.errors import ApiError, Json, quoted
from seamark_cluster.embedded.machinery.fieldsets import Trie, difference, intersection, members, shown, union, without
from seamark_cluster.embedded.machinery.merging import MISSING, Changes, compare, field_set, merge, remove
from seamark_cluster.embedded.machinery.shapes import MergeError, Shape, with_named_fields
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json

MAX_UPDATERS = 10
"""More update entries than this are merged into one per version."""

# Fields without an owner: an object's identity, and what only the server writes.
_UNOWNED: Trie = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{
            f"f:{name}": {}
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        },
    },
}


@dataclass(frozen=True, slots=True)
class Writer:
    """The manager, the operation and the subresource of a write."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One manager's claim, as an element of `managedFields`."""

    writer: Writer
    time: str | None
    fields: Trie

    def identity(self) -> Writer:
        """Updates are distinguished by version as well; an applier is the same in every version."""
        return self.writer if self.writer.operation == "Update" else replace(self.writer, api_version="")

    def document(self) -> Json:
        writer = self.writer
        document: Json = {
            "manager": writer.manager,
            "operation": writer.operation,
            "apiVersion": writer.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields,
            "subresource": writer.subresource,
        }
        return {key: value for key, value in document.items() if value or key == "fieldsV1"}


Entries = dict[Writer, Entry]


def decode(documents: Iterable[Json] | None) -> Entries:
    """The claims of an object; none where they can't be decoded, as in the API server."""
    entries: Entries = {}
    for document in documents or ():
        readable = document.get("operation") in ("Apply", "Update") and document.get("fieldsType") == "FieldsV1"
        if not (readable and document.get("apiVersion")):
            return {}
        writer = Writer(
            document.get("manager", ""),
            document["operation"],
            document["apiVersion"],
            document.get("subresource", ""),
        )
        entry = Entry(writer, document.get("time"), document.get("fieldsV1") or {})
        entries[entry.identity()] = entry
    return entries


def encode(entries: Entries) -> list[Json]:
    def order(entry: Entry) -> tuple[str, ...]:
        writer = entry.writer
        return (writer.operation, entry.time or "", writer.manager, writer.api_version, writer.subresource)

    return [entry.document() for entry in sorted(entries.values(), key=order)]


def after_update(shape: Shape, entries: Entries, live: Json, new: Json, write: tuple[Writer, str, Trie]) -> Entries:
    """The claims after a create, update or patch. `write` has the manager, the time, and the fields to ignore."""
    writer, now, ignored = write
    try:
        changes = compare(shape, live, new)
    except MergeError:
        return entries
    changes = _visible(changes, ignored)
    changed = union(changes.modified, changes.added)
    kept = _less(entries, changed, changes.removed)
    owned = difference(changed, _UNOWNED)
    if not owned:
        return kept
    entry = Entry(writer, now, owned)
    before = kept.get(entry.identity())
    kept[entry.identity()] = replace(entry, fields=union(before.fields, owned)) if before else entry
    return _capped(kept)


def _visible(changes: Changes, ignored: Trie) -> Changes:
    if not ignored:
        return changes
    return Changes(*(without(change, ignored) for change in changes))


def _less(entries: Entries, changed: Trie, removed: Trie) -> Entries:
    kept: Entries = {}
    for identity, entry in entries.items():
        fields = entry.fields
        if changed:
            fields = difference(fields, intersection(fields, changed))
        if removed:
            fields = difference(fields, removed)
        if fields:
            kept[identity] = entry if fields == entry.fields else replace(entry, fields=fields)
    return kept


def _capped(entries: Entries) -> Entries:
    updaters = [entry for entry in entries.values() if entry.writer.operation == "Update"]
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return entries
    updaters.sort(key=lambda entry: (entry.time or "", entry.writer.manager))
    kept = dict(entries)
    first: dict[str, Entry] = {}
    for entry in updaters:
        if excess <= 0:
            break
        version = entry.writer.api_version
        if version not in first:
            first[version] = entry
            continue
        bucket = Writer("ancient-changes", "Update", version)
        if bucket not in kept:
            oldest = first[version]
            del kept[oldest.identity()]
            kept[bucket] = replace(oldest, writer=bucket)
        kept[bucket] = Entry(bucket, entry.time, union(entry.fields, kept[bucket].fields))
        del kept[entry.identity()]
        excess -= 1
    return kept


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of an apply: the merged object, and its claims."""

    document: Json
    entries: Entries


def apply(shape: Shape, entries: Entries, live: Json, config: Json, write: tuple[Writer, str, Trie, bool]) -> Applied:
    """Server-side apply. `write` has the manager, the time, the fields to ignore, and whether conflicts are forced."""
    writer, now, ignored, force = write
    try:
        merged = merge(shape, live, config)
        claimed = without(field_set(shape, config), ignored)
    except MergeError as error:
        raise ApiError(500, "", f"failed to create typed patch object: {error}") from None
    entry = Entry(writer, now, claimed)
    identity = entry.identity()
    before = entries.get(identity)
    managers = {**entries, identity: entry}
    if before is not None:
        merged = _pruned(shape, merged, managers, before.fields, claimed)
    changes = _visible(compare(shape, live, merged), ignored)
    others = {manager: item for manager, item in managers.items() if manager != identity}
    changed = union(changes.modified, changes.added)
    if not force:
        _refuse_conflicts(others, difference(changed, _once_applied(shape, live, writer)))
    kept = _less(others, changed, changes.removed)
    owned = difference(claimed, _UNOWNED)
    if merged == live:
        merged, entry = live, replace(entry, time=before.time if before else None)
    if owned:
        kept[identity] = replace(entry, fields=owned)
    return Applied(merged, kept)


def _once_applied(shape: Shape, live: Json, writer: Writer) -> Trie:
    """What kubectl applied before it used server-side apply: it may take that over from itself."""
    annotations = live.get("metadata", {}).get("annotations") or {}
    if writer.manager != "kubectl" or LAST_APPLIED not in annotations:
        return {}
    try:
        return field_set(shape, decode_plain_json(annotations[LAST_APPLIED]))
    except (Malformed, MergeError):
        return {}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def _refuse_conflicts(others: Entries, changed: Trie) -> None:
    conflicts = [
        (entry.writer, shown(path))
        for entry in sorted(others.values(), key=lambda item: (item.writer.manager, item.writer.operation))
        for path in members(intersection(entry.fields, changed))
    ]
    if not conflicts:
        return
    causes: list[Json] = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_named(writer)}", "field": path}
        for writer, path in conflicts
    ]
    raise ApiError(409, "Conflict", _conflict_message(conflicts), {"causes": causes})


def _conflict_message(conflicts: list[tuple[Writer, str]]) -> str:
    if len(conflicts) == 1:
        writer, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_named(writer)}: {path}"
    lines: list[str] = []
    for writer in dict.fromkeys(writer for writer, _ in conflicts):
        lines.append(f"conflicts with {_named(writer)}:")
        lines += [f"- {path}" for manager, path in conflicts if manager == writer]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _named(writer: Writer) -> str:
    name = quoted(writer.manager)
    if writer.subresource:
        name += f" with subresource {quoted(writer.subresource)}"
    return f"{name} using {writer.api_version}" if writer.operation == "Update" else name


def _pruned(shape: Shape, merged: Json, managers: Entries, last: Trie, claimed: Trie) -> Json:
    """The merged object without what this manager applied before, no longer applies, and no other manager owns."""
    if not difference(last, claimed):
        return merged
    owned: Trie = {}
    for entry in managers.values():
        owned = union(owned, entry.fields)
    last = with_named_fields(shape, last)
    merged_set = with_named_fields(shape, field_set(shape, merged))
    pruned = _removed(shape, merged, last)
    pruned_set = with_named_fields(shape, field_set(shape, pruned))
    pruned = _removed(shape, merged, difference(merged_set, union(pruned_set, with_named_fields(shape, owned))))
    pruned_set = with_named_fields(shape, field_set(shape, pruned))
    return _removed(shape, merged, intersection(difference(merged_set, pruned_set), last))


def _removed(shape: Shape, document: Json, cut: Trie) -> Json:
    result: Any = remove(shape, document, cut)
    return {} if result in (None, MISSING) else result
