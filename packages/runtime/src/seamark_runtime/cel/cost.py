"""The estimated cost of an expression, from its syntax tree alone.

- A loop costs its body times the items of what it runs over; loops in loops multiply.
- What a variable holds is taken to be as large as the limits declare (`input_items`, `input_text`), a pattern that is
  not in the source to be simple. Beyond that the run-time budget limits.
- Patterns in the source also cost what it takes to compile them.
- The unit is the step of the meter. An evaluation over texts and lists of plain values within the declared sizes never
  spends more than the estimate, unless a pattern that is not in the source turns out to be invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamark_runtime.cel.functions import Cost, Function, Library, Result
from seamark_runtime.cel.limits import CHARACTERS_PER_STEP, DYNAMIC_PATTERN, PATTERN_WORK_PER_STEP, Limits
from seamark_runtime.cel.strings import pattern_of
from seamark_runtime.cel.syntax import (
    Binary,
    Bind,
    Call,
    Conditional,
    Index,
    ListOf,
    Literal,
    Loop,
    MapOf,
    Name,
    Node,
    OptionalMap,
    Select,
)
from seamark_runtime.cel.values import SyntaxProblem

PER_ITEM = 2  # steps of a loop for each item, beside its body
_STATES_PER_CHARACTER = 4  # of a pattern that is not in the source


@dataclass(frozen=True, slots=True)
class Shape:
    """Upper bounds of a value: its items, its characters, and the shape of an item (None: as of a variable)."""

    items: int = 0
    chars: int = 0
    item: Shape | None = None

    @property
    def weight(self) -> int:
        return self.items + self.chars // CHARACTERS_PER_STEP

    @property
    def volume(self) -> int:
        """The number of comparisons of a walk over the whole value."""
        return 1 + self.items * (2 + (self.item.volume if self.item else 0))


SCALAR = Shape()
Names = Mapping[str, Shape]
Estimate = tuple[int, Shape]
Handler = Callable[[Any, Names], Estimate]


def estimate(tree: Node, limits: Limits, library: Library) -> int:
    """Steps of an evaluation, at most."""
    estimator = _Estimator(limits, library)
    return estimator.of(tree, {})[0] + estimator.states


def largest(shapes: Sequence[Shape]) -> Shape:
    """Bounds that hold for each of these."""
    if not shapes:
        return SCALAR
    items = [shape.item for shape in shapes if shape.items]
    known = [item for item in items if item is not None]
    return Shape(
        max(shape.items for shape in shapes),
        max(shape.chars for shape in shapes),
        largest(known) if items and len(known) == len(items) else None,
    )


class _Estimator:
    """Recurses as deep as the tree, whose depth is limited.

    - `states` are those of all patterns in the source: to compile one state takes about a step, once.
    """

    def __init__(self, limits: Limits, library: Library) -> None:
        self._limits = limits
        self._library = library
        self._input = Shape(limits.input_items, limits.input_text)
        self.states = 0

    def of(self, node: Node, names: Names) -> Estimate:
        handler: Handler | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is not None:
            return handler(node, names)
        return 1 + self._all(node.children, names)[0], SCALAR

    def _all(self, nodes: Sequence[Node], names: Names) -> tuple[int, list[Shape]]:
        estimates = [self.of(node, names) for node in nodes]
        return sum(cost for cost, _ in estimates), [shape for _, shape in estimates]

    def _literal(self, node: Literal, _: Names) -> Estimate:
        return 1, Shape(chars=len(node.value)) if isinstance(node.value, str | bytes) else SCALAR

    def _name(self, node: Name, names: Names) -> Estimate:
        return 1, names.get(node.name, self._input)

    def _select(self, node: Select | Index, names: Names) -> Estimate:
        cost, shapes = self._all(node.children, names)
        return 1 + cost, shapes[0].item or self._input

    _index = _select

    def _listof(self, node: ListOf | MapOf, names: Names) -> Estimate:
        cost, shapes = self._all(node.children, names)
        return 1 + cost, Shape(len(shapes), 0, largest(shapes))

    _mapof = _listof

    def _conditional(self, node: Conditional, names: Names) -> Estimate:
        cost, shapes = self._all(node.children, names)
        return 1 + cost, largest(shapes[1:])

    def _bind(self, node: Bind, names: Names) -> Estimate:
        return self._with(node.value, node.variable, node.body, names)

    def _optionalmap(self, node: OptionalMap, names: Names) -> Estimate:
        return self._with(node.source, node.variable, node.body, names)

    def _with(self, value: Node, variable: str, body: Node, names: Names) -> Estimate:
        before, shape = self.of(value, names)
        cost, result = self.of(body, {**names, variable: shape})
        return 1 + before + cost, result

    def _loop(self, loop: Loop, names: Names) -> Estimate:
        before, over = self.of(loop.over, names)
        inner = {**names, loop.variable: over.item or self._input}
        body, shape = self.of(loop.body, inner)
        test = self.of(loop.test, inner)[0] if loop.test is not None else 0
        cost = 1 + before + over.items * (body + test + PER_ITEM)
        match loop.kind:
            case "map":
                return cost, Shape(over.items, 0, shape)
            case "filter":
                return cost, Shape(over.items, 0, over.item)
        return cost, SCALAR

    def _binary(self, node: Binary, names: Names) -> Estimate:
        cost, (left, right) = self._all(node.children, names)
        match node.operator:
            case "+" if _is_number(node.left) or _is_number(node.right):
                return 1 + cost, SCALAR
            case "+":
                item = largest([shape.item for shape in (left, right) if shape.item]) if left.items else right.item
                chars = min(left.chars + right.chars, self._limits.text)
                made = Shape(left.items + right.items, chars, item)
                return 1 + cost + made.weight, made
            case "==" | "!=":
                return 1 + cost + min(left.volume, right.volume), SCALAR
            case "in":
                return 1 + cost + right.items * min(left.volume, right.item.volume if right.item else 1), SCALAR
        return 1 + cost, SCALAR

    def _call(self, call: Call, names: Names) -> Estimate:
        function, nodes = resolve(call, self._library)
        cost, shapes = self._all(nodes, names)
        if function is None:
            return 1 + cost, self._input
        return 1 + cost + self._charge(function, nodes, shapes), self._result(function, shapes)

    def _charge(self, function: Function, nodes: Sequence[Node], shapes: Sequence[Shape]) -> int:
        linear = function.steps + function.per_item * sum(shape.weight for shape in shapes)
        if function.cost is Cost.PRODUCT and len(shapes) > 1:
            pairs = (shapes[0].weight + 1) * (shapes[1].weight + 1)
            return linear + self._result(function, shapes).weight + 2 * pairs * (1 + _item_weight(shapes[0]))
        if function.cost is Cost.PATTERN and len(shapes) > 1:
            states, compiling = self._states(nodes[1], shapes[1])
            searches = shapes[0].chars + 1 if function.result is Result.PIECES else 1
            return linear + compiling + searches * (1 + shapes[0].chars * states // PATTERN_WORK_PER_STEP)
        return linear if not function.metered else linear + self._metered(function, shapes)

    def _metered(self, function: Function, shapes: Sequence[Shape]) -> int:
        """Functions that walk a list charge by item, at most for each pair of them."""
        first = shapes[0] if shapes else SCALAR
        if function.result is Result.SAME:
            return first.items * first.items * (1 + _item_weight(first))
        return (1 + first.items) * self._result(function, shapes).weight + first.volume

    def _states(self, pattern: Node, shape: Shape) -> tuple[int, int]:
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            states = pattern_of(pattern.value, self._limits.pattern_memory).states
            self.states += states
            if self._limits.cost is not None and self.states > self._limits.cost:  # before more of them are compiled
                raise SyntaxProblem(f"its patterns have more than {self._limits.cost} states")
            return states, 0
        states = _STATES_PER_CHARACTER * (shape.chars + 2)
        return states, DYNAMIC_PATTERN + states

    def _result(self, function: Function, shapes: Sequence[Shape]) -> Shape:
        first = shapes[0] if shapes else SCALAR
        longest = self._limits.text
        match function.result:
            case Result.PIECES:
                return Shape(first.chars + 1, 0, Shape(chars=first.chars))
            case Result.JOINED:
                item = (first.item or self._input).chars + sum(shape.chars for shape in shapes[1:])
                return Shape(chars=min(first.items * item, longest))
            case Result.REPLACED:
                new = shapes[2].chars if len(shapes) > 2 else 0
                return Shape(chars=min((first.chars + 1) * (new + 1), longest))
            case Result.FORMATTED:
                return Shape(chars=longest)
            case Result.FLAT:
                inner = first.item or self._input
                return Shape(first.items * max(1, inner.items), 0, largest([inner, inner.item or inner]))
        return largest(shapes)


def _is_number(node: Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, int | float)


def _item_weight(shape: Shape) -> int:
    return shape.item.volume + shape.item.weight if shape.item else 0


def resolve(call: Call, library: Library) -> tuple[Function | None, list[Node]]:
    """The function that is called and its arguments, the target being the first one of a member's."""
    if call.target is None:
        return library.plain.get(call.name), call.arguments
    if isinstance(call.target, Name) and f"{call.target.name}.{call.name}" in library.namespaced:
        return library.namespaced[f"{call.target.name}.{call.name}"], call.arguments
    return library.members.get(call.name), [call.target, *call.arguments]
