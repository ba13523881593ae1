"""The files of a Pod's volumes. Their content is computed; writing is one small step at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seamark_cluster.kubelet.environment import Lookup, NotConfigured, Placement
from seamark_cluster.kubelet.environment import field as pod_field
from seamark_runtime.api.core import (
    ConfigMapFiles,
    DownwardFiles,
    KeyToPath,
    Pod,
    Projection,
    SecretFiles,
    TokenFile,
    Volume,
)

MODE = 0o644


@dataclass(frozen=True)
class File:
    content: bytes
    mode: int = MODE


@dataclass(frozen=True)
class Contents:
    """The content of a volume: files by their path in it, tokens to request, or a directory of the machine."""

    files: Mapping[str, File] = field(default_factory=dict)
    tokens: tuple[TokenFile, ...] = ()
    host: Path | None = None
    kept: bool = False  # an emptyDir: the Pod's own files stay as long as the Pod


def contents(pod: Pod, volume: Volume, lookup: Lookup, placement: Placement) -> Contents:
    if volume.empty_dir is not None:
        return Contents(kept=True)
    if volume.host_path is not None:
        return Contents(host=Path(volume.host_path.path))
    if volume.config_map is not None:
        return Contents(_config_map(volume.config_map, lookup))
    if volume.secret is not None:
        return Contents(_secret(volume.secret, lookup))
    if volume.downward_api is not None:
        return Contents(_downward(pod, volume.downward_api, placement))
    if volume.projected is not None:
        return _projected(pod, volume.projected.sources or (), lookup, placement)
    raise NotConfigured(
        f'volume "{volume.name}" has an unsupported type; '
        "supported are emptyDir, configMap, secret, downwardAPI, projected, hostPath and persistentVolumeClaim"
    )


def write(directory: Path, files: Mapping[str, File]) -> None:
    """Makes a directory contain exactly these files. Each is replaced atomically."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        path = directory / name
        if path.is_file() and path.read_bytes() == file.content:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
        os.fchmod(descriptor, file.mode)  # whatever the umask is
        with os.fdopen(descriptor, "wb") as out:
            out.write(file.content)
        fresh.replace(path)
    for path in sorted(directory.rglob("*"), reverse=True):
        name = str(path.relative_to(directory))
        if path.is_file() and name not in files:
            path.unlink()
        elif path.is_dir() and not any(known.startswith(f"{name}/") for known in files):
            shutil.rmtree(path, ignore_errors=True)


def safe(path: str) -> str:
    """A path inside a volume; one that leads out of it is refused."""
    if path.startswith("/") or ".." in path.split("/") or "\x00" in path or not path:
        raise NotConfigured(f"{path!r} is not a path inside a volume")
    return path


def mount_point(path: str) -> str:
    """The directory of a mount in a container: the mount path below the container's root."""
    steps = path.split("/")
    if not path.startswith("/") or {".", ".."} & set(steps) or "\x00" in path or not any(steps):
        raise NotConfigured(f"mountPath {path!r} must be absolute, without '.' and '..', and not the root")
    return path.rstrip("/")


def _chosen(
    data: Mapping[str, bytes], items: Iterable[KeyToPath] | None, mode: int | None, source: str, optional: bool
) -> dict[str, File]:
    usual = MODE if mode is None else mode
    if items is None:
        return {safe(name): File(value, usual) for name, value in data.items()}
    files = {}
    for item in items:
        if item.key in data:
            files[safe(item.path)] = File(data[item.key], usual if item.mode is None else item.mode)
        elif not optional:
            raise NotConfigured(f"{source} has no key {item.key}")
    return files


def _config_map(source: ConfigMapFiles, lookup: Lookup) -> dict[str, File]:
    found = lookup.config_map(source.name)
    if found is None:
        if source.optional:
            return {}
        raise NotConfigured(f'configmap "{source.name}" not found')
    data = {name: text.encode() for name, text in (found.data or {}).items()} | (found.binary_data or {})
    return _chosen(data, source.items, source.default_mode, f'configmap "{source.name}"', source.optional)


def _secret(source: SecretFiles, lookup: Lookup) -> dict[str, File]:
    name = source.secret_name or source.name
    found = lookup.secret(name)
    if found is None:
        if source.optional:
            return {}
        raise NotConfigured(f'secret "{name}" not found')
    return _chosen(found.data or {}, source.items, source.default_mode, f'secret "{name}"', source.optional)


def _downward(pod: Pod, source: DownwardFiles, placement: Placement) -> dict[str, File]:
    files = {}
    for item in source.items or ():
        if item.field_ref is not None:
            files[safe(item.path)] = File(pod_field(pod, item.field_ref.field_path, placement).encode())
        else:
            files[safe(item.path)] = File(b"0")  # processes here have no limits
    return files


def _projected(pod: Pod, sources: Iterable[Projection], lookup: Lookup, placement: Placement) -> Contents:
    files: dict[str, File] = {}
    tokens: list[TokenFile] = []
    for source in sources:
        if source.config_map is not None:
            files |= _config_map(source.config_map, lookup)
        if source.secret is not None:
            files |= _secret(source.secret, lookup)
        if source.downward_api is not None:
            files |= _downward(pod, source.downward_api, placement)
        if source.service_account_token is not None:
            safe(source.service_account_token.path)
            tokens.append(source.service_account_token)
    return Contents(files, tuple(tokens))
