"""The reports between the keys of this family, and who makes them: one of each per operator."""

from __future__ import annotations

from typing import Any

from seamark.api.gateway import GRPCRoute, HTTPRoute, ListenerSet, Route, TCPRoute, TLSRoute
from seamark.core.controller import Wanted
from seamark.core.rivals import Rivals
from seamark.core.source import Reports
from seamark.families.gateway.addresses import Lot
from seamark.families.gateway.options import Options
from seamark.families.gateway.programming import Programmer
from seamark.families.gateway.translations import Translator
from seamark.providers.dataplane.protocol import DataPlane

ROUTES: tuple[type[Route], ...] = (HTTPRoute, GRPCRoute, TLSRoute, TCPRoute)
OPTIONAL = (GRPCRoute, TLSRoute, TCPRoute, ListenerSet)  # kinds that a cluster may not have


def nothing(_seen: object) -> Wanted:
    return Wanted()


class Wiring:
    """What the declarations of one operator share."""

    def __init__(self, plane: DataPlane, options: Options) -> None:
        self.options = options
        self.lots: Reports[Lot] = Reports("addresses")
        self.bounds: Reports[Lot] = Reports("addresses of this machine") if options.front is not None else self.lots
        self.gateways: Reports[Any] = Reports("gateways")
        self.attachments: dict[str, Reports[Any]] = {
            kind.RESOURCE.kind: Reports(f"{kind.RESOURCE.plural} attached") for kind in ROUTES
        }
        self.counts: Reports[Any] = Reports("routes counted")
        self.verdicts: Reports[Any] = Reports("verdicts")
        self.tls: Reports[Any] = Reports("backend TLS policies")
        self.traffic: Reports[Any] = Reports("traffic policies")
        self.rivals = Rivals("controllerName", options.controller_name)
        self.programmer = Programmer(plane)
        self.translator = Translator(options, self.programmer, self.gateways, self.attachments, self.tls, self.traffic)
