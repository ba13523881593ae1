"""Before an uninstall everything is released: remote objects are removed, and no finalizer of ours stays.

- The control plane is scaled to nothing first. What is left to do is done here, once the lease is free: so nothing
  that is removed is created again.
- A remote party that does not respond delays this for a bounded time. Then the finalizers are removed all the same,
  and what may be left behind is named.
- Users' objects, and the definitions of their kinds, stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

import structlog

from seamark.api.gatewayinfra import EnvoyConfig, EnvoyDaemonSet, EnvoyDeployment, FrontService
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.apps import Deployment
from seamark_runtime.api.coordination import Lease
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, Object, ObjectMeta
from seamark_runtime.client import Client
from seamark_runtime.clock import SystemClock
from seamark_runtime.controller import Controller, scope
from seamark_runtime.errors import Conflict, Gone, SeamarkError
from seamark_runtime.family import Family
from seamark_runtime.leader import process_identity
from seamark_runtime.marks import without_finalizer
from seamark_runtime.operator import Operator, World
from seamark_runtime.rbac import Grant, on
from seamark_runtime.scope import Scope
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Transport

log = structlog.get_logger(__name__)

MANAGER = "seamark-uninstall"
REMOTE = ("loadbalancer", "bindings")  # families that hold something outside which has to be given back
ENVOYS = (EnvoyDeployment, EnvoyDaemonSet, FrontService, EnvoyConfig)
INTERVAL = 0.1


@dataclass(frozen=True)
class Plan:
    """What leaves: these families, run by these Deployments in this namespace, under these leases."""

    namespace: str
    families: tuple[Family, ...]
    deployments: tuple[str, ...]
    leases: dict[str, tuple[str, ...]]  # by lease: the families that it stands for
    secrets: tuple[str, ...] = ()
    operator: str = "seamark"  # the KubernetesOperator that is this installation
    policy: str = "Delete"
    within: float = 120.0


def grants(plan: Plan) -> set[Grant]:
    """What leaving takes beside the rights of the families themselves."""
    here = plan.namespace
    found = {Grant("apps", "deployments/scale", "patch", here, name) for name in plan.deployments}
    found |= {grant for name in plan.leases for grant in on(Lease, ("delete", "get"), namespace=here, name=name)}
    found |= {grant for name in plan.secrets for grant in on(Secret, ("delete", "get"), namespace=here, name=name)}
    return found | on(KubernetesOperator, ("delete", "get", "patch"), namespace=here, name=plan.operator)


async def leave(transport: Transport, plan: Plan) -> list[str]:
    """Everything in order; returns what could not be released."""
    client = Client(transport, manager=MANAGER)
    for name in plan.deployments:
        await _ignore_missing(
            client.merge_patch(Deployment, Key(plan.namespace, name), {"spec": {"replicas": 0}}, "scale")
        )
    await _release_installation(client, plan)
    left = await _release_remote(transport, plan)
    for family in plan.families:
        for declared in family.controllers():
            if isinstance(declared, Controller) and declared.writes.finalizer:
                await _remove_finalizers(client, declared)
            for kind in declared.writes.children:
                if kind in ENVOYS:
                    await _remove_all(client, kind, scope(declared, kind))
    for name in plan.leases:
        await _remove(client, Lease, Key(plan.namespace, name))
    for name in plan.secrets:  # at the very end: another attempt after a failure needs them
        await _remove(client, Secret, Key(plan.namespace, name))
    return left


async def _release_installation(client: Client, plan: Plan) -> None:
    """The KubernetesOperator goes; its drain policy decides about bound endpoints."""
    if not any(family.name == "bindings" for family in plan.families):
        return
    key = Key(plan.namespace, plan.operator)
    await _ignore_missing(client.merge_patch(KubernetesOperator, key, {"spec": {"drain": {"policy": plan.policy}}}))
    await _remove(client, KubernetesOperator, key)


async def _release_remote(transport: Transport, plan: Plan) -> list[str]:
    """Runs the families that hold something outside until they hold nothing, or the time is up."""
    working = []
    for lease, names in plan.leases.items():
        families = [family for family in plan.families if family.name in names and family.name in REMOTE]
        if families:
            working.append(_run(transport, plan, lease, families))
    return [line for found in await asyncio.gather(*working) for line in found]


async def _run(transport: Transport, plan: Plan, lease: str, families: Iterable[Family]) -> list[str]:
    declared = [controller for family in families for controller in family.controllers()]
    settings = Settings(namespace=plan.namespace, lease=lease)
    world = World(transport, SystemClock(), Random(), process_identity())
    operator = Operator(world, declared, settings)
    work = asyncio.get_running_loop().create_task(operator.run())
    try:
        async with asyncio.timeout(plan.within):
            while held(operator) is None or held(operator):
                await asyncio.sleep(INTERVAL)
                if work.done():
                    work.result()
        return []
    except TimeoutError:
        names = held(operator)
        return names if names is not None else [*operator.missing()]
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def held(operator: Operator) -> list[str] | None:
    """What still has a finalizer of ours; None while that is not known."""
    found = []
    for declared in operator.loop.router.controllers.values():
        if isinstance(declared, Controller) and declared.writes.finalizer:
            informer = operator.informers[declared.kind]
            if not informer.synced:
                return None
            kind = declared.kind.RESOURCE.kind
            found += [f"{kind} {obj.key}" for obj in informer.cache if without_finalizer(declared, obj)]
    return sorted(found)


async def _remove_finalizers(client: Client, declared: Controller[Any]) -> None:
    """Takes our finalizers off whatever still has them, readable or not."""
    followed = scope(declared, declared.kind)
    try:
        found = await client.list_metadata(declared.kind, namespace=followed.namespace, query=followed.selectors)
    except Gone:
        return  # the kind is not installed
    for metadata in found:
        await _remove_finalizer(client, declared, metadata)


async def _remove_finalizer(client: Client, declared: Controller[Any], found: ObjectMeta) -> None:
    key = Key(found.namespace, found.name)
    while change := without_finalizer(declared, Object(metadata=found)):
        try:
            seen = {"resourceVersion": found.resource_version, "uid": found.uid}
            await client.patch_metadata(declared.kind, key, {**change, **seen})
            log.info("finalizer removed", kind=declared.kind.RESOURCE.kind, object=str(key))
            return
        except Gone:
            return
        except Conflict:
            found = await client.get_metadata(declared.kind, key)  # it changed: look again


async def _remove_all(client: Client, kind: type[Object], ours: Scope) -> None:
    for obj in await client.list(kind, namespace=ours.namespace, query=ours.selectors):
        await client.delete(kind, obj.key, uid=obj.uid)


async def _remove(client: Client, kind: type[Object], key: Key) -> None:
    try:
        obj = await client.get(kind, key)
    except Gone:
        return
    await client.delete(kind, key, uid=obj.uid)


async def _ignore_missing(writing: Any) -> None:
    try:
        await writing
    except Gone:
        pass
    except SeamarkError as error:
        log.warning("not done", error=error.message)
