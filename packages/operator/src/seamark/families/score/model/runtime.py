"""What the controllers of the Kubernetes runtime share: their labels, and the entry about a rendered plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.families.score.model.ownership import PART_OF
from seamark_runtime.api.apps import Deployment, PersistentVolumeClaim, StatefulSet
from seamark_runtime.api.core import ConfigMap, Pod
from seamark_runtime.api.meta import Object
from seamark_runtime.scope import Scope

RUNTIME_CLASS = "kubernetes"
MANAGER = "score-runtime-kubernetes"
WORKLOAD_LABEL = "score.dev/workload"
NAMESPACE_LABEL = "score.dev/workload-namespace"
GENERATION = "score.dev/workload-generation"  # on what is rendered: the generation of the Workload it was rendered for
STATUS_POLICY = f"object.spec.runtimeClass == '{RUNTIME_CLASS}'"  # whose status this runtime may write
ROUTE_ROLE = "route "  # the role of a rendered route begins with this
LABELLED: Mapping[type[Object], Scope] = dict.fromkeys(
    (Deployment, StatefulSet, ConfigMap, PersistentVolumeClaim, Pod), Scope.labelled(PART_OF)
)


@dataclass(frozen=True)
class Rendered:
    """The result of rendering a plan: by role, the error of a refused child."""

    generation: int
    refused: Mapping[str, str] = field(default_factory=dict)

    def errors(self, *, routes: bool) -> str:
        """Why routes, or everything else, could not be made."""
        chosen = (error for role, error in sorted(self.refused.items()) if role.startswith(ROUTE_ROLE) == routes)
        return "; ".join(dict.fromkeys(chosen))
