"""FAMILY=core: the sample kind, with one child and one status. It measures the runtime and nothing else."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import msgspec

from seamark.api.sample import Greeting, GreetingSpec
from seamark.families.sample.family import GREETING, controllers
from seamark.families.sample.model.options import Options
from seamark.providers.board.memory import MemoryBoard
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Object, ObjectMeta, document
from seamark_runtime.client import APPLY_PATCH
from seamark_runtime.conditions import TRUE
from seamark_runtime.controller import Declaration
from tests.bench.scenario import Made, Sort, Targets, Write

TEXT = "good morning"
LONGEST_TEXT = 1000
LARGE = 2048  # bytes of a finished object, without managedFields
BY_SERVER = 690  # of these come from the API server and the status
SHELF_LIFE, VERIFY_EVERY = 3.0, 1.0
MANAGER = "seamark-greetings"
NEW_YEAR = "2026-01-01T00:00:00Z"
SAID = [
    {"type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": NEW_YEAR}
    for type_, reason, message in (
        ("Published", "Published", "The ConfigMap holds the text"),
        ("Posted", "NoBoard", "No board is named"),
        ("Ready", "Ready", "The greeting is published"),
    )
]


class CoreScenario:
    crds = (GREETING,)
    watched = Greeting
    children = (ConfigMap,)
    tear_down = (Greeting.RESOURCE, ConfigMap.RESOURCE)
    at_rest = max(SHELF_LIFE, VERIFY_EVERY)
    targets = Targets(requests_per_object=2.0)

    def controllers(self) -> tuple[Declaration, ...]:
        return controllers(Options(SHELF_LIFE, VERIFY_EVERY), MemoryBoard())

    def make(self, namespace: str, name: str, sort: Sort) -> Write:
        greeting = _greeting(namespace, name, sort)
        return Write("POST", Greeting.RESOURCE.path(namespace), document(greeting))

    def work(self, made: Made) -> Generator[Write, Made, None]:
        """Plain documents, not built from the family's own code: the floor must not pay for thinking."""
        yield Write("POST", f"{ConfigMap.RESOURCE.path(made.namespace)}?fieldManager=seamark", child_of(made))
        path = Greeting.RESOURCE.path(made.namespace, made.name, "status")
        yield Write("PATCH", f"{path}?fieldManager={MANAGER}&force=true", status_of(made), APPLY_PATCH)

    def done(self, obj: Greeting) -> bool:
        conditions = obj.status.conditions if obj.status else ()
        return any(
            condition.type == "Ready"
            and condition.status == TRUE
            and condition.observed_generation == obj.metadata.generation
            for condition in conditions
        )

    def owners(self, child: Object) -> Iterable[str]:
        return (reference.uid for reference in child.metadata.owner_references or ())


def _greeting(namespace: str, name: str, sort: Sort) -> Greeting:
    match sort:
        case Sort.PLAIN:
            return Greeting(metadata=ObjectMeta(name=name, namespace=namespace), spec=GreetingSpec(text=TEXT))
        case Sort.AGEING:
            spec = GreetingSpec(text=TEXT, board="bench")
            return Greeting(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)
        case Sort.LARGE:
            return _padded(namespace, name)


def _padded(namespace: str, name: str) -> Greeting:
    """The text has a longest length; the rest goes where people put much: an annotation."""

    def greeting(note: str) -> Greeting:
        text = (f"{name} says {TEXT}. " * LONGEST_TEXT)[:LONGEST_TEXT]
        metadata = ObjectMeta(name=name, namespace=namespace, annotations={"bench.seamark.dev/note": note})
        return Greeting(metadata=metadata, spec=GreetingSpec(text=text))

    missing = LARGE - BY_SERVER - len(msgspec.json.encode(document(greeting(""))))
    return greeting((f"{name} " * missing)[:missing])


def child_of(made: Made) -> dict[str, Any]:
    owner = {
        "apiVersion": Greeting.RESOURCE.api_version,
        "kind": "Greeting",
        "name": made.name,
        "uid": made.uid,
        "controller": True,
    }
    metadata = {"name": made.name, "namespace": made.namespace, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": TEXT}}


def status_of(made: Made) -> dict[str, Any]:
    return {
        "apiVersion": Greeting.RESOURCE.api_version,
        "kind": "Greeting",
        "metadata": {"name": made.name, "namespace": made.namespace, "resourceVersion": made.resource_version},
        "status": {
            "observedGeneration": made.generation,
            "conditions": [{**said, "observedGeneration": made.generation} for said in SAID],
            "configMapRef": {"name": made.name},
        },
    }


SCENARIO = CoreScenario()
