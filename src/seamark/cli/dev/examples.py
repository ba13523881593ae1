"""The examples: a folder each, with manifests, and beside them what must answer when they are true.

- `score.yaml` is a Score file, and stands for the Workload that it describes.
- `answers.yaml` is a list of questions (`answers.Question`); without it, an example is true when its objects say so.
- What an example needs of its surroundings follows from the kinds in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from seamark.cli.dev.answers import Question
from seamark.cli.manifests import read
from seamark.cli.score import placed
from seamark.core.errors import UserError
from seamark.families.score.file import read as read_score

ANSWERS, SCORE = "answers.yaml", "score.yaml"
NODE, EDGE, NAMES, ENVOY = "a node", "an edge", "a name server", "Envoy"  # what an example may need
NEEDS = {
    **dict.fromkeys(("Deployment", "StatefulSet", "Pod", "Workload"), (NODE,)),
    **dict.fromkeys(("Gateway", "HTTPRoute"), (ENVOY,)),
    **dict.fromkeys(("AgentEndpoint", "CloudEndpoint", "KubernetesOperator"), (EDGE,)),
    "DNSEndpoint": (NAMES,),
}

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """One folder: what is applied, and what must answer."""

    name: str
    manifests: tuple[Manifest, ...]
    questions: tuple[Question, ...] = ()

    @property
    def needs(self) -> set[str]:
        found = {need for one in self.manifests for need in NEEDS.get(one["kind"], ())}
        balanced = any((one.get("spec") or {}).get("type") == "LoadBalancer" for one in self.manifests)
        named = any(question.dig or question.curl.startswith("workload") for question in self.questions)
        return found | ({EDGE} if balanced else set()) | ({NAMES} if named else set())

    @property
    def objects(self) -> set[str]:
        """Its objects, as they are shown: `Kind namespace/name`."""
        return {shown(one) for one in self.manifests}


def shown(manifest: Manifest) -> str:
    meta = manifest.get("metadata") or {}
    namespace = "" if manifest["kind"] in ("GatewayClass", "Namespace") else meta.get("namespace") or "default"
    return f"{manifest['kind']} {namespace}/{meta.get('name')}" if namespace else f"{manifest['kind']} {meta['name']}"


def gathered(folder: Path) -> list[Example]:
    """Each folder with manifests; those without Pods first, as they are true sooner."""
    files = sorted(folder.rglob("*.yaml"))
    homes = dict.fromkeys(file.parent for file in files)
    found = [example(home, [file for file in files if file.parent == home], folder) for home in homes]
    if not any(one.manifests for one in found):
        raise UserError(f"no manifests in {folder}", hint="name a folder that has some with --examples")
    return [one for one in found if one.manifests]


def example(home: Path, files: Iterable[Path], folder: Path) -> Example:
    manifests: list[Manifest] = []
    questions: tuple[Question, ...] = ()
    for file in files:
        if file.name == ANSWERS:
            questions = asked(file)
        elif file.name == SCORE:
            manifests.append(placed(read_score(file), "", "default"))
        else:
            manifests += read(file)
    return Example(str(home.relative_to(folder)), tuple(manifests), questions)


def asked(file: Path) -> tuple[Question, ...]:
    try:
        found = msgspec.convert(yaml.safe_load(file.read_text()) or [], tuple[Question, ...])
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UserError(f"{file} has no questions ({' '.join(str(error).split())})") from None
    for one in found:
        if [bool(one.curl), bool(one.dig), bool(one.read)].count(True) != 1:
            raise UserError(f"{file}: each question is a curl, a dig or a read")
    return found
