"""Helm on a cluster, as a platform engineer uses it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.kubelet_machine import Machine

CHART = Path(__file__).parents[2] / "charts" / "seamark"
NAMESPACE = "seamark-system"


class HelmFailed(Exception):
    """Helm refused; its message."""


def run(helm: Path, *arguments: str, values: dict[str, Any] | None = None, kubeconfig: Path | None = None) -> str:
    command = [str(helm), *arguments]
    if values is not None:
        command += ["--values", "-"]
    if kubeconfig is not None:
        command += ["--kubeconfig", str(kubeconfig)]
    done = subprocess.run(
        command,
        input=yaml.safe_dump(values) if values is not None else None,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise HelmFailed((done.stderr + done.stdout).strip())
    return done.stdout


def rendered(
    helm: Path, values: dict[str, Any] | None = None, *options: str, name: str = "seamark"
) -> list[dict[str, Any]]:
    """What the chart makes of these values, without a cluster."""
    text = run(helm, "template", name, str(CHART), "--namespace", NAMESPACE, *options, values=values or {})
    return [one for one in yaml.safe_load_all(text) if one]


@dataclass
class Site:
    """A cluster, and Helm for it."""

    machine: Machine
    helm: Path

    def run(self, *arguments: str, values: dict[str, Any] | None = None, kubeconfig: Path | None = None) -> str:
        return run(self.helm, *arguments, values=values, kubeconfig=kubeconfig or self.machine.plane.kubeconfig)

    def install(self, name: str = "seamark", values: dict[str, Any] | None = None, *options: str) -> str:
        where = ("--namespace", NAMESPACE, "--create-namespace")
        return self.run("install", name, str(CHART), *where, "--wait", "--timeout=180s", *options, values=values or {})

    def upgrade(self, chart: Path = CHART, values: dict[str, Any] | None = None, *options: str) -> str:
        where = ("--namespace", NAMESPACE, "--wait", "--timeout=180s")
        return self.run("upgrade", "seamark", str(chart), *where, *options, values=values or {})

    def uninstall(self, name: str = "seamark", *options: str) -> str:
        return self.run("uninstall", name, "--namespace", NAMESPACE, "--wait", "--timeout=180s", *options)

    def objects(self, kinds: str, *options: str) -> list[dict[str, Any]]:
        found = self.machine.plane.kubectl("get", kinds, "--output=json", *options)
        items: list[dict[str, Any]] = json.loads(found)["items"]
        return items
