"""How the gateway family runs: `SEAMARK_GATEWAY_…` in the environment, or a file: `SEAMARK_GATEWAY_SETTINGS`."""

from __future__ import annotations

import ipaddress
import os
from typing import Annotated

import msgspec
from msgspec import Meta

from seamark.core.errors import UserError
from seamark.core.settings import load
from seamark.families.gateway.features import SUPPORTED
from seamark.families.gateway.options import Options
from seamark.families.gateway.state import CLASS_NAME, CONTROLLER_NAME
from seamark.providers.dataplane.envoy import binary
from seamark.providers.dataplane.envoy.local import LocalEnvoys
from seamark.providers.dataplane.memory import MemoryDataPlane
from seamark.providers.dataplane.protocol import DataPlane


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose gateways are served, by what, and where."""

    gateway_controller_name: Annotated[str, Meta(description="The controllerName of our classes")] = CONTROLLER_NAME
    gateway_class: Annotated[str, Meta(description="The class that is ours by default")] = CLASS_NAME
    gateway_data_plane: Annotated[
        str, Meta(description="local (an Envoy per gateway, on this machine) or memory", pattern="^(local|memory)$")
    ] = "local"
    gateway_addresses: Annotated[
        tuple[str, ...], Meta(description="Ranges that are local here: each gateway gets an address of them")
    ] = ("127.0.80.0/24",)
    gateway_envoy: Annotated[str, Meta(description="Envoy's program; empty for the one in the user's cache")] = ""
    gateway_answer_within: Annotated[float, Meta(description="Seconds that the data plane may take", gt=0)] = 10.0
    gateway_verify: Annotated[
        float, Meta(description="Seconds between two looks at whether a gateway is still served", gt=0)
    ] = 30.0


def loaded() -> GatewaySettings:
    return load(GatewaySettings, file=os.environ.get("SEAMARK_GATEWAY_SETTINGS", ""), environment=os.environ, flags={})


def options_of(settings: GatewaySettings) -> Options:
    for text in settings.gateway_addresses:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise UserError(f"gateway_addresses: {error}", hint="as in 127.0.80.0/24") from None
    return Options(
        controller_name=settings.gateway_controller_name,
        class_name=settings.gateway_class,
        addresses=settings.gateway_addresses,
        answer_within=settings.gateway_answer_within,
        verify=settings.gateway_verify,
        features=SUPPORTED,
    )


def plane_of(settings: GatewaySettings) -> DataPlane:
    if settings.gateway_data_plane == "memory":
        return MemoryDataPlane()
    return LocalEnvoys(binary.find(settings.gateway_envoy))
