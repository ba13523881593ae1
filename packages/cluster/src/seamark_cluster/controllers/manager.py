"""All controllers of the embedded cluster in one operator."""

from __future__ import annotations

from random import Random

from seamark_cluster.controllers import accounts, endpointslices, replicaset
from seamark_cluster.controllers.deployment import controller as deployment
from seamark_cluster.controllers.statefulset import claims
from seamark_cluster.controllers.statefulset import controller as statefulset
from seamark_cluster.controllers.workload.status import MANAGER
from seamark_runtime.client import Client
from seamark_runtime.clock import SuspendAwareClock
from seamark_runtime.controller import Declaration
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Transport

SETTINGS = Settings(leader_election=False, health_address="", workers=16)


def controllers(client: Client, authority: str = "") -> tuple[Declaration, ...]:
    return (
        deployment.controller(client),
        replicaset.controller(client),
        statefulset.controller(client),
        claims.controller(),
        endpointslices.controller(),
        accounts.controller(authority),
    )


def manager(transport: Transport, clock: SuspendAwareClock, random: Random, authority: str = "") -> Operator:
    """Ready to run; `authority` is the CA certificate with which Pods verify the API server."""
    world = World(transport, clock, random, MANAGER)
    client = Client(transport, manager=MANAGER)
    return Operator(world, controllers(client, authority), SETTINGS)
