"""What a controller may do, from what it declares: exactly what the loop does for it, nothing more.

- Follows every kind it reads; makes, changes and deletes its children. What it writes it may also read live: when a
  name is taken, and when a write is not seen in time.
- Patches the status it writes, and the object itself only where it puts a finalizer or annotations on it.
- A kind that is followed in one namespace only is granted there only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from seamark_runtime.access import OwnRights
from seamark_runtime.api.authorization import SelfSubjectAccessReview
from seamark_runtime.api.coordination import Lease
from seamark_runtime.api.events import Event
from seamark_runtime.api.meta import Object
from seamark_runtime.controller import CollectionController, Controller, kinds, scope
from seamark_runtime.status import NoStatus

FOLLOW = ("list", "watch")
SINGLE = ("get",)  # never a list: it would open all the others
KEEP = ("get", "create", "patch")
MAKE = ("create", "delete", "patch")


class Grant(NamedTuple):
    """A verb on one resource of one group, in one namespace or, without one, everywhere; on one object or on all."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""


def grants(declared: Controller[Any] | CollectionController[Any]) -> set[Grant]:
    found = _each(declared, kinds(declared), FOLLOW)
    found |= _each(declared, (*declared.reads.singles, *_written(declared)), SINGLE)
    found |= _each(declared, declared.writes.children, MAKE)
    found |= _each(declared, declared.writes.kept, KEEP)
    found |= on(SelfSubjectAccessReview, ("create",)) if _reads_rights(declared) else set()
    if isinstance(declared, Controller):
        if not isinstance(declared.status, NoStatus):
            found |= _each(declared, (declared.kind,), ("patch",), "status")
        if _marks(declared):
            found |= _each(declared, (declared.kind,), ("patch",))
        found |= on(Event, ("create", "patch"))
    return found


def _reads_rights(declared: Controller[Any] | CollectionController[Any]) -> bool:
    return any(isinstance(source, OwnRights) for source in declared.reads.sources)


def _written(declared: Controller[Any] | CollectionController[Any]) -> tuple[type[Object], ...]:
    """The kinds of which an object is read live when a name is taken, or a write is not seen in time."""
    if isinstance(declared, Controller) and not (isinstance(declared.status, NoStatus) and not _marks(declared)):
        return (declared.kind, *declared.writes.children)
    return declared.writes.children


def _marks(declared: Controller[Any]) -> bool:
    return bool(declared.writes.finalizer or declared.writes.annotations)


def by_namespace(found: Iterable[Grant]) -> dict[str, set[Grant]]:
    """The grants that belong into one role each; those for everywhere under the empty name."""
    sorted_out: dict[str, set[Grant]] = {}
    for grant in found:
        sorted_out.setdefault(grant.namespace, set()).add(grant)
    return dict(sorted(sorted_out.items()))


def leader_grants() -> set[Grant]:
    return on(Lease, ("create", "get", "patch"))


def rules(found: Iterable[Grant]) -> list[dict[str, Any]]:
    """The rules of a role: resources of a group with the same verbs share one, and so do names of a resource."""
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for grant in found:
        verbs.setdefault((grant.group, grant.resource, grant.name), set()).add(grant.verb)
    together: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (group, resource, name), allowed in sorted(verbs.items()):
        named_resource = resource if name else ""  # a rule with names is about one resource
        together.setdefault((group, tuple(sorted(allowed)), named_resource), []).append(name or resource)
    return [
        {"apiGroups": [group], "resources": [named_resource], "resourceNames": found, "verbs": list(allowed)}
        if named_resource
        else {"apiGroups": [group], "resources": found, "verbs": list(allowed)}
        for (group, allowed, named_resource), found in together.items()
    ]


def _each(
    declared: Controller[Any] | CollectionController[Any],
    chosen: Iterable[type[Object]],
    verbs: Iterable[str],
    subresource: str = "",
) -> set[Grant]:
    found = ((kind, scope(declared, kind).namespace) for kind in chosen)
    return {grant for kind, namespace in found for grant in on(kind, verbs, subresource, namespace)}


def on(
    kind: type[Object], verbs: Iterable[str], subresource: str = "", namespace: str = "", name: str = ""
) -> set[Grant]:
    """These verbs on a kind."""
    resource = kind.RESOURCE.plural + (f"/{subresource}" if subresource else "")
    return {Grant(kind.RESOURCE.group, resource, verb, namespace, name) for verb in verbs}
