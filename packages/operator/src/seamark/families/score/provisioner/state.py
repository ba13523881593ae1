"""What a claim is judged from, and how its phase is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.api.score import ResourceClaim, ResourceClaimStatus, Workload
from seamark.families.score.model.identity import SHARED, Identity, identity
from seamark.families.score.model.serviceports import NoSuchPort, find_port, ports_of, service_name
from seamark.families.score.platform.configuration import Peer, Provisioner
from seamark.families.score.platform.templates import Unfilled, as_text, fill, names
from seamark.families.score.provisioner.hosts import platform_host
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.meta import Key, to_wire
from seamark_runtime.client import Client
from seamark_runtime.conditions import ConditionMap, ConditionType, Stamp
from seamark_runtime.follow import Followed
from seamark_runtime.status import digest

OUTPUTS = "outputs"  # the role of the one child


def outputs_key(claim: ResourceClaim) -> Key:
    return Key(claim.metadata.namespace, f"{claim.metadata.name}.outputs")


@dataclass(frozen=True)
class Given:
    """What the templates make of a claim; `missing` is what they lack, `waiting` what is not there yet."""

    values: Mapping[str, str]
    secret: str = ""
    uri: str = ""
    missing: str = ""
    waiting: str = ""


Find = Callable[[str], Workload | None]  # a Workload of the claim's namespace, by its name


@dataclass(frozen=True)
class Seen:
    claim: ResourceClaim
    provisioner: Provisioner | None
    given: Given
    secret: Followed[Secret]
    before: ConfigMap | None = None  # the outputs that were given before
    shared: Identity | None = None  # by which its outputs are named
    orphaned: bool = False  # its policy has kept it, and no Workload has its resource any more


def shared_as(claim: ResourceClaim, before: ConfigMap | None) -> Identity | None:
    """By which identity its outputs are named; None for those of the claim alone.

    Outputs that were made before the resource had an id keep their names: under others, data would be left or deleted.
    """
    found = identity(claim.spec.type, claim.spec.class_, claim.spec.id)
    return found if before is None or before.label(SHARED) else None


def names_of(claim: ResourceClaim, shared: Identity | None) -> dict[str, dict[str, str]]:
    """The names that templates know."""
    spec, namespace = claim.spec, claim.metadata.namespace
    own = {"id": spec.id, "class": spec.class_}
    if shared is not None:
        workload = {"name": shared.label, "namespace": namespace, "uid": shared.digest}
        return {"workload": workload, "claim": {"name": shared.name, "key": spec.type.lower(), **own}}
    workload = {"name": spec.workload_ref.name, "namespace": namespace, "uid": spec.workload_ref.uid}
    return {"workload": workload, "claim": {"name": claim.metadata.name, "key": spec.key, **own}}


def given(
    claim: ResourceClaim,
    provisioner: Provisioner,
    find: Find,
    domain: str = "",
    shared: Identity | None = None,
) -> Given:
    spec, ref = claim.spec, claim.spec.workload_ref
    if ref.namespace != claim.metadata.namespace:
        return Given({}, missing="spec.workloadRef.namespace: a claim is for a Workload of its own namespace")
    values: dict[str, Any] = {
        **names_of(claim, shared),
        "params": {**provisioner.defaults, **(spec.params or {})},
        "platform": {"host": platform_host(claim, domain, own_service(ref.name, find))},
    }
    where = f"resources.{spec.key}"
    try:
        if provisioner.peer is not None:
            values["peer"] = peer(provisioner.peer, values, find, where)
        filled = own_outputs(provisioner, values["params"])
        filled |= {name: fill(template, values) for name, template in sorted(provisioner.values.items())}
        return Given(filled, fill(provisioner.secret_name, values), fill(provisioner.uri, values))
    except Unfilled as error:
        return Given({}, missing=f"{where}.{error}")
    except NoSuchPort as error:
        return Given({}, missing=str(error))
    except NoPeer as error:
        return Given({}, waiting=str(error))


def own_outputs(provisioner: Provisioner, params: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that are outputs as they are; those that are no texts as JSON."""
    names = sorted(params) if provisioner.values_from_params else ()
    return {name: as_text(params[name]) for name in names if params[name] is not None}


def own_service(workload: str, find: Find) -> str:
    found = find(workload)
    return service_name(found) if found is not None else workload


class NoPeer(Exception):
    """Which Workload is not there (yet)."""


def peer(wanted: Peer, values: Mapping[str, Any], find: Find, where: str) -> dict[str, str]:
    """The Service of another Workload, and the port of that Service: beside its name no other number answers."""
    name = fill(wanted.workload, values)
    workload = find(name)
    if workload is None:
        raise NoPeer(f"{where}.{field_of(wanted.workload)}: there is no Workload {name[:63]!r} in this namespace (yet)")
    if not wanted.port:
        return {"service": service_name(workload)}
    try:
        port = find_port(ports_of(workload), fill(wanted.port, values), f"the Workload {name}")
    except NoSuchPort as error:
        raise NoSuchPort(f"{where}.{field_of(wanted.port)}: {error}") from None
    return {"service": service_name(workload), "port": str(port.port)}


def field_of(template: str) -> str:
    """Where a value stands in the resource, for a message."""
    return next((name.lstrip(".") for name in names(template) if name.startswith(".params.")), "params")


@dataclass(frozen=True)
class PhaseStatus:
    """A status that is one phase with its words: written as a whole, its time moving only when the phase does."""

    manager: str
    conditions: tuple[ConditionType, ...] = ()

    def published(self, obj: ResourceClaim, _judged: ResourceClaimStatus) -> ResourceClaimStatus:
        return obj.status or ResourceClaimStatus()

    def stamped(self, judged: ResourceClaimStatus, published: ResourceClaimStatus, stamp: Stamp) -> ResourceClaimStatus:
        if judged == ResourceClaimStatus():
            return published  # not known yet: the status stays
        time = published.last_transition_time if published.phase == judged.phase else stamp.time
        return msgspec.structs.replace(judged, observed_generation=stamp.generation, last_transition_time=time)

    def condition_map(self, _status: ResourceClaimStatus) -> ConditionMap:
        return {}

    def fingerprint(self, obj: ResourceClaim) -> bytes:
        return digest(obj.status)

    async def write(self, client: Client, obj: ResourceClaim, status: ResourceClaimStatus) -> Any:
        fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": to_wire(status)}
        return await client.named(self.manager).apply(ResourceClaim, obj.key, fields, "status")
