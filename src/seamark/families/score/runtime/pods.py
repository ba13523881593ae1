"""The containers and volumes of a plan, as Kubernetes has them."""

from __future__ import annotations

import hashlib
from typing import Any

from seamark.api.apps import Compute, TemplateContainer
from seamark.api.core import (
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
from seamark.families.score.runtime.quantity import canonical

Json = dict[str, Any]


def container(name: str, one: Json) -> TemplateContainer:
    compute = {
        name: {what: canonical(amount) for what, amount in sorted(amounts.items())}
        for name, amounts in (one.get("resources") or {}).items()
    }
    return TemplateContainer(
        name=name,
        image=one["image"],
        command=tuple(one.get("command") or ()) or None,
        args=tuple(one.get("args") or ()) or None,
        env=environment(one.get("variables") or {}) or None,
        volume_mounts=mounts(name, one) or None,
        readiness_probe=probe(one.get("readinessProbe")),
        liveness_probe=probe(one.get("livenessProbe")),
        resources=Compute(limits=compute.get("limits"), requests=compute.get("requests")),
    )


def environment(variables: dict[str, list[Any]]) -> tuple[EnvVar, ...]:
    """A secret is always a reference. Amid other text it is a variable of its own, which the text names."""
    found: list[EnvVar] = []
    for name, parts in sorted(variables.items()):
        secrets = [part for part in parts if isinstance(part, dict)]
        if len(parts) == 1 and secrets:
            found.append(secret_variable(name, secrets[0]))
            continue
        text = ""
        for part in parts:
            if isinstance(part, dict):
                helper = f"{name}_SECRET_{secrets.index(part)}"
                if helper not in {one.name for one in found}:
                    found.append(secret_variable(helper, part))
                text += f"$({helper})"
            else:
                text += part.replace("$(", "$$(")  # Kubernetes would take it for a variable
        found.append(EnvVar(name=name, value=text))
    return tuple(found)


def secret_variable(name: str, part: Json) -> EnvVar:
    return EnvVar(name=name, value_from=EnvVarSource(secret_key_ref=KeyRef(name=part["secret"], key=part["key"])))


def probe(one: Json | None) -> Probe | None:
    if not one:
        return None
    if "exec" in one:
        return Probe(exec=ExecAction(command=tuple(one["exec"]["command"])))
    get = one["httpGet"]
    headers = tuple(HttpHeader(name=each["name"], value=each["value"]) for each in get.get("headers") or ())
    return Probe(
        http_get=HttpGet(
            port=get["port"],
            path=get.get("path") or "/",
            host=get.get("host", ""),
            scheme=get.get("scheme") or "HTTP",
            http_headers=headers or None,
        )
    )


def file_key(one: Json) -> str:
    """The same for the same target: a file that is added does not rename the others."""
    return hashlib.sha256(one["target"].encode()).hexdigest()[:16]


def file_volume(container: str, one: Json) -> str:
    """Where a file comes from: the ConfigMap of its container, or a Secret that is only referred to."""
    if "secret" not in one:
        return f"files-{container}"
    return f"secret-{hashlib.sha256(f'{container} {file_key(one)}'.encode()).hexdigest()[:16]}"


def items(files: list[Json]) -> tuple[KeyToPath, ...]:
    return tuple(
        KeyToPath(
            key=each.get("key") or file_key(each),
            path=file_key(each),
            mode=int(each["mode"], 8) if "mode" in each else None,
        )
        for each in files
    )


def contents(one: Json) -> list[Json]:
    """The files of a container that are not in a Secret."""
    return [each for each in one.get("files") or () if "secret" not in each]


def mounts(name: str, one: Json) -> tuple[VolumeMount, ...]:
    of_files = [
        VolumeMount(name=file_volume(name, each), mount_path=each["target"], sub_path=file_key(each), read_only=True)
        for each in one.get("files") or ()
    ]
    of_volumes = [
        VolumeMount(
            name=f"volume-{each['source']}",
            mount_path=each["target"],
            sub_path=each.get("path", ""),
            read_only=each.get("readOnly", False),
        )
        for each in one.get("volumes") or ()
    ]
    return (*of_files, *of_volumes)


def volumes(workload: str, values: Json) -> tuple[Volume, ...]:
    found: list[Volume] = []
    for name, one in sorted(values.get("containers", {}).items()):
        if own := contents(one):
            files = ConfigMapFiles(name=f"{workload}.{name}.files", items=items(own))
            found.append(Volume(name=f"files-{name}", config_map=files))
        for each in one.get("files") or ():
            if "secret" in each:
                secret = SecretFiles(secret_name=each["secret"], items=items([each]))
                found.append(Volume(name=file_volume(name, each), secret=secret))
    for volume in values.get("volumes", ()):
        claim = ClaimVolume(claim_name=volume["source"])
        found.append(Volume(name=f"volume-{volume['key']}", persistent_volume_claim=claim))
    return tuple(found)
