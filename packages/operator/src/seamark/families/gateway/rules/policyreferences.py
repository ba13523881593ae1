"""The objects that fields of a TrafficPolicy refer to, read one by one.

A Secret is of the policy's own namespace. A GatewayExtension may be of another one, where a ReferenceGrant permits it;
so may the Services that the extension names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from seamark.api.gatewayextensions import GROUP, GatewayExtension, GatewayExtensionSpec, served
from seamark.api.trafficfilters import ExtensionReference, SecretReference
from seamark.families.gateway.model.routes import Backend
from seamark.families.gateway.rules.backends import Resolver
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark.gatewayapi.references import invalid_reference, not_permitted
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.gatewayroutes import BackendObjectReference
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.errors import Retry
from seamark_runtime.follow import Followed, Unreadable
from seamark_runtime.grants import Referrer, granted
from seamark_runtime.source import Absent, Fresh, NotYet
from seamark_runtime.view import View

T = TypeVar("T", bound=Object)
KIND = "GatewayExtension"


class PolicyReferences:
    """Of one policy. What is read is recorded, so a change of it requeues the policy; `backends` collects Services."""

    def __init__(self, view: View, namespace: str) -> None:
        self._view = view
        self._namespace = namespace
        self.backends: dict[str, Backend] = {}

    def secret(self, field: str, ref: SecretReference) -> Mapping[str, bytes]:
        check(field, ref.name, ref.namespace)
        if ref.namespace not in (None, "", self._namespace):
            raise Unsupported(f"{field}.namespace: {limits.shown(ref.namespace)} is not the namespace of the policy")
        key = Key(self._namespace, ref.name)
        return single(field, "Secret", key, self._view.single(Secret, key)).data or {}

    def extension(self, field: str, ref: ExtensionReference) -> ViewExtension:
        check(field, ref.name, ref.namespace)
        key = Key(ref.namespace or self._namespace, ref.name)
        referrer = Referrer(GROUP, "TrafficPolicy", self._namespace)
        if not granted(self._view, referrer, GROUP, KIND, key):
            raise Unsupported(f"{field}: {not_permitted(referrer, KIND, key).message}")
        found = self._view.intent(GatewayExtension, key)
        if found is None or found.deleting:
            raise Unsupported(f"{field}: {KIND} {key} does not exist")
        try:
            spec = served(found.spec or {})
        except msgspec.ValidationError as error:
            raise Unsupported(f"{field}: {KIND} {key}: {error}") from None
        return ViewExtension(self._view, key, spec, self.backends)


class ViewExtension:
    """A GatewayExtension as the view has it."""

    def __init__(self, view: View, key: Key, spec: GatewayExtensionSpec, backends: dict[str, Backend]) -> None:
        self.name = str(key)
        self.spec = spec
        self._view = view
        self._key = key
        self._backends = backends

    def cluster(self, field: str, ref: BackendObjectReference, protocol: str) -> str:
        resolver = Resolver(self._view, KIND, self._key.namespace, lambda _key: "", group=GROUP)
        resolver.rule = "spec"
        found = resolver.cluster(field, ref, protocol)
        if resolver.unresolved:
            raise Unsupported(f"{field}: {resolver.unresolved[0].message}")
        self._backends.update(resolver.backends)
        return found

    def config_map(self, field: str, name: str) -> Mapping[str, str]:
        check(field, name)
        key = Key(self._key.namespace, name)
        return single(field, "ConfigMap", key, self._view.single(ConfigMap, key)).data or {}


def check(field: str, name: str, namespace: str | None = None) -> None:
    if invalid := invalid_reference(field, name, namespace):
        raise Unsupported(invalid)


def single(field: str, kind: str, key: Key, found: Followed[T]) -> T:
    match found:
        case NotYet():
            raise Retry(f"{kind} {key} was not read yet")
        case Absent():
            raise Unsupported(f"{field}: {kind} {key.name} does not exist")
        case Unreadable(message):
            raise Unsupported(f"{field}: {kind} {key.name} can't be read: {message}")
        case Fresh(value):
            return value
