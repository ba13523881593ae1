"""Status policies: a ValidatingAdmissionPolicy for each kind, from the fields of its status that controllers declare.

- RBAC covers a status as a whole; the policy covers its fields. A user with the right to write a status may write
  their own fields, and none of ours.
- If only some objects of a kind are ours, the status mode selects them (`policy_condition`); without a selection there
  is no policy.
- Members of system:masters are exempt, for repairs.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark_runtime.api.meta import Object, Resource
from seamark_runtime.controller import Controller, Declaration
from seamark_runtime.status import ByEntry, ByManager

API = "admissionregistration.k8s.io/v1"
Json = dict[str, Any]


@dataclass(frozen=True)
class OwnedFields:
    """What one user alone may change: an expression that is true while it is as it was."""

    user: str
    what: str
    unchanged: str
    only: str = ""  # for which objects; empty: all of the kind


def policies(declared: Mapping[str, Iterable[Declaration]]) -> list[Json]:
    """The policies and their bindings. Declarations are by the name of the user under whom they run."""
    found: dict[Resource, list[OwnedFields]] = {}
    for user, several in declared.items():
        for declaration in several:
            if isinstance(declaration, Controller) and (fields := _owned_fields(user, declaration)) is not None:
                found.setdefault(declaration.kind.RESOURCE, []).append(fields)
    return [document for resource, fields in sorted(found.items()) for document in _policy(resource, fields)]


def _owned_fields(user: str, controller: Controller[Any]) -> OwnedFields | None:
    match controller.status:
        case ByManager(policy_condition=str(only)) as mode:
            names = wire_names(controller.kind)
            fields = [names[name] for name in mode.fields]
            kinds = [condition.name for condition in mode.conditions]
            same = [f"object.?status.?{name} == oldObject.?status.?{name}" for name in fields]
            same += [_same("conditions", f"one.type in {kinds}")] if kinds else []
            return OwnedFields(user, ", ".join([*fields, *kinds]), " && ".join(same), only)
        case ByEntry(policy_condition=str(ours)) as mode if ours:
            return OwnedFields(user, f"its entries in {mode.entries.field}", _same(mode.entries.field, ours))
    return None


def _same(items: str, ours: str) -> str:
    """Those entries of a list, called `one`, are as they were."""
    now, before = (f"{of}.?status.{items}.orValue([]).filter(one, {ours})" for of in ("object", "oldObject"))
    return f"{now} == {before}"


def wire_names(kind: type[Object]) -> dict[str, str]:
    """The fields of a kind's status, and what they are called on the wire."""
    hint = typing.get_type_hints(kind)["status"]
    (status,) = [option for option in typing.get_args(hint) or (hint,) if option is not type(None)]
    return {info.name: info.encode_name for info in msgspec.structs.fields(status)}


def _policy(resource: Resource, owned: list[OwnedFields]) -> list[Json]:
    return guard(f"seamark-{resource}", resource, "status", [_validation(resource, fields) for fields in owned])


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


def _validation(resource: Resource, owned: OwnedFields) -> Json:
    others = f"!({owned.only}) || " if owned.only else ""
    message = f"status of this {resource.kind}: {owned.what}: only {owned.user} may change it"
    return {
        "expression": f"{others}request.userInfo.username == '{owned.user}' || ({owned.unchanged})",
        "message": message,
    }
