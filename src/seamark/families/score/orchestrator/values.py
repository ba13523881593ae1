"""What a runtime is to run, as plain data: the Workload with every placeholder resolved and in a stable order."""

from __future__ import annotations

import re
from typing import Any

from seamark.api.meta import to_wire
from seamark.api.score import Container, File, Workload
from seamark.families.score.orchestrator.resolve import SecretKey, Wrong, plain, resolve
from seamark.families.score.orchestrator.state import Seen

SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
MOST_BYTES = 1_000_000  # of all files of a container together: what fits a ConfigMap
KIND = "k8s.score.dev/kind"
KINDS = ("Deployment", "StatefulSet")


def values(seen: Seen) -> dict[str, Any]:
    workload = seen.workload
    found: dict[str, Any] = {
        "kind": kind(workload),
        "containers": {
            name: container(seen, one, f"containers.{name}") for name, one in sorted(workload.spec.containers.items())
        },
    }
    if workload.spec.service is not None and workload.spec.service.ports:
        found["ports"] = to_wire(sorted(workload.spec.service.ports, key=lambda one: (one.port, one.protocol)))
    if routes := _given(seen, "route"):
        found["routes"] = routes
    if volumes := _given(seen, "volume"):
        found["volumes"] = volumes
    return found


def _given(seen: Seen, type_: str) -> list[dict[str, Any]]:
    """What the claims of a type gave, for the runtime to render."""
    wanted = (key for key, one in sorted((seen.workload.spec.resources or {}).items()) if one.type == type_)
    return [{"key": key, **dict(seen.outputs[key].values)} for key in wanted if key in seen.outputs]


def kind(workload: Workload) -> str:
    wanted = workload.annotation(KIND) or KINDS[0]
    if wanted not in KINDS:
        raise Wrong(f"metadata.annotations[{KIND}]: {wanted!r} can't be made; there are {', '.join(KINDS)}")
    return wanted


def check_shape(workload: Workload) -> None:
    """What can be said of a Workload without any of its claims."""
    kind(workload)
    offers = workload.spec.service is not None and bool(workload.spec.service.ports)
    if offers and not SERVICE_NAME.fullmatch(workload.metadata.name):
        raise Wrong(f"metadata.name: {workload.metadata.name!r} can't name a Service: it must be a DNS label")
    for name, one in sorted(workload.spec.containers.items()):
        size = sum(len((file.content or file.binary_content or "").encode()) for file in one.files)
        if size > MOST_BYTES:
            raise Wrong(f"containers.{name}.files: {size} bytes, more than the {MOST_BYTES} that can be mounted")
        for number, file in enumerate(one.files):
            if file.source is not None:
                raise Wrong(f"containers.{name}.files[{number}].source: nobody fetches a URI here; say its content")


def container(seen: Seen, one: Container, where: str) -> dict[str, Any]:
    found: dict[str, Any] = to_wire(one)
    for name in ("variables", "files", "volumes"):
        found.pop(name, None)
    variables = one.variables or {}
    if variables:
        found["variables"] = {
            name: parts(seen, variables[name], f"{where}.variables.{name}") for name in sorted(variables)
        }
    if one.files:
        found["files"] = [file(seen, each, f"{where}.files[{n}]") for n, each in enumerate(one.files)]
    if one.volumes:
        found["volumes"] = [
            {**to_wire(each), "source": volume(seen, each.source, f"{where}.volumes[{n}].source")}
            for n, each in enumerate(one.volumes)
        ]
    return found


def volume(seen: Seen, source: str, where: str) -> str:
    """The key of the resource that gives it."""
    key = plain(source, seen, where)
    resource = (seen.workload.spec.resources or {}).get(key)
    if resource is None or resource.type != "volume":
        raise Wrong(f"{where}: {key!r} is no resource of the type volume")
    return key


def parts(seen: Seen, text: str, where: str) -> list[Any]:
    return [
        {"secret": part.name, "key": part.key} if isinstance(part, SecretKey) else part
        for part in resolve(text, seen, where)
    ]


def file(seen: Seen, one: File, where: str) -> dict[str, Any]:
    found: dict[str, Any] = to_wire(one)
    if one.content is None or one.no_expand:
        return found
    match resolve(one.content, seen, f"{where}.content"):
        case (SecretKey(name, key),):  # the whole file is a secret: the runtime mounts it by reference
            del found["content"]
            return found | {"secret": name, "key": key}
    return found | {"content": plain(one.content, seen, f"{where}.content")}
