"""Claims and volumes, as far as a node follows the one to the other."""

from __future__ import annotations

from typing import Any, ClassVar

from seamark_runtime.api.core import HostPath
from seamark_runtime.api.meta import Object, Resource, Wire


class BoundClaimSpec(Wire, frozen=True, kw_only=True):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None
    resources: dict[str, Any] | None = None


class BoundClaim(Object, frozen=True, kw_only=True):
    """A PersistentVolumeClaim: which volume it is bound to, and what it asks for."""

    RESOURCE: ClassVar[Resource] = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")

    spec: BoundClaimSpec = BoundClaimSpec()


class PersistentVolumeSpec(Wire, frozen=True, kw_only=True):
    host_path: HostPath | None = None
    local: HostPath | None = None


class PersistentVolume(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
