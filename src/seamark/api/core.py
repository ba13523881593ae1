"""The core group, as far as Seamark reads or makes its kinds."""

from __future__ import annotations

from typing import ClassVar

from seamark.api.meta import Object, Resource


class ConfigMap(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")

    data: dict[str, str] | None = None


class Namespace(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Namespace", "namespaces", namespaced=False)


class Service(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Service", "services")
