"""What we put on a user's own object: our finalizer and our annotations.

- One write for both, with uid and resourceVersion, acknowledged before anything happens outside.
- Finalizers and annotations of others stay.
- A refusal is a result, reported on the object.
"""

from __future__ import annotations

from typing import Any

from seamark_runtime.apply import Refusal
from seamark_runtime.client import Client
from seamark_runtime.controller import Controller, Wanted
from seamark_runtime.errors import Conflict, Refused, Retry


def missing_marks(controller: Controller[Any], obj: Any, wanted: Wanted) -> dict[str, Any]:
    """The change of metadata that makes the marks as wanted; empty when they are."""
    metadata: dict[str, Any] = {}
    writes = controller.writes
    finalizers = obj.metadata.finalizers or ()
    ours = [name for name in finalizers if name in writes.finalizers]
    others = [name for name in finalizers if name not in ours]
    if wanted.finalizer and ours != [writes.finalizer]:
        metadata["finalizers"] = [*others, writes.finalizer]
    elif not wanted.finalizer and ours:
        metadata["finalizers"] = others
    have = {name: obj.annotation(name) for name in writes.annotations if obj.annotation(name)}
    if have != dict(wanted.annotations):
        gone = {name: None for name in have if name not in wanted.annotations}
        metadata["annotations"] = {**gone, **wanted.annotations}
    return metadata


def without_finalizer(controller: Controller[Any], obj: Any) -> dict[str, Any]:
    writes = controller.writes
    finalizers = obj.metadata.finalizers or ()
    if not any(name in writes.finalizers for name in finalizers):
        return {}
    return {"finalizers": [name for name in finalizers if name not in writes.finalizers]}


async def change_metadata(
    client: Client, obj: Any, metadata: dict[str, Any], *, lasting: bool
) -> tuple[Any, Refusal | None]:
    """The object after the change. A refusal is an answer; so is a passing failure that has lasted."""
    try:
        return await _patch(client, obj, metadata), None
    except (Refused, Retry) as error:
        if isinstance(error, Retry) and not lasting:
            raise
        fields = " and ".join(f"metadata.{name}" for name in sorted(metadata))
        return obj, Refusal(f"{fields} of this object can't be changed: {error.message}", "MetadataRefused")


async def _patch(client: Client, obj: Any, metadata: dict[str, Any]) -> Any:
    """The object after the change. If its spec moved on meanwhile, what was decided is out of date."""
    identity = {"uid": obj.uid, "resourceVersion": obj.metadata.resource_version}
    changed = await client.merge_patch(type(obj), obj.key, {"metadata": {**metadata, **identity}})
    if not obj.deleting and changed.metadata.generation != obj.metadata.generation:
        raise Conflict("the object changed while it was marked")
    return changed
