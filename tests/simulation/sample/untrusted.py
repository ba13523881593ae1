"""The sample family beside a hostile tenant: objects that can't be read or processed, and names that lead elsewhere.

Whatever the tenant writes, the greetings are served as ever, the tenant's own objects report what is wrong, and
nothing is followed for an object that is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from seamark_edge.api.ngrok import NgrokTrafficPolicy
from seamark_runtime.api.core import Secret
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.meta import Key
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Wanted
from seamark_runtime.source import Collection
from seamark_runtime.view import View
from tests.simulation.faults import Fault
from tests.simulation.sample import acts
from tests.simulation.sample.acts import NAMESPACE
from tests.simulation.sample.scenario import SampleScenario
from tests.simulation.scenario import Step

if TYPE_CHECKING:
    from tests.simulation.world import World

POLICIES = "ngroktrafficpolicies.ngrok.k8s.ngrok.com"
EVENTS = "events"
DEEP = 300  # levels: more than is decoded, and less than the embedded server can hold
NUMBER, SECRET = "tenant.example/number", "tenant.example/secret"
UNREADABLE = {"deep", "number"}  # policies that must report it


def _keys(policy: NgrokTrafficPolicy) -> Iterable[Key]:
    int(policy.annotation(NUMBER) or "0")
    return (policy.key,)


def _observe(view: View, key: Key, _results: Any) -> None:
    """Reads a Secret that the tenant names, and fails afterwards."""
    policy = view.get(NgrokTrafficPolicy, key)
    if policy is not None and (name := policy.annotation(SECRET)):
        view.single(Secret, Key(key.namespace, name))
        raise ValueError("a bug that only this object brings about")


class UntrustedScenario(SampleScenario):
    name = "untrusted"
    crds = (*SampleScenario.crds, CRD(kind=NgrokTrafficPolicy))

    def controllers(self, outside: Any) -> tuple[Declaration, ...]:
        group: CollectionController[None] = CollectionController(
            name="policies",
            keyed={NgrokTrafficPolicy: _keys},
            observe=_observe,
            desire=lambda _seen: Wanted(),
            outputs=(Output(Collection("policies"), lambda _seen, _answers: {}),),
            reads=Reads(singles=(Secret,)),
        )
        return (*super().controllers(outside), group)

    def steps(self) -> Sequence[Step]:
        return (
            Step("a greeting", lambda world: acts.create(world, "plain", text="one"), most=2),
            Step("a policy nested too deep", lambda world: create(world, "deep", policy=nested(DEEP)), most=1),
            Step("a number that is none", lambda world: create(world, "number", {NUMBER: "x"}), most=1),
            Step("a bug after a read", lambda world: create(world, "bug", {SECRET: "mine"}), most=1),
            Step("a path as a name", lambda world: create(world, "path", {SECRET: "../../b/secrets/victim"}), most=1),
            Step("another text", lambda world: acts.edit(world, "plain", text="two"), most=2),
            Step("the operator restarts", lambda world: world.restart_operator(), most=4),  # events that exist
            Step("a text after that", lambda world: acts.edit(world, "plain", text="three"), most=2),
        )

    def farewell(self) -> Step:
        return Step("all greetings and policies go", _delete_all, most=2)

    def empty(self, world: World) -> None:
        super().empty(world)
        _delete_policies(world)

    def unsettled(self, world: World) -> str:
        policies = {obj["metadata"]["name"] for obj in world.store.objects(POLICIES)}
        reported = {
            obj["involvedObject"]["name"] for obj in world.store.objects(EVENTS) if obj["reason"] == "Unreadable"
        }
        if (silent := policies & UNREADABLE - reported) and not world.troubles:
            return f"nothing was told about {sorted(silent)}"
        return super().unsettled(world)

    def left(self, world: World) -> str:
        if followed := world.followed(Secret):
            return f"{followed} Secrets are followed for nobody"
        return super().left(world)


def create(world: World, name: str, annotations: dict[str, str] | None = None, policy: Any = None) -> None:
    if world.under(Fault.NAMESPACE):
        return
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}}
    head = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "NgrokTrafficPolicy"}
    world.store.create({**head, "metadata": metadata, "spec": {"policy": policy or {}}})


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def _delete_all(world: World) -> None:
    acts.delete_all(world)
    _delete_policies(world)


def _delete_policies(world: World) -> None:
    for obj in list(world.store.objects(POLICIES)):
        world.store.delete(POLICIES, NAMESPACE, obj["metadata"]["name"])
