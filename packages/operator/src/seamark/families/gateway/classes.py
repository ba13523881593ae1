"""Our class: the one of the configured name is made where there is none. One that a user made is left as it is."""

from __future__ import annotations

from seamark.families.gateway.state import CLASS_ACCEPTED
from seamark_runtime.api.gateway import GatewayClass, GatewayClassSpec, GatewayClassStatus, SupportedFeature
from seamark_runtime.api.meta import Key, ManagedMeta
from seamark_runtime.controller import Wanted
from seamark_runtime.ownership import MANAGED_BY
from seamark_runtime.view import View

MANAGER = "seamark-gateways"
DEFAULT = Key("", "default")
EVERYWHERE = "default"  # a namespace that every cluster has


def judge(one: GatewayClass, features: tuple[str, ...]) -> GatewayClassStatus:
    ref = one.spec.parameters_ref
    if ref is not None:
        accepted = CLASS_ACCEPTED.false("InvalidParameters", f"Parameters of kind {ref.kind} are not supported")
    else:
        accepted = CLASS_ACCEPTED.true("Accepted", "Seamark serves this class")
    published = tuple(SupportedFeature(name=name) for name in sorted(features))
    return GatewayClassStatus(conditions=(accepted,), supported_features=published or None)


# ---- the class that is there by default


def observe_default(view: View, name: str, controller_name: str) -> GatewayClass | None:
    """Our class, unless a foreign one of that name exists."""
    standing = view.intent(GatewayClass, Key("", name))
    if standing is not None and standing.label(MANAGED_BY) != MANAGER:
        return None
    return GatewayClass(metadata=ManagedMeta(name=name), spec=GatewayClassSpec(controller_name=controller_name))


def desire_default(wanted: GatewayClass) -> Wanted:
    return Wanted(children={"class": wanted})
