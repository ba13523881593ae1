"""The pool of addresses: what was assigned last is remembered, so that a gateway keeps its address."""

from __future__ import annotations

from seamark.families.gateway.addresses.reconcile import address_request, assign, report
from seamark.families.gateway.addresses.state import POOL, Assignments, Pool, Seen
from seamark.families.gateway.model.addresses import NOT_ASSIGNED
from seamark.families.gateway.model.dependencies import Dependencies, nothing_desired
from seamark.families.gateway.model.options import Options
from seamark_runtime.api.gateway import Gateway, GatewayClass
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads
from seamark_runtime.memory import Remembered
from seamark_runtime.view import View

BY_CLASS = Index(Gateway, lambda gateway: (gateway.spec.gateway_class_name,), "gateways by class")
BY_CONTROLLER = Index(GatewayClass, lambda its_class: (its_class.spec.controller_name,), "classes by controller")


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    options = dependencies.options
    if options.cluster is not None:
        return ()  # gateways are reached at their Services

    def transition(last: Assignments | None, view: View, _key: Key, _results: Results) -> Assignments:
        return assign(observe_pool(view, options, last or {}))

    memory: Remembered[Assignments] = Remembered(transition)

    def observe(_view: View, key: Key, _results: Results) -> Seen:
        return Seen(memory.get(key) or {})

    return (
        CollectionController(
            name="gateway-addresses",
            keyed={Gateway: lambda _gateway: (POOL,), GatewayClass: lambda _class: (POOL,)},
            observe=observe,
            desire=nothing_desired,
            outputs=(Output(dependencies.local_addresses, report),),
            memory=memory,
            reads=Reads(indexes=(BY_CLASS, BY_CONTROLLER)),
        ),
    )


def observe_pool(view: View, options: Options, last: Assignments) -> Pool:
    """All gateways of ours, the oldest first."""
    gateways = [
        gateway
        for its_class in view.by(BY_CONTROLLER, options.controller_name)
        for gateway in view.by(BY_CLASS, its_class.metadata.name)
        if not gateway.deleting
    ]
    gateways.sort(key=lambda gateway: (gateway.metadata.creation_timestamp or "", gateway.key))
    requests = (address_request(gateway, last.get(gateway.key, NOT_ASSIGNED)) for gateway in gateways)
    return Pool(options.addresses, tuple(requests), options.addresses_share)
