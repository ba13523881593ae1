"""Which cluster this is: the uid of its oldest namespace, which is in the marks of what is at the edge."""

from __future__ import annotations

from seamark_runtime.api.core import Namespace
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.scope import Scope
from seamark_runtime.view import View

OLDEST = Key("", "kube-system")
ONLY_OLDEST: dict[type[Object], Scope] = {Namespace: Scope.labelled({"kubernetes.io/metadata.name": OLDEST.name})}


def cluster_uid(view: View) -> str:
    """Empty where it can't be read."""
    found = view.intent(Namespace, OLDEST)
    return found.uid if found is not None else ""
