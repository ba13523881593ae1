"""Pods as decoded from JSON, and their environment, for tests of pure code."""

from __future__ import annotations

from typing import Any

import msgspec

from seamark_cluster.kubelet.environment import Placement
from seamark_runtime.api.core import ConfigMap, Pod, Secret
from seamark_runtime.api.meta import ObjectMeta

PLACEMENT = Placement("10.244.0.7", "node-1", "10.244.0.1")


def pod(spec: dict[str, Any] | None = None, *, status: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    meta = {"name": "web-1", "namespace": "shop", "uid": "u-1", **metadata}
    spec = {"containers": [{"name": "web", "image": "shop/web"}], **(spec or {})}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status or {}}, Pod)


class Known:
    """ConfigMaps and Secrets of one namespace."""

    def __init__(self, configs: dict[str, dict[str, str]], secrets: dict[str, dict[str, bytes]]) -> None:
        self._configs = configs
        self._secrets = secrets

    def config_map(self, name: str) -> ConfigMap | None:
        data = self._configs.get(name)
        return None if data is None else ConfigMap(metadata=ObjectMeta(name=name), data=data)

    def secret(self, name: str) -> Secret | None:
        data = self._secrets.get(name)
        return None if data is None else Secret(metadata=ObjectMeta(name=name), data=data)


KNOWN = Known({"settings": {"mode": "fast", "size": "3"}}, {"keys": {"token": b"s3cret"}})
