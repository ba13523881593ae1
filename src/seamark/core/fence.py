"""A fence around what is said, from who declares which fields of a status: a ValidatingAdmissionPolicy for each kind.

- RBAC ends at the status as a whole; the fence goes through it. Whoever has the right to write a status may write
  fields of their own, and those of nobody here.
- Where only some objects of a kind are ours, the status mode says which (`fence`); of those that it can't tell there is
  no policy.
- Whoever has all rights in the cluster (system:masters) is not held up: they mend what is broken.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.api.meta import Object, Resource
from seamark.core.controller import Controller
from seamark.core.status import ByEntry, ByManager
from seamark.core.waker import Declaration

API = "admissionregistration.k8s.io/v1"
Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """What one user alone may change: an expression that is true while it is as it was."""

    user: str
    what: str
    unchanged: str
    only: str = ""  # for which objects; empty: all of the kind


def policies(declared: Mapping[str, Iterable[Declaration]]) -> list[Json]:
    """The policies and their bindings. Declarations are by the name of the user under whom they run."""
    found: dict[Resource, list[Said]] = {}
    for user, several in declared.items():
        for one in several:
            if isinstance(one, Controller) and (said := _said(user, one)) is not None:
                found.setdefault(one.kind.RESOURCE, []).append(said)
    return [document for resource, said in sorted(found.items()) for document in _policy(resource, said)]


def _said(user: str, one: Controller[Any]) -> Said | None:
    match one.status:
        case ByManager(fence=str(only)) as mode:
            names = wire_names(one.kind)
            fields = [names[name] for name in mode.fields]
            kinds = [condition.name for condition in mode.conditions]
            same = [f"object.?status.?{name} == oldObject.?status.?{name}" for name in fields]
            same += [_same("conditions", f"one.type in {kinds}")] if kinds else []
            return Said(user, ", ".join([*fields, *kinds]), " && ".join(same), only)
        case ByEntry(fence=str(ours)) as mode if ours:
            return Said(user, f"its entries in {mode.entries.field}", _same(mode.entries.field, ours))
    return None


def _same(items: str, ours: str) -> str:
    """Those entries of a list, called `one`, are as they were."""
    now, before = (f"{of}.?status.{items}.orValue([]).filter(one, {ours})" for of in ("object", "oldObject"))
    return f"{now} == {before}"


def wire_names(kind: type[Object]) -> dict[str, str]:
    """The fields of a kind's status, and what they are called on the wire."""
    hint = typing.get_type_hints(kind)["status"]
    (status,) = [one for one in typing.get_args(hint) or (hint,) if one is not type(None)]
    return {info.name: info.encode_name for info in msgspec.structs.fields(status)}


def _policy(resource: Resource, said: list[Said]) -> list[Json]:
    return guard(f"seamark-{resource}", resource, "status", [_validation(resource, one) for one in said])


def guard(
    name: str,
    resource: Resource,
    subresource: str,
    validations: Iterable[Json],
    *,
    variables: Mapping[str, str] | None = None,
    operations: Iterable[str] = ("UPDATE",),
) -> list[Json]:
    """A policy on a kind, or a part of it, and its binding. `variables` are expressions that the others can name."""
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        "operations": list(operations),
        "resources": [f"{resource.plural}/{subresource}" if subresource else resource.plural],
    }
    spec: Json = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "not-masters", "expression": "!('system:masters' in request.userInfo.groups)"}],
        "validations": list(validations),
    }
    if variables:
        spec["variables"] = [{"name": name, "expression": meaning} for name, meaning in variables.items()]
    return [
        {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]


def _validation(resource: Resource, one: Said) -> Json:
    others = f"!({one.only}) || " if one.only else ""
    words = f"status of this {resource.kind}: {one.what}: only {one.user} says that"
    return {"expression": f"{others}request.userInfo.username == '{one.user}' || ({one.unchanged})", "message": words}
