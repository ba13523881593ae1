"""The collection of places: what is read, remembered and published."""

from __future__ import annotations

from functools import partial

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.places.claims import PlaceClaims, key_of_domain
from seamark.families.loadbalancer.places.memory import PlaceMemory
from seamark.families.loadbalancer.places.reconcile import desire, report
from seamark.families.loadbalancer.places.state import Seen
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Companion, Declaration, Output, Reads
from seamark_runtime.view import View


def observe(claims: PlaceClaims, view: View, key: Key, _results: Results) -> Seen:
    return Seen(key.name, claims.at(view, key))


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    claims = PlaceClaims(dependencies.reserved, any_binding=dependencies.options.cross_namespace_bindings)
    places = CollectionController(
        name="places",
        keyed={AgentEndpoint: claims.keys, CloudEndpoint: claims.keys, Domain: key_of_domain},
        observe=partial(observe, claims),
        desire=desire,
        memory=PlaceMemory(claims, dependencies.kept),
        companions=(Companion(dependencies.kept.term),),
        outputs=(Output(dependencies.claims, report),),
        reads=Reads(indexes=claims.indexes, sources=(dependencies.reserved,)),
    )
    return (places,)
