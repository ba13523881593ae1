"""Network namespaces as file descriptors: nothing on a file system, and removed when unused.

- A namespace exists as long as a descriptor or a process refers to it; the kernel removes its interfaces with it.
- A switch affects the calling thread, and the threads and processes that it starts from then on.
- Python has these calls from 3.12 on, so they go through the C library.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seamark_runtime.errors import SeamarkError, UserError

CLONE_NEWNET = 0x40000000
OURS = "/proc/thread-self/ns/net"
NEEDED = "network namespaces need root's rights here (CAP_NET_ADMIN and CAP_SYS_ADMIN)"

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: int) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def current() -> int:
    """A descriptor of the namespace that this thread is in."""
    return os.open(OURS, os.O_RDONLY | os.O_CLOEXEC)


def create() -> int:
    """A new, empty namespace, with its loopback down. This thread stays where it is."""
    return _in_thread(_unshared)


def enter(descriptor: int) -> None:
    """Moves this thread to the namespace."""
    _call("setns", descriptor, CLONE_NEWNET)


@contextmanager
def inside(descriptor: int) -> Iterator[None]:
    """Moves this thread to the namespace for the duration of the block."""
    before = current()
    try:
        enter(descriptor)
        try:
            yield
        finally:
            enter(before)
    finally:
        os.close(before)


def path(descriptor: int) -> str:
    """A path of the namespace that other processes can open while this one holds the descriptor."""
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def allowed() -> bool:
    """Whether this process has the rights to create namespaces and to move between them."""
    try:
        os.close(create())
    except OSError:
        return False
    return True


def demand() -> None:
    """Raises a UserError where the rights are missing."""
    if not allowed():
        raise UserError(NEEDED, hint="run as root, or without namespaces on the embedded cluster (--network loopback)")


def ip(lines: Sequence[str], namespace: int | None = None) -> None:
    """Runs commands of ip(8) in one batch, here or in another namespace."""
    into = ["nsenter", f"--net={path(namespace)}"] if namespace is not None else []
    command = [*into, "ip", "-batch", "-"]
    try:
        run = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is not installed", hint="it comes with iproute2 and util-linux") from None
    if run.returncode != 0:
        errors = run.stderr.strip().splitlines()
        raise SeamarkError(f"ip: {errors[0] if errors else run.returncode} (of: {'; '.join(lines)})")


def _unshared() -> int:
    _call("unshare", CLONE_NEWNET)
    return current()


def _in_thread(work: Callable[[], int]) -> int:
    """Runs in a thread that ends afterwards, so that no thread is left in the wrong namespace."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except OSError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcome[0], OSError):
        raise outcome[0]
    return int(outcome[0])
