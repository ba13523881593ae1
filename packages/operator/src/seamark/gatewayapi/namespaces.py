"""Which namespaces a gateway or a listener allows: `from` All, Same, Selector or None, and label selectors."""

from __future__ import annotations

from collections.abc import Mapping

from seamark_runtime.api.core import Namespace
from seamark_runtime.api.gateway import LabelSelector
from seamark_runtime.api.meta import Key
from seamark_runtime.view import View


def namespace_labels(view: View, namespace: str) -> Mapping[str, str]:
    found = view.intent(Namespace, Key("", namespace))
    return (found.metadata.labels or {}) if found is not None else {}


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    if any(labels.get(name) != value for name, value in (selector.match_labels or {}).items()):
        return False
    for term in selector.match_expressions or ():
        value, values = labels.get(term.key), term.values or ()
        match term.operator:
            case "In":
                holds = value is not None and value in values
            case "NotIn":
                holds = value is None or value not in values
            case "Exists":
                holds = value is not None
            case _:
                holds = value is None
        if not holds:
            return False
    return True
