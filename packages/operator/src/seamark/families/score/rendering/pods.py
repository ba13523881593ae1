"""The containers and volumes of a plan, as Kubernetes has them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seamark.api import score
from seamark.families.score.model.order import COMPLETE, HEALTHY, in_order
from seamark.families.score.model.planvalues import PlanContainer, PlanFile, PlanMount, PlanValues, SecretPart
from seamark.families.score.model.quantity import canonical
from seamark_runtime.api.apps import Compute, TemplateContainer
from seamark_runtime.api.core import (
    ClaimVolume,
    ConfigMapFiles,
    EnvVar,
    EnvVarSource,
    ExecAction,
    HttpGet,
    HttpHeader,
    KeyRef,
    KeyToPath,
    Probe,
    SecretFiles,
    Volume,
    VolumeMount,
)

LONGEST_NAME = 63  # of a volume
Variables = Mapping[str, Sequence[str | SecretPart]]


def container(name: str, planned: PlanContainer) -> TemplateContainer:
    resources = planned.resources or score.Compute()
    return TemplateContainer(
        name=name,
        image=planned.image,
        command=planned.command or None,
        args=planned.args or None,
        env=environment(planned.variables) or None,
        volume_mounts=mounts(name, planned) or None,
        readiness_probe=probe(planned.readiness_probe),
        liveness_probe=probe(planned.liveness_probe),
        resources=Compute(limits=quantities(resources.limits), requests=quantities(resources.requests)),
    )


def preceding(values: PlanValues) -> Iterator[TemplateContainer]:
    """Those that others wait for, in order: one that ends first, or one that stays beside the others from then on.

    All containers that precede none start after them, too: Kubernetes has one order for all containers of a Pod.
    """
    for name in in_order({name: set(planned.before) for name, planned in values.containers.items()}):
        planned = values.containers[name]
        own, states = container(name, planned), {each.ready for each in planned.before.values()}
        if COMPLETE in states:  # it has ended before anybody could ask it for its health
            yield msgspec.structs.replace(own, readiness_probe=None, liveness_probe=None)
        else:
            probe = (own.readiness_probe or own.liveness_probe) if HEALTHY in states else None
            yield msgspec.structs.replace(own, restart_policy="Always", startup_probe=probe)


def quantities(amounts: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if amounts is None else {what: canonical(amount) for what, amount in sorted(amounts.items())}


def environment(variables: Variables) -> tuple[EnvVar, ...]:
    """A secret is always a reference. Amid other text it is a variable of its own, which the text names."""
    found: list[EnvVar] = []
    for name, parts in sorted(variables.items()):
        secrets = [part for part in parts if isinstance(part, SecretPart)]
        if len(parts) == 1 and secrets:
            found.append(secret_variable(name, secrets[0]))
            continue
        helpers: dict[SecretPart, str] = {}  # the variable that has its value
        for number, part in enumerate(secrets):
            if part not in helpers:
                helpers[part] = f"{name}_SECRET_{number}"
                found.append(secret_variable(helpers[part], part))
        texts = (f"$({helpers[part]})" if isinstance(part, SecretPart) else literal(part) for part in parts)
        found.append(EnvVar(name=name, value="".join(texts)))
    return tuple(found)


def literal(text: str) -> str:
    """A text that Kubernetes expands to exactly itself: it reads $(NAME) as a variable, and $$ as a dollar."""
    expanded = "$(" in text or "$$" in text or text.endswith("$")
    return text.replace("$", "$$") if expanded else text


def secret_variable(name: str, part: SecretPart) -> EnvVar:
    return EnvVar(name=name, value_from=EnvVarSource(secret_key_ref=KeyRef(name=part.secret, key=part.key)))


def probe(planned: score.Probe | None) -> Probe | None:
    if planned is None:
        return None
    if planned.exec is not None:
        return Probe(exec=ExecAction(command=planned.exec.command))
    get = planned.http_get
    if get is None:
        return None
    headers = tuple(HttpHeader(name=each.name, value=each.value) for each in get.headers)
    if get.host and not any(each.name.lower() == "host" for each in headers):
        headers = (HttpHeader(name="Host", value=get.host), *headers)  # the connection goes to the Pod
    return Probe(
        http_get=HttpGet(
            port=get.port,
            path=get.path or "/",
            scheme=get.scheme or "HTTP",
            http_headers=headers or None,
        )
    )


def file_key(file: PlanFile) -> str:
    """The same for the same target: a file that is added does not rename the others."""
    return hashlib.sha256(file.target.encode()).hexdigest()[:16]


def file_volume(container: str, file: PlanFile) -> str:
    """Where a file comes from: the ConfigMap of its container, or a Secret that is only referred to."""
    if not file.secret:
        return f"files-{container}"
    return f"secret-{hashlib.sha256(f'{container} {file_key(file)}'.encode()).hexdigest()[:16]}"


def items(files: Sequence[PlanFile]) -> tuple[KeyToPath, ...]:
    return tuple(
        KeyToPath(
            key=each.key or file_key(each),
            path=file_key(each),
            mode=int(each.mode, 8) if each.mode is not None else None,
        )
        for each in files
    )


def mounts(name: str, planned: PlanContainer) -> tuple[VolumeMount, ...]:
    of_files = [
        VolumeMount(name=file_volume(name, each), mount_path=each.target, sub_path=file_key(each), read_only=True)
        for each in planned.files
    ]
    of_volumes = [
        VolumeMount(name=volume_name(each), mount_path=each.target, sub_path=each.path, read_only=each.read_only)
        for each in planned.volumes
    ]
    return (*of_files, *of_volumes)


def volumes(workload: str, values: PlanValues) -> tuple[Volume, ...]:
    found: list[Volume] = []
    for name, container in sorted(values.containers.items()):
        if own := container.contents:
            files = ConfigMapFiles(name=f"{workload}.{name}.files", items=items(own))
            found.append(Volume(name=f"files-{name}", config_map=files))
        for each in container.files:
            if each.secret:
                secret = SecretFiles(secret_name=each.secret, items=items([each]))
                found.append(Volume(name=file_volume(name, each), secret=secret))
    for volume in values.volumes:
        claim = ClaimVolume(claim_name=volume.source)
        found.append(Volume(name=of_resource(volume.key), persistent_volume_claim=claim))
    mounted = (each for _, container in sorted(values.containers.items()) for each in container.volumes)
    for name, claimed in sorted({volume_name(each): each.claim for each in mounted if each.claim}.items()):
        found.append(Volume(name=name, persistent_volume_claim=ClaimVolume(claim_name=claimed)))
    return tuple(found)


def volume_name(mount: PlanMount) -> str:
    """That of a claim which is there already is a digest: its name may be longer, and have dots."""
    if not mount.claim:
        return of_resource(mount.source)
    return f"claim-{hashlib.sha256(mount.claim.encode()).hexdigest()[:16]}"


def of_resource(key: str) -> str:
    """A name that is too long for a volume is shortened, with a digest."""
    name = f"volume-{key}"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 17]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
