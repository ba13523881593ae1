"""Records in memory."""

from __future__ import annotations

from collections.abc import Iterator

from seamark_edge.store.record import Key, Record
from seamark_runtime.errors import Exists


class Mirror:
    """Records by kind and id, and by kind and name. A name belongs to one record of its kind."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, Record]] = {}
        self._names: dict[tuple[str, str], str] = {}  # ids, by kind and name
        self.version = 0  # grows with every change: what was made from the records is good for one version

    def all(self, kind: str) -> Iterator[Record]:
        return iter(list(self._records.get(kind, {}).values()))

    def get(self, kind: str, ident: str) -> Record | None:
        return self._records.get(kind, {}).get(ident)

    def named(self, kind: str, name: str) -> Record | None:
        ident = self._names.get((kind, name))
        return self.get(kind, ident) if ident else None

    def check_name(self, record: Record) -> None:
        if record.name is not None and self._names.get((record.kind, record.name), record.id) != record.id:
            raise Exists(f"{record.kind} {record.name!r} exists")

    def set(self, key: Key, record: Record | None) -> None:
        """From now on this is the record with the key; None for no record."""
        self.version += 1
        records = self._records.setdefault(key.kind, {})
        before = records.get(key.id)
        if before is not None and before.name is not None and self._names.get((key.kind, before.name)) == key.id:
            del self._names[key.kind, before.name]
        if record is None:
            records.pop(key.id, None)
            return
        records[key.id] = record
        if record.name is not None:
            self._names[key.kind, record.name] = key.id
