"""All controllers of the embedded cluster in one operator."""

from __future__ import annotations

from random import Random

from seamark.cluster.controllers import accounts, endpointslices, replicaset
from seamark.cluster.controllers.deployment import controller as deployment
from seamark.cluster.controllers.saying import MANAGER
from seamark.cluster.controllers.statefulset import claims
from seamark.cluster.controllers.statefulset import controller as statefulset
from seamark.core.client import Client
from seamark.core.clock import Clock
from seamark.core.operator import Operator, World
from seamark.core.settings import Settings
from seamark.core.transport import Transport
from seamark.core.waker import Declaration

SETTINGS = Settings(leader_election=False, health_address="", workers=16)


def controllers(client: Client, clock: Clock, random: Random, authority: str = "") -> tuple[Declaration, ...]:
    return (
        deployment.controller(clock, client),
        replicaset.controller(clock, random, client),
        statefulset.controller(clock, client),
        claims.controller(),
        endpointslices.controller(),
        accounts.controller(authority),
    )


def manager(transport: Transport, clock: Clock, random: Random, authority: str = "") -> Operator:
    """Ready to run; `authority` is the certificate by which Pods know the API server."""
    world = World(transport, clock, random, MANAGER)
    client = Client(transport, manager=MANAGER)
    return Operator(world, controllers(client, clock, random, authority), SETTINGS)
