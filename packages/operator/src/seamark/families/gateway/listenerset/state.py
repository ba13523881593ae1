"""The conditions of a ListenerSet, and what its status is judged from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.gateway.listeners.state import PENDING, GatewayFacts
from seamark_runtime.api.gateway import ListenerSet
from seamark_runtime.conditions import ConditionType

SET_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The gateway takes the listeners of this set",
    reasons={
        "Accepted": "At least one listener is accepted",
        "NotAllowed": "The gateway allows no listeners from this namespace",
        "ParentNotAccepted": "The gateway can't be served itself",
        "ListenersNotValid": "At least one listener can't be served",
    },
)
SET_PROGRAMMED = ConditionType(
    "Programmed",
    meaning="The data plane serves the listeners of this set",
    reasons={
        **PENDING,
        "Programmed": "The data plane serves them",
        "Invalid": "None of them can be served",
        "NotAllowed": "The gateway allows no listeners from this namespace",
        "ListenersNotValid": "None of them can be served",
    },
    summary=True,
)


@dataclass(frozen=True)
class Seen:
    """A listener set, and what is known of its gateway; None: there is no gateway of ours."""

    listener_set: ListenerSet
    facts: GatewayFacts | None = None
    problem: str = ""  # why it has no gateway
