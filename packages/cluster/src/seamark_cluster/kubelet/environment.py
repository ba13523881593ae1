"""A container's environment and command line, as Kubernetes defines them. Pure: lookups are passed in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from seamark_runtime.api.core import ConfigMap, Container, EnvFrom, EnvVarSource, KeyRef, Pod, Secret
from seamark_runtime.errors import SeamarkError

REFERENCE = re.compile(r"\$(?:\$|\(([A-Za-z_.-][A-Za-z0-9_.-]*)\))")
SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class NotConfigured(SeamarkError):
    """A reference of the container does not exist (yet): a ConfigMap, a Secret, a key, a field."""


class Lookup(Protocol):
    """ConfigMaps and Secrets of the Pod's namespace."""

    def config_map(self, name: str) -> ConfigMap | None: ...

    def secret(self, name: str) -> Secret | None: ...


@dataclass(frozen=True)
class Placement:
    """Facts about a Pod on its node that its spec does not have, for the downward API."""

    address: str
    node: str
    node_address: str


def environment(
    pod: Pod, container: Container, lookup: Lookup, placement: Placement, first: Mapping[str, str]
) -> dict[str, str]:
    """`first` are the variables of image and kubelet; the container's own replace them."""
    found = dict(first)
    for source in container.env_from or ():
        found.update(_all_of(source, lookup))
    for variable in container.env or ():
        if variable.value_from is None:
            found[variable.name] = expand(variable.value, found)
        elif (value := _value_of(pod, variable.value_from, lookup, placement)) is not None:
            found[variable.name] = value
    return found


def expand(text: str, known: Mapping[str, str]) -> str:
    """Expands $(NAME) where it is known; $$ is a literal $."""

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return known.get(name, match.group(0))

    return REFERENCE.sub(replace, text)


def command_line(
    container: Container, command: Sequence[str], args: Sequence[str], env: Mapping[str, str]
) -> list[str]:
    """As with images: a container's command replaces the image's command and args, its args only the image's args."""
    own = container.args or ()
    line = (*container.command, *own) if container.command else (*command, *(own or args))
    return [expand(argument, env) for argument in line]


def field(pod: Pod, path: str, placement: Placement) -> str:
    """A field of the downward API."""
    if match := SUBSCRIPT.fullmatch(path):
        known = pod.metadata.labels if match.group(1) == "labels" else pod.metadata.annotations
        return (known or {}).get(match.group(2), "")
    fields = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.uid,
        "spec.nodeName": placement.node,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": placement.node_address,
        "status.hostIPs": placement.node_address,
        "status.podIP": placement.address,
        "status.podIPs": placement.address,
    }
    if path in ("metadata.labels", "metadata.annotations"):
        known = pod.metadata.labels if path.endswith("labels") else pod.metadata.annotations
        return "\n".join(f'{name}="{value}"' for name, value in sorted((known or {}).items()))
    if path not in fields:
        raise NotConfigured(f"fieldPath {path} is not supported")
    return fields[path]


def _all_of(source: EnvFrom, lookup: Lookup) -> dict[str, str]:
    values: dict[str, str] = {}
    if (ref := source.config_map_ref) is not None:
        config = lookup.config_map(ref.name)
        if config is None and not ref.optional:
            raise NotConfigured(f'configmap "{ref.name}" not found')
        values.update((config.data if config else None) or {})
    if (ref := source.secret_ref) is not None:
        secret = lookup.secret(ref.name)
        if secret is None and not ref.optional:
            raise NotConfigured(f'secret "{ref.name}" not found')
        data = (secret.data if secret else None) or {}
        values.update({name: value.decode(errors="replace") for name, value in data.items()})
    return {source.prefix + name: value for name, value in values.items()}


def _value_of(pod: Pod, source: EnvVarSource, lookup: Lookup, placement: Placement) -> str | None:
    if source.field_ref is not None:
        return field(pod, source.field_ref.field_path, placement)
    if source.config_map_key_ref is not None:
        ref = source.config_map_key_ref
        config = lookup.config_map(ref.name)
        return _key(ref, "configmap", None if config is None else config.data or {})
    if source.secret_key_ref is not None:
        ref = source.secret_key_ref
        secret = lookup.secret(ref.name)
        data = None if secret is None else secret.data or {}
        text = None if data is None else {name: value.decode(errors="replace") for name, value in data.items()}
        return _key(ref, "secret", text)
    if source.resource_field_ref is not None:
        return "0"  # processes here have no limits
    raise NotConfigured("this kind of valueFrom is not supported")


def _key(ref: KeyRef, kind: str, data: Mapping[str, str] | None) -> str | None:
    if data is not None and ref.key in data:
        return data[ref.key]
    if ref.optional:
        return None
    if data is None:
        raise NotConfigured(f'{kind} "{ref.name}" not found')
    raise NotConfigured(f'couldn\'t find key {ref.key} in {kind} "{ref.name}"')
