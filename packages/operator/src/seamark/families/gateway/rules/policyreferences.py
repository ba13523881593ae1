"""The objects that fields of a TrafficPolicy refer to, read one by one: those of its own namespace alone."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.api.trafficfilters import SecretReference
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark.gatewayapi.references import invalid_reference
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from seamark_runtime.follow import Unreadable
from seamark_runtime.source import Absent, Fresh, NotYet
from seamark_runtime.view import View


class PolicyReferences:
    """Of the policies of one namespace. What is read is recorded, so a change of it requeues the policy."""

    def __init__(self, view: View, namespace: str) -> None:
        self._view = view
        self._namespace = namespace

    def secret(self, field: str, ref: SecretReference) -> Mapping[str, bytes]:
        key = self._key(field, ref.name, ref.namespace)
        match self._view.single(Secret, key):
            case NotYet():
                raise Retry(f"Secret {key} was not read yet")
            case Absent():
                raise Unsupported(f"{field}: Secret {key.name} does not exist")
            case Unreadable(message):
                raise Unsupported(f"{field}: Secret {key.name} can't be read: {message}")
            case Fresh(secret):
                return secret.data or {}

    def _key(self, field: str, name: str, namespace: str | None) -> Key:
        if invalid := invalid_reference(field, name, namespace):
            raise Unsupported(invalid)
        if namespace not in (None, "", self._namespace):
            raise Unsupported(f"{field}.namespace: {limits.shown(namespace)} is not the namespace of the policy")
        return Key(self._namespace, name)
