"""What the fields of a policy may refer to. A reference that leads nowhere is `Unsupported`, with its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from seamark.api.trafficfilters import SecretReference
from seamark.families.gateway.values.limits import Unsupported


class References(Protocol):
    """Of one policy: objects of its own namespace, or of another that permits it."""

    def secret(self, field: str, ref: SecretReference) -> Mapping[str, bytes]:
        """The entries of a Secret."""
        ...


class NoReferences:
    """For a policy that is read by itself."""

    def secret(self, field: str, ref: SecretReference) -> Mapping[str, bytes]:
        raise Unsupported(f"{field}: Secret {ref.name} was not read")


NO_REFERENCES = NoReferences()
