"""What a platform may do to a published endpoint: hide it by its scope, or put a name of its own in its place.

- Off unless the profile sets it. A template holds names only, and replaces only what a runtime has published.
"""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import Exposure
from seamark.families.score.platform.templates import PLACE, fill, names
from seamark.families.score.platform.uris import fault

NAMES = (".workload.name", ".workload.namespace")


@dataclass(frozen=True)
class EndpointPolicy:
    """`scopes`: those that are shown, all if empty. `template`: shown instead of the URL, none if empty."""

    scopes: tuple[str, ...] = ()
    template: str = ""

    def endpoint(self, exposure: Exposure, name: str, namespace: str) -> str | None:
        if self.scopes and exposure.scope not in self.scopes:
            return None
        if not self.template:
            return exposure.url
        return fill(self.template, {"workload": {"name": name, "namespace": namespace}})


NO_POLICY = EndpointPolicy()


def template_fault(template: str) -> str:
    """What is wrong with a template, in words; empty when nothing is."""
    for place in names(template):
        if place not in NAMES:
            return f"{{{{{place}}}}} names nothing; there are " + ", ".join(f"{{{{{name}}}}}" for name in NAMES)
    return fault(PLACE.sub("name", template))
