"""The directory of Envoys that outlive the operator: who owns it, and which processes are of it.

- One operator at a time owns it, by a lock that the kernel releases with its process.
- An Envoy is recorded before it is started, so that an operator that is killed leaves no unknown one. Its process is
  found by its command line, which names a file of this directory, and has to be of our own user.
- It is adopted if it was started as this operator would start it: the same program, options and bootstrap.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from seamark_edge.dataplane.envoy.directories import fits
from seamark_edge.dataplane.envoy.process import Adopted
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.decoding import Malformed, decode_json

Socket = tuple[str, int]  # address and port


class Record(msgspec.Struct, frozen=True):
    """An Envoy that runs, or is about to. `identity`: how it was started."""

    namespace: str
    name: str
    identity: str
    sockets: tuple[Socket, ...] = ()  # where it may listen

    @property
    def gateway(self) -> Key:
        return Key(self.namespace, self.name)


@dataclass(frozen=True)
class Files:
    """Of one Envoy."""

    config: Path
    output: Path
    record: Path

    @classmethod
    def of(cls, folder: Path, gateway: Key) -> Files:
        digest = hashlib.sha256(str(gateway).encode()).hexdigest()  # the names can be too long for a file's
        return cls(folder / f"{digest}.json", folder / f"{digest}.log", folder / f"{digest}.record")

    def remove(self) -> None:
        for file in (self.config, self.output, self.record):
            file.unlink(missing_ok=True)

    def write_record(self, record: Record) -> None:
        written = self.record.with_suffix(".new")
        written.write_bytes(msgspec.json.encode(record))
        written.rename(self.record)

    def process(self) -> Adopted | None:
        """The process that was started with this configuration, if it runs."""
        for pid in _pids():
            if found := Adopted.running(pid, self.output, self._is_ours):
                return found
        return None

    def _is_ours(self, pid: int) -> bool:
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            return Path(f"/proc/{pid}").stat().st_uid == os.geteuid() and os.fsencode(self.config) in arguments
        except OSError:
            return False


class StateDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = -1

    def acquire(self) -> bool:
        """Whether it is ours now."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = self.path.stat()
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise UserError(f"gateway_state: {self.path} is open to other users", hint=f"chmod 700 {self.path}")
        if not fits(self.path):
            raise UserError(f"gateway_state: {self.path} is too long for a socket", hint="choose a shorter path")
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._lock = handle
        return True

    def release(self) -> None:
        os.close(self._lock)
        self._lock = -1

    def left(self) -> list[tuple[Files, Record | None]]:
        """Envoys that an earlier process has started; without a record that can be read: None."""
        return list(self._records())

    def _records(self) -> Iterator[tuple[Files, Record | None]]:
        for file in sorted(self.path.glob("*.record")):
            files = Files(file.with_suffix(".json"), file.with_suffix(".log"), file)
            try:
                yield files, decode_json(file.read_bytes(), Record)
            except (OSError, Malformed):
                yield files, None


def identity(command: Sequence[str], config: str) -> str:
    """Changes when this would start another program, or the same one in another way."""
    program = Path(command[0]).stat()
    text = f"{[*command]} {config} {program.st_ino} {program.st_size} {program.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
