"""What is not ours stays as it is, at every single write of the operator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.simulation.invariants import conditions_of
from tests.simulation.sample.acts import owners
from tests.simulation.sample.truth import OURS
from tests.simulation.scenario import Violation

if TYPE_CHECKING:
    from tests.simulation.writes import Write

FINALIZER = "sample.seamark.dev/board"
ANNOTATION = "sample.seamark.dev/posted-on"
STATUS_MANAGER = "seamark-greetings"
MARKS = "seamark"  # the manager of what we put on the object itself


def check_greeting(old: Any, new: Any) -> None:
    """The operator has changed a greeting."""
    if old is None:
        raise Violation("not ours", f"the greeting {new['metadata']['name']} was made by the operator")
    for what, read in READINGS.items():
        if read(old) != read(new):
            raise Violation("foreign fields", f"{what} of {new['metadata']['name']}: {read(old)} became {read(new)}")
    if conditions_of(old) != conditions_of(new):
        _managers(new)


def check_let_go(old: Any) -> None:
    """The operator has removed the last finalizer of a greeting."""
    if others := READINGS["finalizers"](old):
        raise Violation("foreign fields", f"{old['metadata']['name']} is gone, though {others} held it")


def _managers(obj: Any) -> None:
    """Of the status, our fields and no others are under our manager, and it is of this family alone."""
    for entry in obj["metadata"].get("managedFields") or ():
        if entry.get("subresource") == "status" and entry["manager"].startswith(MARKS):
            if entry["manager"] != STATUS_MANAGER:
                raise Violation("one writer", f"the status was written by {entry['manager']}")
            if entry["operation"] != "Apply":
                raise Violation("one writer", f"the status was written by {entry['operation']}")


def check_careful(write: Write) -> None:
    """A write can only land on the object that was looked at: not its successor, not a later version."""
    if write.method == "POST" or "/events" in write.path:
        return
    body = json.loads(write.body)
    if write.method == "DELETE":
        missing = {"uid"} - set(body.get("preconditions", {}))
    else:
        wanted = {"resourceVersion"} if write.is_status else {"resourceVersion", "uid"}
        missing = wanted - set(body.get("metadata", {}))
    if missing:
        raise Violation("careful writes", f"{write.method} {write.path} does not say which {sorted(missing)} it means")


def check_marked(owner: str, greetings: list[Any]) -> None:
    """Before anything happens outside, our finalizer is on the object: otherwise a deletion leaves it there."""
    for obj in greetings:
        if obj["metadata"]["uid"] == owner and not is_marked(obj):
            raise Violation("marked first", f"{obj['metadata']['name']} is posted, and has no finalizer")


def is_marked(obj: Any) -> bool:
    return FINALIZER in (obj["metadata"].get("finalizers") or ())


def check_child(old: Any, new: Any, greeting: Any) -> None:
    """The operator has made, changed or deleted a ConfigMap."""
    if new is None:
        if not owners(old):
            raise Violation("not ours", f"the ConfigMap {old['metadata']['name']} was not ours, and was deleted")
        return
    if old is None:
        return
    if not owners(old):
        raise Violation("not ours", f"the ConfigMap {old['metadata']['name']} was not ours, and was written")
    if greeting is not None and greeting["metadata"]["uid"] not in owners(old):
        raise Violation("not ours", f"the ConfigMap {old['metadata']['name']} was that of a namesake, and was written")
    for what in ("labels", "annotations", "finalizers"):
        before, after = old["metadata"].get(what), new["metadata"].get(what)
        if before != after:
            raise Violation("foreign fields", f"{what} of a ConfigMap: {before} became {after}")
    if old.get("binaryData") != new.get("binaryData"):
        raise Violation("foreign fields", "the binary data of a ConfigMap are gone")


def _annotations(obj: Any) -> Any:
    return {name: value for name, value in (obj["metadata"].get("annotations") or {}).items() if name != ANNOTATION}


READINGS: dict[str, Callable[[Any], Any]] = {
    "spec": lambda obj: obj["spec"],
    "labels": lambda obj: obj["metadata"].get("labels"),
    "annotations": _annotations,
    "finalizers": lambda obj: [one for one in obj["metadata"].get("finalizers") or () if one != FINALIZER],
    "foreign conditions": lambda obj: {n: c for n, c in conditions_of(obj).items() if n not in OURS},
}
