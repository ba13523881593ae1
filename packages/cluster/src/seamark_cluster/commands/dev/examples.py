"""The examples: a folder each, with manifests and the checks that must pass.

- `score.yaml` is a Score file; the Workload that it describes is applied.
- `answers.yaml` is a list of checks (`answers.Check`); without it, an example passes when its objects are ready.
- The parts an example needs follow from the kinds in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from seamark.cli.manifests import read
from seamark.cli.score import placed
from seamark.families.score.scorefile.conversion import read as read_score
from seamark_cluster.commands.dev.checks import Check
from seamark_runtime.errors import UserError

ANSWERS, SCORE = "answers.yaml", "score.yaml"
NODE, EDGE, NAMES, ENVOY = "a node", "an edge", "a name server", "Envoy"  # the parts an example may need
NEEDS = {
    **dict.fromkeys(("Deployment", "StatefulSet", "Pod", "Workload"), (NODE,)),
    **dict.fromkeys(("Gateway", "HTTPRoute"), (ENVOY,)),
    **dict.fromkeys(("AgentEndpoint", "CloudEndpoint", "KubernetesOperator"), (EDGE,)),
    "DNSEndpoint": (NAMES,),
}

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """One folder: the objects to apply, and the checks that must pass."""

    name: str
    manifests: tuple[Manifest, ...]
    checks: tuple[Check, ...] = ()

    @property
    def needs(self) -> set[str]:
        found = {need for manifest in self.manifests for need in NEEDS.get(manifest["kind"], ())}
        balanced = any((item.get("spec") or {}).get("type") == "LoadBalancer" for item in self.manifests)
        named = any(question.dig or question.curl.startswith("workload") for question in self.checks)
        return found | ({EDGE} if balanced else set()) | ({NAMES} if named else set())

    @property
    def objects(self) -> set[str]:
        """Its objects as they are displayed: `Kind namespace/name`."""
        return {shown(manifest) for manifest in self.manifests}


def shown(manifest: Manifest) -> str:
    meta = manifest.get("metadata") or {}
    namespace = "" if manifest["kind"] in ("GatewayClass", "Namespace") else meta.get("namespace") or "default"
    return f"{manifest['kind']} {namespace}/{meta.get('name')}" if namespace else f"{manifest['kind']} {meta['name']}"


def gathered(folder: Path) -> list[Example]:
    """Each folder with manifests; those without Pods first, as they are ready sooner."""
    files = sorted(folder.rglob("*.yaml"))
    directories = dict.fromkeys(file.parent for file in files)
    found = [
        example(directory, [file for file in files if file.parent == directory], folder) for directory in directories
    ]
    if not any(item.manifests for item in found):
        raise UserError(f"no manifests in {folder}", hint="name a folder that has some with --examples")
    return [entry for entry in found if entry.manifests]


def example(directory: Path, files: Iterable[Path], folder: Path) -> Example:
    manifests: list[Manifest] = []
    checks: tuple[Check, ...] = ()
    for file in files:
        if file.name == ANSWERS:
            checks = read_checks(file)
        elif file.name == SCORE:
            manifests.append(placed(read_score(file), "", "default"))
        else:
            manifests += read(file)
    return Example(str(directory.relative_to(folder)), tuple(manifests), checks)


def read_checks(file: Path) -> tuple[Check, ...]:
    try:
        found = msgspec.convert(yaml.safe_load(file.read_text()) or [], tuple[Check, ...])
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UserError(f"{file} has no valid checks ({' '.join(str(error).split())})") from None
    for item in found:
        if [bool(item.curl), bool(item.dig), bool(item.read)].count(True) != 1:
            raise UserError(f"{file}: each check is a curl, a dig or a read")
    return found
