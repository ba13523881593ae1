"""Policies are checked before `observe` reads the result: a check takes time, and has a budget for each namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seamark_edge.model import PolicyRefusal
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.view import View


class CheckedPolicies:
    """The memory of a kind with policies. `look` is what `observe` does to see the policy of an object, with the
    check that it is given; what is remembered are the results of the checks, by the provider."""

    def __init__(self, look: Callable[[PolicyRefusal, View, Any], object], check: PolicyRefusal) -> None:
        self._look = look
        self._check = check

    def advance(self, view: View, subject: Any, _results: Results) -> None:
        self._look(self._check, view, subject)

    def forget(self, _key: Key) -> None:
        """Results belong to policies, not to the objects that use them."""
