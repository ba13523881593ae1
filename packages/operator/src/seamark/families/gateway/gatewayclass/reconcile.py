"""GatewayClass → its status; and the default class, which is made where there is none of that name. Pure."""

from __future__ import annotations

from seamark.families.gateway.gatewayclass.state import CLASS_ACCEPTED, Seen
from seamark_runtime.api.gateway import GatewayClass, GatewayClassStatus, SupportedFeature
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def judge(seen: Seen, _answers: Answers) -> GatewayClassStatus:
    ref = seen.gateway_class.spec.parameters_ref
    if ref is not None:
        accepted = CLASS_ACCEPTED.false("InvalidParameters", f"Parameters of kind {ref.kind} are not supported")
    else:
        accepted = CLASS_ACCEPTED.true("Accepted", "Seamark serves this class")
    published = tuple(SupportedFeature(name=name) for name in sorted(seen.features))
    return GatewayClassStatus(conditions=(accepted,), supported_features=published or None)


def desire_default(default: GatewayClass) -> Wanted:
    return Wanted(children={"class": default})
