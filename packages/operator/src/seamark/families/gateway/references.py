"""Names in references: a name that no object can have resolves to nothing, and is reported at once."""

from __future__ import annotations

from seamark_runtime.untrusted.names import InvalidName, NameRule, check_name


def invalid(field: str, name: str, namespace: str | None = None) -> str:
    """What is wrong with the name, and the namespace, of a reference in this field; empty when nothing is."""
    try:
        check_name(name)
    except InvalidName as error:
        return f"{field}.name: {error}"
    try:
        if namespace:
            check_name(namespace, NameRule.LABEL)
    except InvalidName as error:
        return f"{field}.namespace: {error}"
    return ""
