"""The ways to a service that are compared, each as processes of their own."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram, cache, go_agent, only_one
from tests.edge.services import eventually, free_port

HERE = Path(__file__).parent


@contextmanager
def process(*command: str, environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **(environment or {})})
        try:
            yield child
        finally:
            child.terminate()
            child.wait(20)


def listening(port: int) -> bool:
    needle = f":{port:04X} "
    lines = Path("/proc/net/tcp").read_text().splitlines()
    return any(needle in line.split()[1] + " " and line.split()[3] == "0A" for line in lines)


@contextmanager
def service(role: str) -> Iterator[int]:
    port = free_port()
    with process(sys.executable, "-m", "tests.bench.edge.load", role, str(port)):
        eventually(lambda: listening(port), f"the {role} service listens")
        yield port


@contextmanager
def forwarder(target: int) -> Iterator[tuple[int, list[int]]]:
    port = free_port()
    with process(sys.executable, "-m", "tests.bench.edge.forward", str(port), str(target)) as child:
        eventually(lambda: listening(port), "the forwarder listens")
        yield port, [child.pid]


@contextmanager
def edge_with(agent: str, *targets: int) -> Iterator[tuple[list[int], list[int]]]:
    """Public ports for these targets through an edge and this agent, and the two processes' ids."""
    with ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "state"
        edge = RunningEdge(state, connections_per_source=100_000, log_level="warning")
        stack.callback(edge.close)
        command = [str(go_agent())] if agent == "go" else [sys.executable, "-m", "tests.edge.seamark_agent"]
        program = AgentProgram(*command)
        stack.callback(program.kill)
        program.must("connect", **edge.connection())
        made = [program.must("forward", url="tcp://", upstream=f"tcp://127.0.0.1:{target}") for target in targets]
        ports = [int(answer["url"].rpartition(":")[2]) for answer in made]
        yield ports, [edge.process.pid, program.process.pid]


def sshd() -> tuple[str, dict[str, str]] | None:
    """The OpenSSH server, and what it needs in its environment: the system's, or Debian's package unpacked once."""
    found = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found:
        return found, {}
    home = cache().parent / "bench" / "openssh"
    with only_one("openssh"):
        if not (home / "complete").exists():
            if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
                return None
            home.mkdir(parents=True, exist_ok=True)
            got = subprocess.run(
                ["apt-get", "download", "openssh-server", "libwrap0"], cwd=home, capture_output=True, check=False
            )
            if got.returncode:
                return None
            for package in home.glob("*.deb"):
                subprocess.run(["dpkg", "-x", package.name, "."], cwd=home, check=True)
                package.unlink()
            (home / "complete").touch()
    libraries = next(home.glob("**/libwrap.so.0")).parent
    return str(home / "usr/sbin/sshd"), {"LD_LIBRARY_PATH": str(libraries)}


def with_accounts(home: Path, command: list[str]) -> list[str]:
    """Root's sshd wants an account of its own and an unlocked root: given to it alone, in a mount namespace."""
    if os.getuid() != 0:
        return command
    accounts = Path("/etc/passwd").read_text() + "sshd:x:9999:65534::/run/sshd:/usr/sbin/nologin\n"
    (home / "passwd").write_text(accounts)
    (home / "shadow").write_text(Path("/etc/shadow").read_text().replace("root:*", "root:x"))
    (home / "shadow").chmod(0o600)
    mounts = " && ".join(f"mount --bind {home / name} /etc/{name}" for name in ("passwd", "shadow"))
    words = f"{mounts} && mount -t tmpfs none /run && mkdir /run/sshd && exec {shlex.join(command)}"
    return ["unshare", "-m", "sh", "-c", words]


def children(pid: int) -> list[int]:
    found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [grandchild for child in found for grandchild in children(child)]


@contextmanager
def ssh_reverse(target: int) -> Iterator[tuple[int, list[int]] | None]:
    """A port through `ssh -R`; None where there is no OpenSSH server to be had."""
    server = sshd()
    if server is None or shutil.which("ssh") is None:
        yield None
        return
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port, public = free_port(), free_port()
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)], check=True)
        shutil.copy(home / "user.pub", home / "authorized")
        (home / "config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {home / 'host'}\nAuthorizedKeysFile {home / 'authorized'}\n"
            f"StrictModes no\nUsePAM no\nPidFile none\nMaxStartups 100\n"
        )
        command = with_accounts(home, [server[0], "-D", "-f", str(home / "config")])
        daemon = stack.enter_context(process(*command, environment=server[1]))
        eventually(lambda: listening(port), "sshd listens")
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ExitOnForwardFailure=yes"]
        flags = [flag for option in options for flag in ("-o", option)]
        reverse = f"127.0.0.1:{public}:127.0.0.1:{target}"
        client = ["ssh", "-N", "-F", "none", "-i", str(home / "user"), "-p", str(port), *flags, "-R", reverse]
        here = stack.enter_context(process(*client, f"{getpass.getuser()}@127.0.0.1"))
        eventually(lambda: listening(public), "ssh -R listens", 20)
        session = children(daemon.pid)
        yield public, [here.pid, *session]
