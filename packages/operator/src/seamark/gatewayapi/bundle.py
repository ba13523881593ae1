"""The Gateway API's own CRDs, as published: fetched from the Go module proxy without Go, checked, and installed.

- What arrives is compared with the module's published checksum before anything of it is used.
- CRDs that are installed and newer, or of another channel that has more in it, stay.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.numbers import version_numbers

VERSION = "v1.6.1"
MODULE = "sigs.k8s.io/gateway-api"
CHECKSUM = "h1:mock6phZbI6rvZerwrVNk7hVNymQgHo+6sJ81Ia7ftY="
PROXY = "https://proxy.golang.org"
CHANNELS = ("standard", "experimental")
BUNDLE_VERSION = "gateway.networking.k8s.io/bundle-version"
CHANNEL = "gateway.networking.k8s.io/channel"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times quicker, where it was built with libyaml


def documents(
    channel: str = "standard", environment: Mapping[str, str] = os.environ, proxy: str = PROXY
) -> list[dict[str, Any]]:
    """The manifests of a channel. `proxy` is used where the environment's GOPROXY has no response."""
    if channel not in CHANNELS:
        raise UserError(f"there is no channel {channel!r}", hint=f"there are {' and '.join(CHANNELS)}")
    archive = zipfile.ZipFile(io.BytesIO(_cached(environment, proxy)))
    folder = f"{MODULE}@{VERSION}/config/crd/{channel}/"
    names = [name for name in archive.namelist() if name.startswith(folder) and "_" in name.removeprefix(folder)]
    return [
        document for name in sorted(names) for document in yaml.load_all(archive.read(name), Loader=LOADER) if document
    ]


def definitions(channel: str = "standard") -> list[dict[str, Any]]:
    """The CRDs of a channel alone: admission policies are the cluster administrator's."""
    return [document for document in documents(channel) if document["kind"] == "CustomResourceDefinition"]


def keeps(installed: Mapping[str, str], published: Mapping[str, str]) -> bool:
    """Whether an installed CRD, by its annotations, is kept as it is."""
    have, new = version_numbers(installed.get(BUNDLE_VERSION, "")), version_numbers(published.get(BUNDLE_VERSION, ""))
    if have != new:
        return have > new
    return installed.get(CHANNEL) == "experimental" and published.get(CHANNEL) == "standard"


def _cached(environment: Mapping[str, str], proxy: str) -> bytes:
    base = environment.get("XDG_CACHE_HOME", "")
    archive = (Path(base) if base else Path.home() / ".cache") / "seamark" / "gateway-api" / f"{VERSION}.zip"
    if archive.exists() and checksum(content := archive.read_bytes()) == CHECKSUM:
        return content
    content = _fetched([*environment.get("GOPROXY", "").replace("|", ",").split(","), proxy])
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(f".{os.getpid()}")
    part.write_bytes(content)
    part.replace(archive)
    return content


def _fetched(proxies: list[str]) -> bytes:
    failure = ""
    for proxy in proxies:
        if not proxy.startswith(("https://", "http://")):
            continue
        url = f"{proxy.rstrip('/')}/{MODULE}/@v/{VERSION}.zip"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - the scheme was just checked
                content: bytes = answer.read()
        except OSError as error:
            failure = f"{url}: {error}"
            continue
        if checksum(content) == CHECKSUM:
            return content
        failure = f"{url} is not what its published checksum says"
    raise UserError(
        f"the Gateway API's CRDs can't be downloaded ({failure})", hint="a Go module proxy is needed once: GOPROXY"
    )


def checksum(archive: bytes) -> str:
    """The checksum of a module as go.sum has it."""
    total = hashlib.sha256()
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for name in sorted(opened.namelist()):
            total.update(f"{hashlib.sha256(opened.read(name)).hexdigest()}  {name}\n".encode())
    return "h1:" + base64.b64encode(total.digest()).decode()
