"""What is decided about the Domain of a host from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.ngrokingress import Domain
from seamark_runtime.api.meta import Key

DOMAIN = "domain"  # the role of the one child


@dataclass(frozen=True, slots=True)
class Seen:
    key: Key  # namespace and host
    theirs: Domain | None  # a Domain for this host that a user has made
    wanted: bool
