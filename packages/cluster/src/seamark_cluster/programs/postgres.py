"""The postgres of this machine, started as its image does: the first start makes the user and the database.

- POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, PGDATA, PGPORT are those of the image.
- PostgreSQL does not run as root: there it becomes the user `postgres`, else `nobody`.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

DATA = "/var/lib/postgresql/data"
USERS = ("postgres", "nobody")
PR_SET_PDEATHSIG = 1


class Unusable(Exception):
    """What is not installed, or can't be used, and what to do."""


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    try:
        return _run(arguments, environment)
    except (Unusable, OSError) as error:
        sys.stderr.write(f"postgres: {error}\n")
        return 1


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    account = _account()
    data = Path(environment.get("PGDATA") or DATA) / "main"
    _own(data, account)
    if not (data / "PG_VERSION").exists():
        _initialize(data, environment, account)
    user, group = _ids(account)
    line = [program("postgres"), "-D", str(data), "-k", "", "-h", environment.get("POD_IP") or "*"]
    line += ["-p", environment.get("PGPORT") or "5432", *arguments]
    server = subprocess.Popen(line, user=user, group=group, preexec_fn=_end_with_parent)  # noqa: PLW1509  no threads
    signal.signal(signal.SIGTERM, lambda _number, _frame: server.send_signal(signal.SIGINT))  # disconnects clients
    return server.wait()


def _initialize(data: Path, environment: Mapping[str, str], account: pwd.struct_passwd | None) -> None:
    user = environment.get("POSTGRES_USER") or "postgres"
    password = environment.get("POSTGRES_PASSWORD")
    if not password:
        raise Unusable("POSTGRES_PASSWORD is not set, and the first start needs it")
    database = environment.get("POSTGRES_DB") or user
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "password"
        file.write_text(password)
        _own(file, account)
        options = ("-D", str(data), "-U", user, "--pwfile", str(file), "-A", "scram-sha-256", "-E", "UTF8", "-N")
        _checked([program("initdb"), *options], account)
    with (data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all all scram-sha-256\n")
    if database != "postgres":
        statement = 'CREATE DATABASE "{}";\n'.format(database.replace('"', '""'))
        _checked([program("postgres"), "--single", "-D", str(data), "postgres"], account, statement)


def _checked(command: list[str], account: pwd.struct_passwd | None, text: str = "") -> None:
    if (code := _called(command, account, text)) != 0:
        raise Unusable(f"{Path(command[0]).name} ends with {code}")


def _called(command: list[str], account: pwd.struct_passwd | None, text: str = "") -> int:
    user, group = _ids(account)
    quiet = subprocess.DEVNULL
    return subprocess.run(command, check=False, input=text.encode(), stdout=quiet, user=user, group=group).returncode


def program(name: str) -> str:
    """On the PATH, or where Debian has it."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = shutil.which(name) or next((str(path) for path in versions), None)
    if found is None:
        raise Unusable(f"{name} is not on this machine; install PostgreSQL's server")
    return found


def installed() -> bool:
    try:
        return bool(program("postgres") and program("initdb"))
    except Unusable:
        return False


def _account() -> pwd.struct_passwd | None:
    """The user that the server runs as; None for the one that runs this."""
    if os.geteuid() != 0:
        return None
    for name in USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Unusable(f"it does not run as root, and there is no user {' or '.join(USERS)}")


def _ids(account: pwd.struct_passwd | None) -> tuple[int | None, int | None]:
    return (None, None) if account is None else (account.pw_uid, account.pw_gid)


def _own(path: Path, account: pwd.struct_passwd | None) -> None:
    if not path.exists():
        path.mkdir(parents=True, mode=0o700)
    if account is None:
        return
    os.chown(path, account.pw_uid, account.pw_gid)
    if _called(["/bin/sh", "-c", 'test -r "$1"', "sh", str(path)], account) != 0:
        raise Unusable(
            f"{account.pw_name} can't read {path}; run the cluster as another user, or with --network bridge"
        )


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)
