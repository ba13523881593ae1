"""The embedded store's state in a file.

- Every write is one line, passed to the kernel before the response is sent: the end of the process, for any reason,
  loses nothing. (A crash of the machine may: nothing is synced to the disk.)
- Reading restores the objects and the revision; an incomplete last line is ignored.
- The file is rewritten, and replaced atomically, when it is opened and when it is much longer than the state.
- One process at a time: a second one gets an error.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import msgspec

from seamark_cluster.embedded import Store
from seamark_cluster.embedded import User as Caller
from seamark_cluster.embedded.machinery.errors import internal
from seamark_cluster.embedded.machinery.revisions import Event
from seamark_runtime.errors import UserError

SPARE = 10_000  # lines beyond the state after which the file is rewritten


class Line(msgspec.Struct, array_like=True):
    """One write; or, without a resource, a token and its user."""

    revision: int
    resource: str
    namespace: str
    name: str
    object: Any = None


_READ = msgspec.json.Decoder(Line)
_WRITE = msgspec.json.Encoder()


class StateFile:
    """Keeps a store's state from `attach` to `close`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._lines = 0
        self._kept = 0
        self._cut = False  # the file may end in an incomplete line
        self._store: Store | None = None
        self._lock = self._locked()

    def _locked(self) -> int:
        """The lock file beside the state file, as the latter is replaced at times."""
        try:
            lock = os.open(self._path.with_name(f".{self._path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise UserError(f"the state can't be kept in {self._path} ({error.strerror})") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise UserError(f"{self._path} is in use", hint="another cluster keeps its state there") from None
        return lock

    def attach(self, store: Store) -> None:
        """Loads the file into the store; from now on every write to the store is appended to the file."""
        objects, revision = self._read(store)
        if objects:
            store.load(objects, revision)
        self._store = store
        self._rewrite(store)
        store.revisions.follow(self._changed)
        store.on_token(self._introduced)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        os.close(self._lock)

    # ---- reading

    def _read(self, store: Store) -> tuple[dict[tuple[str, str, str], Any], int]:
        objects: dict[tuple[str, str, str], Any] = {}
        newest: dict[tuple[str, str, str], int] = {}
        revision = 0
        if not self._path.exists():
            return objects, revision
        lines = self._path.read_bytes().split(b"\n")
        for number, text in enumerate(lines, 1):
            if number == len(lines):
                break  # empty, or an incomplete line of a killed process
            try:
                line = _READ.decode(text)
            except msgspec.DecodeError as error:
                message = f"{self._path} is not a state file of a cluster (line {number}: {error})"
                raise UserError(message, hint="name another file, or move it away") from None
            revision = max(revision, line.revision)
            place = (line.resource, line.namespace, line.name)
            if line.revision < newest.get(place, 0):
                continue  # a write that triggered another is reported after it
            newest[place] = line.revision
            if not line.resource:
                groups = tuple(line.object.get("groups") or ())
                store.register_token(line.name, Caller(line.object["name"], groups, line.object.get("uid", "")))
            elif line.object is None:
                objects.pop(place, None)
            else:
                objects[place] = line.object
        return objects, revision

    # ---- writing

    def _changed(self, event: Event) -> None:
        namespace, name = event.key
        self._append(Line(event.revision, event.resource, namespace, name, event.new))
        if self._lines > 2 * self._kept + SPARE:
            self._rewrite(self._attached())

    def _introduced(self, token: str, user: Caller) -> None:
        self._append(_token_line(token, user))

    def _append(self, line: Line) -> None:
        """A write that can't be stored is refused, as it would be lost at a restart."""
        text = _WRITE.encode(line) + b"\n"
        try:
            if self._cut:  # the rest of an incomplete line would corrupt the next one
                self._rewrite(self._attached())
            elif os.write(self._file, text) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._cut = True
            raise internal(f"the state can't be written to {self._path}: {error.strerror}") from None
        self._cut = False
        self._lines += 1

    def _attached(self) -> Store:
        assert self._store is not None, "nothing is written before a store is attached"
        return self._store

    def _rewrite(self, store: Store) -> None:
        """The current state, without its history."""
        lines = [_token_line(token, user) for token, user in store.tokens()]
        for resource in store.revisions.resources():
            for (namespace, name), obj in store.revisions.objects(resource):
                lines.append(Line(store.revisions.current, resource, namespace, name, obj))
        beside = self._path.with_name(f".{self._path.name}.new")
        new = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        with os.fdopen(os.dup(new), "wb") as file:
            file.writelines(_WRITE.encode(line) + b"\n" for line in lines)
        os.fsync(new)
        beside.replace(self._path)
        if self._file >= 0:
            os.close(self._file)
        self._file, self._lines, self._kept = new, len(lines), len(lines)


def _token_line(token: str, user: Caller) -> Line:
    return Line(0, "", "", token, {"name": user.name, "groups": list(user.groups), "uid": user.uid})
