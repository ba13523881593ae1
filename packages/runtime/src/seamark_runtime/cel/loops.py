"""Loops at run time: each item is charged with the steps of the body before it is evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamark_runtime.cel.cost import PER_ITEM
from seamark_runtime.cel.limits import BudgetExceeded
from seamark_runtime.cel.scope import Evaluate, Scope
from seamark_runtime.cel.syntax import Loop, OptionalMap
from seamark_runtime.cel.values import NONE, CelError, Optional, no_overload


def loop(node: Loop, over: Evaluate, test: Evaluate | None, body: Evaluate, steps: int) -> Evaluate:
    """`steps` of test and body for one item, without the loops in them."""
    name, per_item = node.variable, steps + PER_ITEM

    def scopes(scope: Scope) -> Iterator[tuple[Any, Scope]]:
        """Every item, with the scope in which the body sees it."""
        items = over(scope)
        if not isinstance(items, list | dict):
            raise no_overload("comprehension")
        meter = scope.meter
        inner = Scope(scope, meter)
        for item in items:
            meter.charge(per_item)
            inner[name] = item
            yield item, inner

    def mapped(scope: Scope) -> list[Any]:
        return [body(inner) for _, inner in scopes(scope) if test is None or _true(test(inner))]

    def filtered(scope: Scope) -> list[Any]:
        return [item for item, inner in scopes(scope) if _true(body(inner))]

    def exactly_one(scope: Scope) -> bool:
        return sum(1 for _, inner in scopes(scope) if _true(body(inner))) == 1

    def quantified(scope: Scope) -> bool:
        """An item that decides does so whatever error another one has."""
        failure: CelError | None = None
        for _, inner in scopes(scope):
            try:
                if _true(body(inner)) is decisive:
                    return decisive
            except BudgetExceeded:
                raise
            except CelError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not decisive

    decisive = node.kind == "exists"
    return {"map": mapped, "filter": filtered, "exists_one": exactly_one}.get(node.kind, quantified)


def optional_map(node: OptionalMap, source: Evaluate, body: Evaluate) -> Evaluate:
    name, flat = node.variable, node.flat

    def mapped(scope: Scope) -> Any:
        value = source(scope)
        if not isinstance(value, Optional):
            raise no_overload("optMap")
        if not value.present:
            return NONE
        result = body(scope.binding(name, value.value))
        return result if flat else Optional(present=True, value=result)

    return mapped


def _true(value: Any) -> bool:
    if not isinstance(value, bool):
        raise no_overload("comprehension")
    return value
