"""The reports between the keys of this family, and who makes them: one of each per operator."""

from __future__ import annotations

from typing import Any

from seamark.families.gateway.addresses import Lot
from seamark.families.gateway.credentials import Signer
from seamark.families.gateway.options import Options
from seamark.families.gateway.programming import Programmer
from seamark.families.gateway.translations import Translator
from seamark_edge.dataplane.protocol import DataPlane
from seamark_runtime.api.gateway import GRPCRoute, HTTPRoute, ListenerSet, Route, TCPRoute, TLSRoute
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Collection

ROUTES: tuple[type[Route], ...] = (HTTPRoute, GRPCRoute, TLSRoute, TCPRoute)
OPTIONAL = (GRPCRoute, TLSRoute, TCPRoute, ListenerSet)  # kinds that a cluster may not have


def nothing(_seen: object) -> Wanted:
    return Wanted()


class Wiring:
    """What the declarations of one operator share."""

    def __init__(self, plane: DataPlane, options: Options) -> None:
        self.options = options
        self.lots: Collection[Lot] = Collection("addresses")
        self.bounds: Collection[Lot] = (
            Collection("addresses of this machine") if options.front is not None else self.lots
        )
        self.gateways: Collection[Any] = Collection("gateways")
        self.attachments: dict[str, Collection[Any]] = {
            kind.RESOURCE.kind: Collection(f"{kind.RESOURCE.plural} attached") for kind in ROUTES
        }
        self.counts: Collection[Any] = Collection("routes counted")
        self.verdicts: Collection[Any] = Collection("verdicts")
        self.tls: Collection[Any] = Collection("backend TLS policies")
        self.traffic: Collection[Any] = Collection("traffic policies")
        self.competing = CompetingControllers("controllerName", options.controller_name)
        self.signer = Signer()
        self.programmer = Programmer(plane)
        self.translator = Translator(options, self.programmer, self.gateways, self.attachments, self.tls, self.traffic)
