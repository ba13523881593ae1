"""The default class, and the status of every class of ours. A class that a user made is left as it is."""

from __future__ import annotations

from seamark.families.gateway.gatewayclass.reconcile import desire_default, judge
from seamark.families.gateway.gatewayclass.state import CLASS_ACCEPTED, DEFAULT, EVERYWHERE, Seen
from seamark.families.gateway.model.dependencies import Dependencies, nothing_desired
from seamark.families.gateway.model.names import MANAGER, OWNER_NAME, OWNER_NAMESPACE
from seamark.families.gateway.model.options import Options
from seamark_runtime.api.core import Namespace
from seamark_runtime.api.gateway import GatewayClass, GatewayClassSpec
from seamark_runtime.api.meta import Key, ManagedMeta
from seamark_runtime.calls import Results
from seamark_runtime.controller import (
    CollectionController,
    Controller,
    Declaration,
    Reads,
    Writes,
    guarded,
)
from seamark_runtime.ownership import MANAGED_BY, ByLabels
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    options = dependencies.options
    return (_default(options), *guarded(dependencies.competing, _status(options)))


def _default(options: Options) -> Declaration:
    def observe(view: View, _key: Key, _results: Results) -> GatewayClass | None:
        """Our class, unless a foreign one of that name exists."""
        existing = view.intent(GatewayClass, Key("", options.class_name))
        if existing is not None and existing.label(MANAGED_BY) != MANAGER:
            return None
        spec = GatewayClassSpec(controller_name=options.controller_name)
        return GatewayClass(metadata=ManagedMeta(name=options.class_name), spec=spec)

    return CollectionController(
        name="gatewayclass-default",
        keyed={Namespace: lambda namespace: (DEFAULT,) if namespace.metadata.name == EVERYWHERE else ()},
        observe=observe,
        desire=desire_default,
        reads=Reads(kinds=(GatewayClass,)),
        writes=Writes(children=(GatewayClass,), ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE)),
    )


def _status(options: Options) -> Declaration:
    def observe(_view: View, gateway_class: GatewayClass, _results: Results) -> Seen | None:
        if gateway_class.spec.controller_name != options.controller_name:
            return None
        return Seen(gateway_class, options.features)

    return Controller(
        name="gatewayclasses",
        kind=GatewayClass,
        observe=observe,
        desire=nothing_desired,
        judge=judge,
        status=ByManager(
            manager=MANAGER,
            conditions=(CLASS_ACCEPTED,),
            fields=("supported_features",),
            policy_condition=f"object.spec.controllerName == '{options.controller_name}'",
        ),
    )
