"""Pods with the fields that identify the owner of an address. A cluster has many: other fields are dropped when
decoding."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from seamark_runtime.api.meta import Object, Resource, Wire


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
