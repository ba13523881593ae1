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
            Change("core/ownership.py", "        return owner.uid\n", "        return owner.metadata.name\n"),
            Change("core/ownership.py", "return (reference.uid for reference", "return (reference.name for reference"),
        ),
    ),
    Bug(
        "outside by name",
        KIND,
        "what is outside is known by the object's name, so a successor inherits it",
        (
            Change(
                "families/sample/reconcile.py",
                "    return seen.greeting.uid\n",
                "    return seen.greeting.metadata.name\n",
            ),
        ),
    ),
    Bug(
        "no owner check",
        KIND,
        "an object of the wanted name is written, whoever made it",
        (Change("core/apply.py", "if ownership.token(owner) not in set(ownership.owners(live)):", "if False:"),),
    ),
    Bug(
        "adopts by force",
        KIND,
        "children are applied by force instead of made, into whatever has the name",
        (
            Change(
                "core/apply.py",
                "created = await self._client.create(wanted)",
                'created = await self._client.apply(type(wanted), wanted.key, {"data": getattr(wanted, "data", None)})',
            ),
        ),
    ),
    Bug(
        "shared field manager",
        KIND,
        "the status is applied under the name that all families share",
        (Change("core/status.py", "await client.named(self.manager).apply(", "await client.apply("),),
    ),
    Bug(
        "status for a successor",
        KIND,
        "the status carries no resourceVersion, so it lands on a new object of the same name",
        (
            Change(
                "core/status.py",
                'fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status"',
                'fields = {"metadata": {}, "status"',
            ),
        ),
    ),
    Bug(
        "delete without uid",
        KIND,
        "a delete hits whatever has the name by then",
        (Change("core/client.py", '"preconditions": {"uid": uid, **seen},', '"preconditions": {**seen},'),),
    ),
    Bug(
        "child patched blindly",
        KIND,
        "a child's patch does not say which version it was made for",
        (
            Change(
                "core/apply.py",
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
                "core/passes.py",
                "for child in view.by(self._owners[(item.kind, kind)], token)]",
                "for child in self._services.informers[kind].cache]",
            ),
        ),
    ),
    Bug(
        "foreign finalizers lost",
        KIND,
        "our finalizer replaces those of others",
        (
            Change(
                "core/marks.py",
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
                "core/marks.py",
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
                "core/difference.py",
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
                "core/apply.py",
                "changed = await self._client.merge_patch(type(live), live.key, patch)",
                "import msgspec\n"
                "        from seamark.api.meta import document\n"
                "        whole = msgspec.structs.replace(wanted, metadata=live.metadata)\n"
                "        path = live.RESOURCE.path(*live.key)\n"
                '        request = self._client._write("PUT", path, document(whole))\n'
                "        changed = await self._client._object(type(live), request)",
            ),
        ),
    ),
)
