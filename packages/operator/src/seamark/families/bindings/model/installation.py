"""The state of the KubernetesOperator that is this installation."""

from __future__ import annotations

from enum import Enum

from seamark.families.bindings.model.options import Options
from seamark_edge.api.kubernetesoperator import RETAIN, KubernetesOperator
from seamark_runtime.view import View


class Installed(Enum):
    ABSENT = "there is none: objects are served, without a finalizer of ours"
    PRESENT = "it exists"
    DELETING = "it is being deleted, together with what was made here"
    RETAINING = "it is being deleted; what was made here is released and stays"


def retains(operator: KubernetesOperator) -> bool:
    drain = operator.spec.drain
    return drain is None or drain.policy == RETAIN


def installed(view: View, options: Options) -> Installed:
    operator = view.intent(KubernetesOperator, options.key)
    if operator is None:
        return Installed.ABSENT
    if not operator.deleting:
        return Installed.PRESENT
    return Installed.RETAINING if retains(operator) else Installed.DELETING
