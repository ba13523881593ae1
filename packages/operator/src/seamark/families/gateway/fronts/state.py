"""What the Service before a gateway is made from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.gatewayinfra import FrontService
from seamark.families.gateway.model.addresses import NOT_ASSIGNED, AddressAssignment
from seamark.families.gateway.model.options import Front
from seamark.gatewayapi.listeners import NO_PORTS, GatewayPorts
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key

SLICE_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"


@dataclass(frozen=True)
class Seen:
    """A gateway, the address at which its Envoy listens, and the Service that was made for it."""

    key: Key
    gateway: Gateway | None  # None: it is gone, or not ours
    front: Front
    local: AddressAssignment = NOT_ASSIGNED
    ports: GatewayPorts = NO_PORTS
    service: FrontService | None = None

    @property
    def fronted(self) -> bool:
        """Whether it gets a Service: its Envoy has an address to listen at, and it names none itself."""
        named = self.gateway is not None and any(claim.value for claim in self.gateway.spec.addresses or ())
        return self.gateway is not None and bool(self.local.addresses) and not named
