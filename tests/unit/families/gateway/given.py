"""The gateway family for scenarios."""

from __future__ import annotations

from seamark.families.gateway.controllers import controllers
from seamark.families.gateway.fronts import Front
from seamark.families.gateway.infrastructure import Cluster
from seamark.families.gateway.options import Options
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_runtime.controller import Declaration


def gateway() -> tuple[Declaration, ...]:
    """Without the translation: what is said before the data plane has answered."""
    made = controllers(MemoryDataPlane(), Options(addresses=("192.0.2.0/24",)))
    return tuple(one for one in made if one.name != "gateway-translations")


def gateway_pods() -> tuple[Declaration, ...]:
    """The same, with Envoys as Pods of the cluster."""
    cluster = Cluster(load_balancer_class="seamark.dev/edge")
    made = controllers(MemoryDataPlane(), Options(cluster=cluster))
    return tuple(one for one in made if one.name != "gateway-translations")


def gateway_fronts() -> tuple[Declaration, ...]:
    """The same, with Envoys of this machine and Services before them."""
    options = Options(addresses=("192.0.2.0/24",), front=Front(load_balancer_class="ngrok"))
    made = controllers(MemoryDataPlane(), options)
    return tuple(one for one in made if one.name != "gateway-translations")
