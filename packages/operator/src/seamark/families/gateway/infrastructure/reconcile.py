"""A gateway → its Envoys and their Service, and where it is reached. Pure.

The gateway's addresses are the Service's. An address that the gateway names has to be one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from seamark.api.gatewayinfra import FrontService
from seamark.families.gateway.infrastructure.envoys import Envoys
from seamark.families.gateway.infrastructure.state import Seen
from seamark.families.gateway.model.addresses import (
    AddressAssignment,
    mapped_ports,
    service_addresses,
    service_unreached,
)
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted

ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - inside a Pod of its own


def desire(seen: Seen) -> Wanted:
    if seen.gateway is None:
        return Wanted()
    envoys = Envoys(seen, seen.gateway)
    children = {"config": envoys.config(), "envoys": envoys.envoys(), "service": envoys.service()}
    call = seen.credential.call
    return Wanted(children={**children, **envoys.credential()}, calls=(call,) if call is not None else ())


def report(seen: Seen, answers: Answers) -> Mapping[Key, AddressAssignment]:
    """Where the gateway is reached: at its Service. What can't be created is reported."""
    if seen.gateway is None:
        return {}
    for role, refusal in answers.refusals.items():
        return {seen.key: AddressAssignment(problem=("Invalid", f"Its {role} can't be made: {refusal.message}"))}
    return {seen.key: replace(assignment(seen.gateway, seen.service), not_started=seen.credential.problem)}


def assignment(gateway: Gateway, service: FrontService | None) -> AddressAssignment:
    found = service_addresses(service)
    named = [claim.value for claim in gateway.spec.addresses or () if claim.type == "IPAddress" and claim.value]
    unusable = [address for address in named if found and address not in found]
    if unusable:
        message = f"The address {', '.join(unusable)} is not one of the Service's: {', '.join(found)}"
        return AddressAssignment(problem=("AddressNotUsable", message), bind=(ALL_ADDRESSES,))
    unreached, mapped = service_unreached(service), mapped_ports(service)
    return AddressAssignment(found, bind=(ALL_ADDRESSES,), unreached=unreached, mapped=mapped)
