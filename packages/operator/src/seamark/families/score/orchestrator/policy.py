"""What happens to a resource that is not needed any more: its own annotation, else the provisioner's policy."""

from __future__ import annotations

from typing import Literal

import msgspec

from seamark.api.score import Dependency
from seamark.families.score.model.ownership import DELETE, POLICIES, POLICY
from seamark.families.score.orchestrator.resolve import Wrong
from seamark.families.score.platform.configuration import Config

Policy = Literal["Delete", "Retain", "Orphan"]


def annotated(resource: Dependency) -> str:
    return ((resource.metadata.annotations if resource.metadata else None) or {}).get(POLICY, "")


def policy(resource: Dependency, config: Config) -> Policy:
    """Where `check_policy` has refused any other value."""
    provisioner = config.provisioner(resource.type, resource.class_)
    named = annotated(resource) or (provisioner.deprovision_policy if provisioner else DELETE)
    found: Policy = msgspec.convert(named, Policy)
    return found


def check_policy(resource: Dependency, where: str) -> None:
    """A policy that there is not could only be guessed, and what is guessed may delete data."""
    if (named := annotated(resource)) not in ("", *POLICIES):
        place = f"{where}.metadata.annotations[{POLICY}]"
        raise Wrong(f"{place}: there is no policy {named[:63]!r}; there are {', '.join(POLICIES)}")
