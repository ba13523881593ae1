"""Plain manifests, for those without Helm: what the chart makes of its defaults, as two files in deploy/.

`python -m tools.manifests` writes them; a test fails when one is out of date.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tools.helm import built

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "deploy"
NAMESPACE = "seamark-system"
HOOK = "helm.sh/"
MADE = """\
# Made by `make manifests` from charts/seamark with its defaults. docs/guides/install.md tells how to use it.
# The image is a name without a registry: build it with the Dockerfile, and put its place here.
"""

Json = dict[str, Any]


def files() -> dict[str, str]:
    installed: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    leaving: list[Json] = []
    for one in rendered():
        events = hook(one)
        (leaving if "pre-delete" in events else installed).append(plain(one))
    return {name: MADE + _yaml(found) for name, found in (("install.yaml", installed), ("uninstall.yaml", leaving))}


def rendered() -> list[Json]:
    command = [str(built()), "template", "seamark", str(ROOT / "charts" / "seamark"), "--namespace", NAMESPACE]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [one for one in yaml.safe_load_all(text) if one]


def hook(one: Json) -> str:
    """When Helm would apply it; empty for what is simply there."""
    return str((one["metadata"].get("annotations") or {}).get("helm.sh/hook", ""))


def plain(one: Json) -> Json:
    """Without what only Helm reads."""
    metadata = dict(one["metadata"])
    annotations = {name: text for name, text in (metadata.pop("annotations", None) or {}).items() if HOOK not in name}
    labels = {name: text for name, text in metadata.get("labels", {}).items() if HOOK not in name}
    labels |= {"app.kubernetes.io/managed-by": "kubectl"} if labels else {}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    return {**one, "metadata": metadata}


def _yaml(documents: list[Json]) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True, width=120)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
