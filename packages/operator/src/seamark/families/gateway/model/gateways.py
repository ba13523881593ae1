"""A gateway and its listeners, as published for routes, the translation and statuses. Frozen: compared for changes."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.gateway.model.addresses import NOT_ASSIGNED, AddressAssignment
from seamark.gatewayapi.listeners import ListenerSpec
from seamark_edge.dataplane.model import Secret, Validation
from seamark_runtime.api.gateway import Gateway, GatewayClass, RouteGroupKind
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.view import View


@dataclass(frozen=True, slots=True)
class ListenerTLS:
    """What a listener needs to terminate TLS."""

    certificates: tuple[Secret, ...] = ()
    validation: Validation | None = None
    versions: tuple[str, str] = ("", "")  # the oldest and the newest of TLS; empty for the data plane's default


NO_TLS = ListenerTLS()


@dataclass(frozen=True, slots=True)
class ListenerView:
    """A listener, its certificates, and whether it can be served."""

    spec: ListenerSpec
    tls: ListenerTLS
    supported: tuple[RouteGroupKind, ...]
    conditions: tuple[Condition, ...]  # Accepted, Conflicted, ResolvedRefs and further conditions
    refusal: str = ""  # the reason why it is not served; empty when it is


@dataclass(frozen=True, slots=True)
class GatewayView:
    """A gateway without its routes."""

    key: Key
    listeners: tuple[ListenerView, ...]
    accepted: Condition
    resolved: Condition | None
    sets: tuple[tuple[Key, Condition], ...]  # the listener sets that name it, and whether each is accepted
    assignment: AddressAssignment = NOT_ASSIGNED
    backend_certificate: Secret | None = None
    insecure: bool = False  # clients without a valid certificate are let in
    labels: tuple[tuple[str, str], ...] = ()
    uid: str = ""
    set_labels: tuple[tuple[Key, tuple[tuple[str, str], ...]], ...] = ()  # the labels of these listener sets

    @property
    def serves(self) -> bool:
        """Whether there is anything to program."""
        return self.accepted.status == "True" and bool(self.listens) and self.assignment.problem is None

    @property
    def listens(self) -> tuple[str, ...]:
        return self.assignment.bind or self.assignment.addresses


def our_gateway(view: View, key: Key, controller_name: str) -> Gateway | None:
    """The gateway, if it exists, is not being deleted, and its class is one of ours."""
    gateway = view.intent(Gateway, key)
    if gateway is None or gateway.deleting:
        return None
    its_class = view.intent(GatewayClass, Key("", gateway.spec.gateway_class_name))
    return gateway if its_class is not None and its_class.spec.controller_name == controller_name else None
