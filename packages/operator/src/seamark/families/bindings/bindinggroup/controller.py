"""The controller of groups: what it observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.families.bindings.bindinggroup.reconcile import desire, members_of, report
from seamark.families.bindings.bindinggroup.state import Seen
from seamark.families.bindings.model.dependencies import Dependencies
from seamark.families.bindings.model.endpoints import BY_PORT, GROUP_MEMBERS, belongs, group_of, members, port_holder
from seamark.families.bindings.model.options import Options
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.core import Namespace, Service
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Writes
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        CollectionController(
            name="binding-groups",
            keyed={BoundEndpoint: partial(keys, dependencies.options), Service: dependencies.target.owners},
            observe=partial(observe, dependencies.options),
            desire=desire,
            outputs=(Output(dependencies.groups, report),),
            reads=Reads(scopes=dependencies.scopes, kinds=(Namespace,), indexes=(GROUP_MEMBERS, BY_PORT)),
            writes=Writes(children=(Service,), ownership=dependencies.target),
        ),
    )


def keys(options: Options, endpoint: BoundEndpoint) -> tuple[Key, ...]:
    return (group_of(endpoint),) if belongs(endpoint, options) else ()


def observe(options: Options, view: View, key: Key, _results: Results) -> Seen:
    view.get(Namespace, Key("", key.namespace))  # read, so that its creation requeues the group
    found = members(view, key, options)
    endpoints = [endpoint for endpoint in found if not endpoint.deleting]
    displaced = {endpoint.key for endpoint in endpoints if port_holder(view, endpoint) is not None}
    deleting = tuple(endpoint.key for endpoint in found if endpoint.deleting)
    return Seen(key, members_of(endpoints, displaced), options, deleting)
