"""What the Envoys of a gateway are made from, and the call for their certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.api.gatewayinfra import FrontService
from seamark.families.gateway.model.options import Cluster
from seamark.gatewayapi.listeners import NO_PORTS, GatewayPorts
from seamark_edge.dataplane.envoy.identity import Identity
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Call


@dataclass(frozen=True)
class Certify:
    """The action of a call: the certificate of this Gateway's Envoys, the present one if it is good."""

    identity: Identity
    authority: Mapping[str, bytes] = field(repr=False)
    present: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class Credential:
    """A certificate with its key, and the authority that both sides trust."""

    files: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class SeenCredential:
    """What is known of a Gateway's certificate, and the result of the call for it."""

    call: Call[Credential] | None = None  # None: not everything that it needs has been read
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # what the Secret should hold
    problem: str = ""


@dataclass(frozen=True)
class Seen:
    """A gateway with the Service and the workload that were made for it."""

    key: Key
    gateway: Gateway | None  # None: it is gone, or not ours
    cluster: Cluster
    ports: GatewayPorts = NO_PORTS
    service: FrontService | None = None
    workload: Object | None = None
    credential: SeenCredential = field(default_factory=SeenCredential)


@dataclass(frozen=True)
class Removed:
    """A gateway for which no Envoys run as Pods any more."""

    key: Key
