"""Starts a container's process: joins its network, mounts its files, and executes its program.

Run as a script of its own, `python -I -S launch.py PLAN`, with the container's environment already set. PLAN is JSON:
`{"argv": [...], "cwd": "/", "network": "/proc/…" or "", "mounts": [[from, to, read_only], …], "kept": ["/…"],
"staging": "/…"}`.
It needs the standard library only, as a container should start within milliseconds.

- It dies with the process that started it: no Pod outlives its kubelet.
- Mounts are made in a mount namespace of its own; this machine sees none of them. Where a mount point does not exist,
  the nearest directory above it is mirrored (an empty file system with each entry bound into it), and the mount point
  is created there, so that nothing is written into the machine's own directories.
- The directories in `kept`, which contain the program, stay visible, also below a mount that covers them.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, SIGKILL = 1, 9

_libc = ctypes.CDLL(None, use_errno=True)


def main(text: str) -> None:
    plan = json.loads(text)
    argv = plan["argv"]
    try:
        _libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if plan["network"]:
            join(plan["network"])
        if plan["mounts"]:
            mount_all([tuple(mount) for mount in plan["mounts"]], plan["kept"], plan["staging"])
        os.chdir(plan["cwd"] or "/")
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606  that is what it is for
    except FileNotFoundError as error:
        fail(127, f"can't start {argv[0]}: {error.filename or argv[0]} is not on this machine")
    except OSError as error:
        fail(126, f"can't start {argv[0]}: {error}")


def fail(code: int, message: str) -> None:
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
    os._exit(code)


def check(outcome: int, what: str) -> None:
    if outcome != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def join(network: str) -> None:
    descriptor = os.open(network, os.O_RDONLY)
    check(_libc.setns(descriptor, CLONE_NEWNET), "joining the Pod's network")
    os.close(descriptor)


def mount(source: str, target: str, kind: str, flags: int) -> None:
    arguments = [source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), None]
    check(_libc.mount(*arguments), f"mounting {source or kind} on {target}")


def bind(source: str, target: str, read_only: bool = False) -> None:
    mount(source, target, "", MS_BIND | MS_REC)
    if read_only:
        mount("", target, "", MS_BIND | MS_REMOUNT | MS_RDONLY)


def mount_all(mounts: list[tuple[str, str, bool]], kept: list[str], staging: str) -> None:
    check(_libc.unshare(CLONE_NEWNS), "a mount namespace")
    mount("", "/", "", MS_REC | MS_PRIVATE)
    # Links are followed now: an absolute one (/var/run → /run) would lead out of a mirrored root. Sources are held now:
    # one mount (on /tmp) may cover what another comes from.
    mounts = [(held(source), os.path.realpath(target), read_only) for source, target, read_only in mounts]
    covered = [path for path in kept if any(path.startswith(target + "/") for _, target, _ in mounts)]
    mounts += [(held(path), path, False) for path in covered]
    root = ""
    if any(nearest(target) == "/" for _, target, _ in mounts):
        mirror("/", staging)
        root = staging
    mirrored: list[str] = [root or "/"]
    placed: list[str] = []
    for source, target, read_only in sorted(mounts, key=lambda item: item[1]):
        path = root + target
        above = nearest(path)
        ours = above in mirrored or any(above == entry or above.startswith(entry + "/") for entry in placed)
        if above != path and not ours:
            mirror(above, above)
            mirrored.append(above)
        place(source, path, read_only)
        placed.append(path)
    if root:
        os.chroot(root)
        os.chdir("/")


def held(source: str) -> str:
    """A path of it that stays valid, whatever is mounted over its own."""
    return f"/proc/self/fd/{os.open(source, os.O_PATH)}"


def place(source: str, path: str, read_only: bool) -> None:
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
    bind(source, path, read_only)


def nearest(path: str) -> str:
    """The path itself if it exists, or the first existing directory above it."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def mirror(directory: str, onto: str) -> None:
    """An empty file system with the entries of a directory, in which more can be created."""
    before = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)  # keeps what will be covered reachable
    entries = list(os.scandir(directory))
    os.makedirs(onto, exist_ok=True)
    mount("tmpfs", onto, "tmpfs", 0)
    for entry in entries:
        source, target = f"/proc/self/fd/{before}/{entry.name}", os.path.join(onto, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(source), target)
        elif entry.is_dir(follow_symlinks=False):
            os.mkdir(target)
            bind(source, target)
        else:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o644))
            bind(source, target)
    os.close(before)


if __name__ == "__main__":
    main(sys.argv[1])
