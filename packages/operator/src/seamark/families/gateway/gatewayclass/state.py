"""The condition of a GatewayClass, and what its status is judged from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_runtime.api.gateway import GatewayClass
from seamark_runtime.api.meta import Key
from seamark_runtime.conditions import ConditionType

DEFAULT = Key("", "default")  # the key under which the default class is made
EVERYWHERE = "default"  # a namespace that every cluster has

CLASS_ACCEPTED = ConditionType(
    "Accepted",
    meaning="This controller serves the class",
    reasons={
        "Accepted": "The controller runs",
        "InvalidParameters": "The class refers to parameters that this controller does not know",
    },
)


@dataclass(frozen=True)
class Seen:
    gateway_class: GatewayClass
    features: tuple[str, ...]  # what of the Gateway API is served
