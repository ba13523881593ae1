"""What the fields of a policy may refer to. A reference that leads nowhere is `Unsupported`, with its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from seamark.api.gatewayextensions import GatewayExtensionSpec
from seamark.api.trafficfilters import ExtensionReference, SecretReference
from seamark.families.gateway.values.limits import Unsupported
from seamark_runtime.api.gatewayroutes import BackendObjectReference


class Extension(Protocol):
    """A GatewayExtension, and what its own fields refer to."""

    @property
    def name(self) -> str: ...

    @property
    def spec(self) -> GatewayExtensionSpec: ...

    def cluster(self, field: str, ref: BackendObjectReference, protocol: str) -> str:
        """The name of the cluster of a Service."""
        ...

    def config_map(self, field: str, name: str) -> Mapping[str, str]:
        """The entries of a ConfigMap of the extension's namespace."""
        ...


class References(Protocol):
    """Of one policy: objects of its own namespace, or of another that permits it."""

    def secret(self, field: str, ref: SecretReference) -> Mapping[str, bytes]:
        """The entries of a Secret."""
        ...

    def extension(self, field: str, ref: ExtensionReference) -> Extension: ...


class NoReferences:
    """For a policy that is read by itself."""

    def secret(self, field: str, ref: SecretReference) -> Mapping[str, bytes]:
        raise Unsupported(f"{field}: Secret {ref.name} was not read")

    def extension(self, field: str, ref: ExtensionReference) -> Extension:
        raise Unsupported(f"{field}: GatewayExtension {ref.name} was not read")


NO_REFERENCES = NoReferences()
