"""Policies are checked before `observe` reads the result: a check takes time, and has a budget for each namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seamark.families.loadbalancer.model.endpoints import Policy
from seamark_edge.model import PolicyRefusal
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Results
from seamark_runtime.view import View


class CheckedPolicies:
    """The memory of a kind with policies. `look` is what `observe` does to see the policy of an object, with the
    check that it is given; what is remembered are the results of the checks, by the provider.

    `_last`: the last good policy of each object, with its uid. It is in force at the edge while a later one is bad.
    """

    def __init__(self, look: Callable[[PolicyRefusal, View, Any], object], check: PolicyRefusal) -> None:
        self._look = look
        self._check = check
        self._last: dict[Key, tuple[str, Mapping[str, Any]]] = {}

    def advance(self, view: View, subject: Any, _results: Results) -> None:
        found = self._look(self._check, view, subject)
        if isinstance(found, Policy) and found.document is not None:
            self._last[subject.key] = subject.uid, found.document

    def last(self, subject: Object) -> Mapping[str, Any] | None:
        """The last good policy of an object that this process has seen."""
        uid, document = self._last.get(subject.key, ("", None))
        return document if uid == subject.uid else None

    def forget(self, key: Key) -> None:
        """Results of checks belong to policies, not to the objects that use them."""
        self._last.pop(key, None)
