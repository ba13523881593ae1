"""References of Gateway API objects: a name that no object can have resolves to nothing, and is reported at once."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_runtime.api.meta import Key
from seamark_runtime.grants import Referrer
from seamark_runtime.untrusted.names import InvalidName, NameRule, check_name


@dataclass(frozen=True, slots=True)
class UnresolvedReference:
    """Why a reference leads to nothing that can be used: the reason of a condition, and its message."""

    reason: str
    message: str


def invalid_reference(field: str, name: str, namespace: str | None = None) -> str:
    """What is wrong with the name, and the namespace, of a reference in this field; empty when nothing is."""
    try:
        check_name(name)
    except InvalidName as error:
        return f"{field}.name: {error}"
    try:
        if namespace:
            check_name(namespace, NameRule.LABEL)
    except InvalidName as error:
        return f"{field}.namespace: {error}"
    return ""


def not_permitted(referrer: Referrer, kind: str, key: Key) -> UnresolvedReference:
    """An object of another namespace is used without a ReferenceGrant there."""
    message = f"No ReferenceGrant in namespace {key.namespace} lets {referrer.kind}s use the {kind} {key.name}"
    return UnresolvedReference("RefNotPermitted", message)
