"""What a runtime is to run, as plain data: the Workload with every placeholder resolved and in a stable order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.api.score import Compute, Container, File, Workload
from seamark.families.score.model.quantity import InvalidQuantity
from seamark.families.score.model.quantity import check as check_quantity
from seamark.families.score.orchestrator.resolve import SecretKey, Wrong, plain, resolve
from seamark.families.score.orchestrator.state import Seen
from seamark_runtime.api.meta import to_wire
from seamark_runtime.untrusted.numbers import InvalidNumber, integer
from seamark_runtime.untrusted.patterns import Pattern

SERVICE_NAME = Pattern(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
MOST_BYTES = 1_000_000  # of all files of a container together: what fits a ConfigMap
KIND = "k8s.score.dev/kind"
KINDS = ("Deployment", "StatefulSet")
RENDERED = {"route": ("host", "port"), "volume": ("source", "size")}  # outputs that a runtime renders, by type


def values(seen: Seen) -> dict[str, Any]:
    workload = seen.workload
    found: dict[str, Any] = {
        "kind": kind(workload),
        "containers": {
            name: container(seen, spec, f"containers.{name}") for name, spec in sorted(workload.spec.containers.items())
        },
    }
    if workload.spec.service is not None and workload.spec.service.ports:
        found["ports"] = to_wire(sorted(workload.spec.service.ports, key=lambda port: (port.port, port.protocol)))
    if routes := _given(seen, "route"):
        found["routes"] = routes
    if volumes := _given(seen, "volume"):
        found["volumes"] = volumes
    return found


def _given(seen: Seen, type_: str) -> list[dict[str, Any]]:
    """What the claims of a type gave, for the runtime to render."""
    wanted = (key for key, resource in sorted((seen.workload.spec.resources or {}).items()) if resource.type == type_)
    return [{**given(seen.outputs[key].values, type_, key), "key": key} for key in wanted if key in seen.outputs]


def given(outputs: Mapping[str, str], type_: str, key: str) -> Mapping[str, str]:
    """The outputs of a route or a volume, if a runtime can render them: a ConfigMap may hold anything."""
    for name in RENDERED[type_]:
        if name not in outputs:
            raise Wrong(f"resources.{key}: its claim gives no {name}")
    try:
        if type_ == "route":
            integer(outputs["port"], 1, 65535)
        else:
            check_quantity(outputs["size"])
    except (InvalidNumber, InvalidQuantity) as error:
        raise Wrong(f"resources.{key}.params.{'port' if type_ == 'route' else 'size'}: {error}") from None
    return outputs


def kind(workload: Workload) -> str:
    wanted = workload.annotation(KIND) or KINDS[0]
    if wanted not in KINDS:
        raise Wrong(f"metadata.annotations[{KIND}]: {wanted!r} can't be made; there are {', '.join(KINDS)}")
    return wanted


def check_shape(workload: Workload) -> None:
    """What is known of a Workload without any of its claims."""
    kind(workload)
    offers = workload.spec.service is not None and bool(workload.spec.service.ports)
    if offers and not SERVICE_NAME.fullmatch(workload.metadata.name):
        raise Wrong(f"metadata.name: {workload.metadata.name!r} can't name a Service: it must be a DNS label")
    for name, container in sorted(workload.spec.containers.items()):
        check_compute(container.resources, f"containers.{name}.resources")
        size = sum(len((file.content or file.binary_content or "").encode()) for file in container.files)
        if size > MOST_BYTES:
            raise Wrong(f"containers.{name}.files: {size} bytes, more than the {MOST_BYTES} that can be mounted")
        check_commands(container, f"containers.{name}")
        for number, file in enumerate(container.files):
            if file.source is not None:
                raise Wrong(f"containers.{name}.files[{number}].source: URIs are not fetched; use content")
            check_target(file.target, f"containers.{name}.files[{number}].target", file=True)
        for number, volume in enumerate(container.volumes):
            check_target(volume.target, f"containers.{name}.volumes[{number}].target")


def check_commands(container: Container, where: str) -> None:
    """The command line. Variables and files are checked with their placeholders replaced."""
    lines = {"command": container.command, "args": container.args}
    for name, probe in (("livenessProbe", container.liveness_probe), ("readinessProbe", container.readiness_probe)):
        if probe is not None and probe.exec is not None:
            lines[f"{name}.exec.command"] = probe.exec.command
    for name, command in lines.items():
        for number, argument in enumerate(command):
            without_nul(argument, f"{where}.{name}[{number}]")


def check_target(target: str, where: str, *, file: bool = False) -> None:
    """A path below the root of the container, by the way that it shows."""
    without_nul(target, where)
    steps = target.split("/")
    if not target.startswith("/"):
        raise Wrong(f"{where}: {target[:80]!r} is relative; it must begin with /")
    if {".", ".."} & set(steps):
        raise Wrong(f"{where}: {target[:80]!r} must not contain the steps '.' and '..'")
    if not any(steps) or (file and not steps[-1]):
        raise Wrong(f"{where}: {target[:80]!r} must name a {'file' if file else 'directory'} below /")


def without_nul(text: str, where: str) -> str:
    if "\x00" in text:
        raise Wrong(f"{where}: it contains a NUL character, which no process can be given; take it out")
    return text


def check_compute(resources: Compute | None, where: str) -> None:
    if resources is None:
        return
    for kind, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for what, amount in sorted((amounts or {}).items()):
            try:
                check_quantity(amount)
            except InvalidQuantity as error:
                raise Wrong(f"{where}.{kind}.{what}: {error}") from None


def container(seen: Seen, spec: Container, where: str) -> dict[str, Any]:
    found: dict[str, Any] = to_wire(spec)
    for name in ("variables", "files", "volumes"):
        found.pop(name, None)
    variables = spec.variables or {}
    if variables:
        found["variables"] = {
            name: parts(seen, variables[name], f"{where}.variables.{name}") for name in sorted(variables)
        }
    if spec.files:
        found["files"] = [file(seen, each, f"{where}.files[{n}]") for n, each in enumerate(spec.files)]
    if spec.volumes:
        found["volumes"] = [
            {**to_wire(each), "source": volume(seen, each.source, f"{where}.volumes[{n}].source")}
            for n, each in enumerate(spec.volumes)
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
        {"secret": part.name, "key": part.key} if isinstance(part, SecretKey) else without_nul(part, where)
        for part in resolve(text, seen, where)
    ]


def file(seen: Seen, spec: File, where: str) -> dict[str, Any]:
    found: dict[str, Any] = to_wire(spec)
    if spec.content is None:
        return found
    place = f"{where}.content"
    if spec.no_expand:
        return found | {"content": text_of_file(spec.content, place)}
    match resolve(spec.content, seen, place):
        case (SecretKey(name, key),):  # the whole file is a secret: the runtime mounts it by reference
            del found["content"]
            return found | {"secret": name, "key": key}
    return found | {"content": text_of_file(plain(spec.content, seen, place), place)}


def text_of_file(text: str, where: str) -> str:
    if "\x00" in text:
        raise Wrong(f"{where}: it contains a NUL character, so it is no text; use binaryContent")
    return text
