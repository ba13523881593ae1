"""From a tree to a function: every node becomes a closure once, and evaluation only calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from seamark_runtime.cel import loops
from seamark_runtime.cel.access import indexed, map_key, maybe, selected, unescape
from seamark_runtime.cel.cost import estimate, resolve
from seamark_runtime.cel.declarations import Shape, check_condition
from seamark_runtime.cel.functions import Cost, Function, Library
from seamark_runtime.cel.limits import BudgetExceeded, Limits, Meter, weight
from seamark_runtime.cel.operators import OPERATORS, negative
from seamark_runtime.cel.parser import parse
from seamark_runtime.cel.scope import Evaluate, Scope
from seamark_runtime.cel.strings import pattern_of
from seamark_runtime.cel.syntax import (
    Binary,
    Bind,
    Call,
    Conditional,
    Has,
    Index,
    ListOf,
    Literal,
    Logical,
    Loop,
    MapOf,
    Name,
    Node,
    OptionalMap,
    Select,
    Unary,
)
from seamark_runtime.cel.values import TYPE_NAMES, CelError, Optional, SyntaxProblem, Type, no_overload


class Language:
    """Functions and limits. Equal texts share a program, the latest `keep` of them.

    With `declared` names, its programs are conditions: they use no other names, and give true or false.
    """

    def __init__(
        self, library: Library, limits: Limits, keep: int = 4096, declared: Mapping[str, Shape] | None = None
    ) -> None:
        self.limits = limits
        self._library = library
        self._declared = declared
        self.compile = lru_cache(maxsize=keep)(self.program)

    def program(self, text: str) -> Program:
        """A program of its own, not shared."""
        return Program(text, self._library, self.limits, self._declared)


class Program:
    """A compiled expression.

    - `names` are the variables that it reads, `cost` its estimate in steps (0 where the language does not estimate).
    - A call evaluates it for these variables, with a meter of its own or one that several evaluations share.
    """

    __slots__ = ("_evaluate", "_limits", "_steps", "cost", "names", "text")

    def __init__(
        self, text: str, library: Library, limits: Limits, declared: Mapping[str, Shape] | None = None
    ) -> None:
        self.text = text
        self._limits = limits
        tree = parse(text, limits)
        try:
            self.cost = 0 if limits.cost is None else estimate(tree, limits, library)
            if limits.cost is not None and self.cost > limits.cost:
                raise SyntaxProblem(
                    f"estimated cost of {self.cost} steps: at most {limits.cost} are allowed; "
                    "loops in loops and long patterns cost most"
                )
            if declared is not None:
                check_condition(tree, declared, library)
            compiler = Compiler(library, limits)
            self._evaluate = compiler.compile(tree)
        except CelError as error:
            raise SyntaxProblem(str(error)) from None
        self._steps = compiler.steps
        self.names = frozenset(compiler.names)

    def __call__(self, variables: Mapping[str, Any], meter: Meter | None = None) -> Any:
        meter = meter or Meter(self._limits)
        meter.charge(self._steps)
        return self._evaluate(Scope(variables, meter))


class Compiler:
    """Turns nodes into closures.

    - `names` are the free variables.
    - `steps` counts nodes outside of loops; a loop charges those of its body for each item.
    """

    def __init__(self, library: Library, limits: Limits) -> None:
        self.names: set[str] = set()
        self.steps = 0
        self._library = library
        self._limits = limits
        self._bound: list[str] = []

    def compile(self, node: Node) -> Evaluate:
        self.steps += 1
        handler: Callable[[Any], Evaluate] = getattr(self, f"_{type(node).__name__.lower()}")
        return handler(node)

    def _literal(self, node: Literal) -> Evaluate:
        value = node.value
        return lambda scope: value

    def _name(self, node: Name) -> Evaluate:
        name = node.name
        if name not in self._bound:
            self.names.add(name)

        def read(scope: Scope) -> Any:
            if name in scope:
                return scope[name]
            if name in TYPE_NAMES:
                return Type(name)
            raise CelError(f"undeclared reference to '{name}'")

        return read

    def _select(self, node: Select) -> Evaluate:
        evaluate, key = self.compile(node.target), unescape(node.field)
        if node.optional:
            return lambda scope: maybe(evaluate(scope), key)
        return lambda scope: selected(evaluate(scope), key)

    def _index(self, node: Index) -> Evaluate:
        evaluate, position = self.compile(node.target), self.compile(node.index)
        if node.optional:
            return lambda scope: maybe(evaluate(scope), position(scope))
        return lambda scope: indexed(evaluate(scope), position(scope))

    def _has(self, node: Has) -> Evaluate:
        evaluate, key = self.compile(node.target), unescape(node.field)

        def has(scope: Scope) -> bool:
            value = evaluate(scope)
            if isinstance(value, Optional):
                value = value.value if value.present else {}
            if not isinstance(value, dict):
                raise no_overload("has")
            return key in value

        return has

    def _listof(self, node: ListOf) -> Evaluate:
        compiled = [self.compile(item) for item in node.items]
        if all(isinstance(item, Literal) for item in node.items):
            constant = [item.value for item in node.items if isinstance(item, Literal)]
            return lambda scope: constant
        return lambda scope: [item(scope) for item in compiled]

    def _mapof(self, node: MapOf) -> Evaluate:
        compiled = [(self.compile(key), self.compile(value)) for key, value in node.entries]
        return lambda scope: {map_key(key(scope)): value(scope) for key, value in compiled}

    def _unary(self, node: Unary) -> Evaluate:
        evaluate = self.compile(node.operand)
        if node.operator == "-":
            return lambda scope: negative(evaluate(scope))

        def invert(scope: Scope) -> Any:
            value = evaluate(scope)
            if not isinstance(value, bool):
                raise no_overload("!_")
            return not value

        return invert

    def _conditional(self, node: Conditional) -> Evaluate:
        test, yes, no = self.compile(node.test), self.compile(node.yes), self.compile(node.no)

        def choose(scope: Scope) -> Any:
            value = test(scope)
            if not isinstance(value, bool):
                raise no_overload("_?_:_")
            return yes(scope) if value else no(scope)

        return choose

    def _logical(self, node: Logical) -> Evaluate:
        operands = [self.compile(operand) for operand in node.operands]
        decisive = node.operator == "||"
        return lambda scope: _decided(operands, scope, decisive=decisive)

    def _binary(self, node: Binary) -> Evaluate:
        left, right = self.compile(node.left), self.compile(node.right)
        function, name = OPERATORS[node.operator], f"_{node.operator}_"

        def operate(scope: Scope) -> Any:
            return _guarded(name, function, scope.meter, left(scope), right(scope))

        return operate

    def _loop(self, node: Loop) -> Evaluate:
        over = self.compile(node.over)
        outside, self.steps = self.steps, 0
        self._bound.append(node.variable)
        test = self.compile(node.test) if node.test is not None else None
        body = self.compile(node.body)
        self._bound.pop()
        steps, self.steps = self.steps, outside
        return loops.loop(node, over, test, body, steps)

    def _bind(self, node: Bind) -> Evaluate:
        value = self.compile(node.value)
        body, name = self._inside(node.variable, node.body), node.variable
        return lambda scope: body(scope.binding(name, value(scope)))

    def _optionalmap(self, node: OptionalMap) -> Evaluate:
        source = self.compile(node.source)
        return loops.optional_map(node, source, self._inside(node.variable, node.body))

    def _inside(self, variable: str, body: Node) -> Evaluate:
        self._bound.append(variable)
        compiled = self.compile(body)
        self._bound.pop()
        return compiled

    def _call(self, node: Call) -> Evaluate:
        function, nodes = resolve(node, self._library)
        if function is None:
            raise SyntaxProblem(f"undeclared reference to '{node.name}'")
        arguments = [self.compile(argument) for argument in nodes]
        if function.cost is Cost.PATTERN and len(nodes) > 1:
            arguments[1] = self._pattern(nodes[1], arguments[1])
        name, run, metered = node.name, function.run, function.metered
        charge = _CHARGES[function.cost]

        def call(scope: Scope) -> Any:
            values = [argument(scope) for argument in arguments]
            meter = scope.meter
            charge(meter, function, values)
            return _guarded(name, run, meter, *values) if metered else _guarded(name, run, *values)

        return call

    def _pattern(self, node: Node, evaluate: Evaluate) -> Evaluate:
        """A pattern of the source is compiled here, once, and refused here if it is none."""
        if not isinstance(node, Literal) or not isinstance(node.value, str):
            return evaluate
        pattern = pattern_of(node.value, self._limits.pattern_memory)
        return lambda scope: pattern


def _guarded(name: str, run: Callable[..., Any], *values: Any) -> Any:
    """What Python raises for values that do not fit is an error of the language."""
    try:
        return run(*values)
    except CelError:
        raise
    except (TypeError, AttributeError):
        raise no_overload(name) from None
    except (ValueError, ArithmeticError, LookupError, OSError) as error:
        raise CelError(f"{name}: {error}") from None


def _linear(meter: Meter, function: Function, values: list[Any]) -> None:
    meter.charge(function.steps + function.per_item * sum(map(weight, values)))


def _product(meter: Meter, _: Function, values: list[Any]) -> None:
    first, second = (weight(value) for value in [*values, 0, 0][:2])
    meter.charge((first + 1) * (second + 1))


_CHARGES: dict[Cost, Callable[[Meter, Function, list[Any]], None]] = {
    Cost.LINEAR: _linear,
    Cost.PRODUCT: _product,
    Cost.PATTERN: lambda meter, function, values: None,
}


def _decided(operands: Iterable[Evaluate], scope: Scope, *, decisive: bool) -> bool:
    """`&&` and `||`: an operand that decides does so whatever error another one has."""
    failure: CelError | None = None
    for operand in operands:
        try:
            value = operand(scope)
        except BudgetExceeded:
            raise
        except CelError as error:
            failure = failure or error
            continue
        if not isinstance(value, bool):
            failure = failure or no_overload("_||_" if decisive else "_&&_")
        elif value is decisive:
            return decisive
    if failure is not None:
        raise failure
    return not decisive
