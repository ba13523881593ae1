"""The words of the gateway family, and what passes between its keys."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.gateway import GROUP, HTTPRoute, ParentReference
from seamark.api.meta import Condition, Key
from seamark.core.conditions import ConditionType

CONTROLLER_NAME = "kgateway.dev/kgateway"

ROUTE_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The route is attached to this parent",
    reasons={
        "Accepted": "At least one listener of the parent takes the route",
        "NoMatchingParent": "The parent has no listener of that name or port",
        "NoMatchingListenerHostname": "No listener has a hostname in common with the route",
        "NotAllowedByListeners": "The listeners do not allow routes of this kind or namespace",
    },
)
RESOLVED_REFS = ConditionType(
    "ResolvedRefs",
    meaning="Everything the route refers to is there and may be used",
    reasons={
        "ResolvedRefs": "All backends were found",
        "BackendNotFound": "A backend does not exist",
        "InvalidKind": "A backend is of a kind that can't be used",
    },
)
CLASS_ACCEPTED = ConditionType(
    "Accepted", meaning="This controller serves the class", reasons={"Accepted": "The controller runs"}
)
GATEWAY_ACCEPTED = ConditionType(
    "Accepted", meaning="The gateway can be served", reasons={"Accepted": "All listeners are valid"}
)
GATEWAY_PROGRAMMED = ConditionType(
    "Programmed",
    meaning="The data plane serves the gateway",
    reasons={"Pending": "The data plane has not answered", "Programmed": "The data plane serves it"},
    summary=True,
)


@dataclass(frozen=True)
class Attachment:
    """What one route is to one gateway, by one of its parent references."""

    parent: ParentReference
    listeners: tuple[str, ...]  # the names of those that take it
    conditions: tuple[Condition, ...]


def gateway_of(route: HTTPRoute, parent: ParentReference) -> Key | None:
    """The gateway that a parent reference names; None if it names something else."""
    if (parent.group or GROUP) != GROUP or (parent.kind or "Gateway") != "Gateway":
        return None
    return Key(parent.namespace or route.metadata.namespace, parent.name)
