"""Pods, as far as it matters who has an address. A cluster has many: everything else is dropped when they are read."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from seamark.api.meta import Object, Resource, Wire


class PodNetwork(Wire, frozen=True, kw_only=True):
    host_network: bool = False


class PodIP(Wire, frozen=True, kw_only=True):
    ip: str = ""


class PodAddresses(Wire, frozen=True, kw_only=True):
    phase: str = ""
    pod_ips: tuple[PodIP, ...] | None = msgspec.field(default=None, name="podIPs")


class PodAddress(Object, frozen=True, kw_only=True):
    """A Pod's name and addresses."""

    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Pod", "pods")

    spec: PodNetwork = PodNetwork()
    status: PodAddresses | None = None
