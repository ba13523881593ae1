"""What a runtime is to run, as plain data: the Workload with every placeholder resolved and in a stable order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.api.score import Compute, Container, File, Workload
from seamark.families.score.model.identity import identity
from seamark.families.score.model.order import fault as order_fault
from seamark.families.score.model.ownership import DELETE
from seamark.families.score.model.quantity import InvalidQuantity
from seamark.families.score.model.quantity import check as check_quantity
from seamark.families.score.model.serviceports import SERVICE_NAME, ports_of, service_name
from seamark.families.score.orchestrator.placeholders import whole_resource
from seamark.families.score.orchestrator.resolve import SecretKey, Wrong, plain, resolve
from seamark.families.score.orchestrator.routes import route
from seamark.families.score.orchestrator.state import Seen
from seamark_runtime.api.meta import to_wire
from seamark_runtime.quantity import parse as parse_quantity
from seamark_runtime.untrusted.patterns import Pattern

DNS_LABEL = Pattern(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LONGEST_SERVICE = 63
RECORDS = (".score.dev", ".seamark.dev", ".kubectl.kubernetes.io", ".meta.helm.sh", ".argocd.argoproj.io")
MOST_BYTES = 1_000_000  # of all files of a container together: what fits a ConfigMap
KIND = "k8s.score.dev/kind"
KINDS = ("Deployment", "StatefulSet")
LONGEST_SHOWN = 80  # characters of a target
CLAIM_NAME = Pattern(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
LONGEST_CLAIM = 253
VARIABLE = Pattern(r"[-._a-zA-Z][-._a-zA-Z0-9]*")  # as Kubernetes accepts them
RENDERED = {"route": ("host", "port"), "volume": ("source", "size")}  # outputs that a runtime renders, by type


def values(seen: Seen) -> dict[str, Any]:
    workload = seen.workload
    found: dict[str, Any] = {
        "kind": kind(workload),
        "containers": {
            name: container(seen, spec, f"containers.{name}") for name, spec in sorted(workload.spec.containers.items())
        },
    }
    if annotated := user_annotations(workload):
        found["annotations"] = annotated
    if workload.spec.service is not None and workload.spec.service.ports:
        if (named := service_name(workload)) != workload.metadata.name:
            found["serviceName"] = named
        found["ports"] = to_wire(sorted(workload.spec.service.ports, key=lambda port: (port.port, port.protocol)))
    if routes := _given(seen, "route"):
        found["routes"] = routes
    if volumes := [_kept(seen, volume) for volume in _given(seen, "volume")]:
        found["volumes"] = volumes
    return found


def _kept(seen: Seen, volume: dict[str, Any]) -> dict[str, Any]:
    """With the policy of its claim, and what it is shared by: a runtime keeps it as long as another plan has it."""
    kept = {name: value for name, value in volume.items() if name not in ("deprovisionPolicy", "shared")}
    resource, policy = seen.resources[volume["key"]], seen.claims[volume["key"]].spec.deprovision_policy
    if policy != DELETE:
        kept["deprovisionPolicy"] = policy
    if (shared := identity(resource.type, resource.class_, resource.id)) is not None:
        kept["shared"] = shared.digest
    return kept


def _given(seen: Seen, type_: str) -> list[dict[str, Any]]:
    """What the claims of a type gave, for the runtime to render."""
    wanted = (key for key, resource in sorted((seen.workload.spec.resources or {}).items()) if resource.type == type_)
    return [{**given(seen, type_, key), "key": key} for key in wanted if key in seen.outputs]


def given(seen: Seen, type_: str, key: str) -> Mapping[str, str]:
    """The outputs of a route or a volume, if a runtime can render them: a ConfigMap may hold anything."""
    outputs, params = seen.outputs[key].values, f"resources.{key}.params"
    for name in RENDERED[type_]:
        if name not in outputs:
            raise Wrong(f"resources.{key}: its claim gives no {name}")
    if type_ == "route":
        return route(outputs, ports_of(seen.workload), params)
    try:
        check_quantity(outputs["size"])
    except InvalidQuantity as error:
        raise Wrong(f"{params}.size: {error}") from None
    return outputs


def user_annotations(workload: Workload) -> dict[str, str]:
    """For Pods and Service: not those by which Seamark and tools that apply manifests keep records."""
    found = workload.metadata.annotations or {}
    return {name: found[name] for name in sorted(found) if "/" not in name or not _is_record(name)}


def _is_record(annotation: str) -> bool:
    return f".{annotation.partition('/')[0]}".endswith(RECORDS)


def check_service_name(workload: Workload) -> None:
    name = service_name(workload)
    if len(name) <= LONGEST_SERVICE and DNS_LABEL.fullmatch(name):
        return
    place = f"metadata.annotations[{SERVICE_NAME}]" if workload.annotation(SERVICE_NAME) else "metadata.name"
    raise Wrong(f"{place}: {name[:80]!r} can't name a Service: it must be a DNS label")


def kind(workload: Workload) -> str:
    wanted = workload.annotation(KIND) or KINDS[0]
    if wanted not in KINDS:
        raise Wrong(f"metadata.annotations[{KIND}]: {wanted!r} can't be made; there are {', '.join(KINDS)}")
    return wanted


def check_shape(workload: Workload) -> None:
    """What is known of a Workload without any of its claims."""
    kind(workload)
    if wrong := order_fault(workload.spec.containers):
        raise Wrong(wrong)
    offers = workload.spec.service is not None and bool(workload.spec.service.ports)
    if offers:
        check_service_name(workload)
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
        check_places(container, f"containers.{name}")
        check_variables(container, f"containers.{name}.variables")
        check_requests(container.resources, f"containers.{name}.resources")


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


def check_places(container: Container, where: str) -> None:
    """A file and a volume at the same place: one would hide the other."""
    volumes = {volume.target.rstrip("/") for volume in container.volumes}
    for file in container.files:
        if file.target in volumes:
            raise Wrong(f"{where}.files[{file.target[:80]}]: there is a volume at the same target")


def check_variables(container: Container, where: str) -> None:
    for name in sorted(container.variables or {}):
        if not VARIABLE.fullmatch(name):
            raise Wrong(f"{where}.{name[:80]}: no process can be given a variable of this name; use letters, digits, _")


def check_requests(resources: Compute | None, where: str) -> None:
    """Of an amount a container can't request more than its limit: Kubernetes would refuse its Pod."""
    limits, requests = (resources.limits or {}, resources.requests or {}) if resources is not None else ({}, {})
    for what in sorted(limits.keys() & requests.keys()):
        if parse_quantity(requests[what]).amount > parse_quantity(limits[what]).amount:
            raise Wrong(f"{where}.requests.{what}: {requests[what]} is more than the limit {limits[what]}")


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
        found["files"] = [
            file(seen, each, entry(f"{where}.files", n, each.target)) for n, each in enumerate(spec.files)
        ]
    if spec.volumes:
        found["volumes"] = [
            {**to_wire(each), **volume(seen, each.source, f"{entry(f'{where}.volumes', n, each.target)}.source")}
            for n, each in enumerate(spec.volumes)
        ]
    return found


def entry(where: str, number: int, target: str) -> str:
    """The place of a file or a volume: by its target, as a Score file has it, if that can be shown."""
    return f"{where}[{target}]" if target.isprintable() and len(target) <= LONGEST_SHOWN else f"{where}[{number}]"


def volume(seen: Seen, source: str, where: str) -> dict[str, str]:
    """The key of the resource that gives it; a plain name that is none is that of a PersistentVolumeClaim."""
    key = whole_resource(source) or plain(source, seen, where)
    resource = seen.resources.get(key)
    if resource is None and "$" not in source and CLAIM_NAME.fullmatch(key) and len(key) <= LONGEST_CLAIM:
        return {"source": key, "claim": key}
    if resource is None or resource.type != "volume":
        raise Wrong(f"{where}: {key!r} is no resource of the type volume")
    return {"source": key}


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
