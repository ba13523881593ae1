"""Whose is it, and which one is meant: Sieve's and Acto's bugs of identity, ownership and shared fields."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "identity and ownership"

BUGS = (
    Bug(
        "name instead of uid",
        KIND,
        "a child is taken for ours if its owner had the same name",
        (
            Change("seamark_runtime.ownership", "within(owner, owner.uid)", "within(owner, owner.metadata.name)"),
            Change("seamark_runtime.ownership", "within(child, reference.uid)", "within(child, reference.name)"),
        ),
    ),
    Bug(
        "outside by name",
        KIND,
        "what is outside is known by the object's name, so a successor inherits it",
        (
            Change(
                "seamark.families.sample.reconcile",
                "    return seen.greeting.uid\n",
                "    return seen.greeting.metadata.name\n",
            ),
        ),
    ),
    Bug(
        "no owner check",
        KIND,
        "an object of the wanted name is written, whoever made it",
        (
            Change(
                "seamark_runtime.apply", "if ownership.token(owner) not in set(ownership.owners(live)):", "if False:"
            ),
        ),
    ),
    Bug(
        "adopts by force",
        KIND,
        "children are applied by force instead of made, into whatever has the name",
        (
            Change(
                "seamark_runtime.apply",
                "created = await self._client.create(wanted)",
                'created = await self._client.apply(type(wanted), wanted.key, {"data": getattr(wanted, "data", None)})',
            ),
        ),
    ),
    Bug(
        "shared field manager",
        KIND,
        "the status is applied under the name that all families share",
        (Change("seamark_runtime.status", "await client.named(self.manager).apply(", "await client.apply("),),
    ),
    Bug(
        "status for a successor",
        KIND,
        "the status carries no resourceVersion, so it lands on a new object of the same name",
        (
            Change(
                "seamark_runtime.status",
                'fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status"',
                'fields = {"metadata": {}, "status"',
            ),
        ),
    ),
    Bug(
        "delete without uid",
        KIND,
        "a delete hits whatever has the name by then",
        (Change("seamark_runtime.client", '"preconditions": {"uid": uid, **seen},', '"preconditions": {**seen},'),),
    ),
    Bug(
        "child patched blindly",
        KIND,
        "a child's patch does not say which version it was made for",
        (
            Change(
                "seamark_runtime.apply",
                'identity = {"uid": live.uid, "resourceVersion": live.metadata.resource_version}',
                'identity = {"uid": live.uid}',
            ),
        ),
    ),
    Bug(
        "prune across owners",
        KIND,
        "every child in the cache is taken for one of ours that is no longer wanted",
        (
            Change(
                "seamark_runtime.reconciler",
                "for child in view.by(index, token)]",
                "for child in self._dependencies.informers[index.kind].cache]",
            ),
        ),
    ),
    Bug(
        "foreign finalizers lost",
        KIND,
        "our finalizer replaces those of others",
        (
            Change(
                "seamark_runtime.marks",
                'metadata["finalizers"] = [*others, controller.finalizer]',
                'metadata["finalizers"] = [controller.finalizer]',
            ),
        ),
    ),
    Bug(
        "all finalizers removed",
        KIND,
        "letting go of an object takes the finalizers of others along",
        (
            Change(
                "seamark_runtime.marks",
                'return {"finalizers": [name for name in finalizers if name not in ours]}',
                'return {"finalizers": []}',
            ),
        ),
    ),
    Bug(
        "foreign marks removed",
        KIND,
        "labels and annotations of others on a child are taken for leftovers",
        (
            Change(
                "seamark_runtime.difference",
                "        have = getattr(live, name) or {}\n",
                "        have = getattr(live, name) or {}\n"
                "        if gone := {k: None for k in have if k not in (getattr(wanted, name) or {})}:\n"
                "            patch[name] = gone\n"
                "            continue\n",
            ),
        ),
    ),
    Bug(
        "typed object put back",
        KIND,
        "a child is replaced by what we know of it; fields that we do not know are lost",
        (
            Change(
                "seamark_runtime.apply",
                "changed = await self._client.merge_patch(type(live), live.key, patch)",
                "import msgspec\n"
                "        from seamark_runtime.api.meta import document\n"
                "        whole = msgspec.structs.replace(wanted, metadata=live.metadata)\n"
                "        path = live.RESOURCE.path(*live.key)\n"
                '        request = self._client._write("PUT", path, document(whole))\n'
                "        changed = await self._client._object(type(live), request)",
            ),
        ),
    ),
)
