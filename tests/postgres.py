"""A real PostgreSQL from the system's packages, on loopback, in a directory of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from seamark_edge.store.address import Address
from tests.edge.services import eventually, free_port, give_back
from tools.setup import find_program

USER, PASSWORD = "edge", "a pass:word/with@signs"
SETTINGS = {
    "fsync": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_connections": "40",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "log_line_prefix": "%d ",
}


class PostgresServer:
    """A server with one user. `kill`, `freeze` and `start` again keep port and data.

    It refuses to run as root: then it runs as the user `postgres`, or as nobody.
    """

    def __init__(self) -> None:
        self._owner = _unprivileged()
        self.directory = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.port = free_port()
        self._databases = 0
        self.process: subprocess.Popen[bytes] | None = None
        (self.directory / "password").write_text(PASSWORD)
        if self._owner:
            for path in (self.directory, self.directory / "password"):
                shutil.chown(path, self._owner)
        self.run("initdb", "-D", "data", "-U", USER, "--auth=scram-sha-256", "--pwfile=password", "--no-sync")
        self.start()

    def run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self._program(program), *arguments],
            cwd=self.directory,
            user=self._owner,
            env={**os.environ, "PGPASSWORD": PASSWORD, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self) -> None:
        settings = {**SETTINGS, "port": self.port}
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._program("postgres"), "-D", "data", *(f"--{name}={value}" for name, value in settings.items())],
                cwd=self.directory,
                user=self._owner,
                stdout=log,
                stderr=log,
            )
        eventually(self._answers, "PostgreSQL answers", told=(self.directory / "log").read_text)

    def kill(self) -> None:
        """The server and all processes of its connections, at once."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)  # it starts no other process meanwhile
        children = self._children()
        self.signal_all(signal.SIGKILL)
        self.process.wait()
        eventually(lambda: not any(map(_runs, children)), "the processes of the connections ended")

    def signal_all(self, number: signal.Signals) -> None:
        assert self.process is not None
        for process in (*self._children(), self.process.pid):
            with suppress(ProcessLookupError):  # the process of a connection may end meanwhile
                os.kill(process, number)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.signal_all(signal.SIGCONT)
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(20)
        shutil.rmtree(self.directory, ignore_errors=True)
        give_back(self.port)

    def database(self) -> str:
        """The name of a fresh one."""
        self._databases += 1
        name = f"edge{self._databases}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def url(self, database: str, password: str = PASSWORD) -> str:
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{USER}{secret}@127.0.0.1:{self.port}/{database}"

    def address(self, database: str) -> Address:
        return Address(self.url(database))

    def sql(self, statement: str, database: str = "postgres") -> str:
        """What a person at `psql` would see."""
        return self.run("psql", "-Atq", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", statement)

    def serve_tls(self, certificate: bytes, key: bytes) -> str:
        """From now on; the file that clients trust the certificate by."""
        for name, content in (("server.crt", certificate), ("server.key", key)):
            path = self.directory / "data" / name
            path.write_bytes(content)
            path.chmod(0o600)
            if self._owner:
                shutil.chown(path, self._owner)
        self.sql("ALTER SYSTEM SET ssl = on")
        self.sql("SELECT pg_reload_conf()")
        return str(self.directory / "data" / "server.crt")

    def log_statements(self, database: str) -> None:
        """From the next connection on."""
        self.sql(f"ALTER DATABASE {database} SET log_statement = 'all'")

    def statements(self, database: str) -> list[str]:
        """What was logged of them, without the transactions around them."""
        lines = (self.directory / "log").read_text(errors="replace").splitlines()
        return [line for line in lines if line.startswith(f"{database} LOG:  execute ")]

    def _answers(self) -> bool:
        return (
            subprocess.run(
                [self._program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
            ).returncode
            == 0
        )

    def _children(self) -> list[int]:
        assert self.process is not None
        return [
            int(child)
            for child in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    @staticmethod
    def _program(name: str) -> str:
        found = find_program(name)
        assert found, f"{name} is not installed; see [system] in tools/stages.toml"
        return str(found)


def _runs(process: int) -> bool:
    """A process that has ended and is not reaped holds nothing any more."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _unprivileged() -> str | None:
    if os.geteuid() != 0:
        return None
    users = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in users else "nobody"


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()
