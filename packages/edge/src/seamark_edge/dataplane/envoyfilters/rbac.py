"""Access by conditions over a request. Envoy gets every condition as the syntax tree, never as text."""

from __future__ import annotations

from envoy.config.rbac.v3 import rbac_pb2 as rules_pb2
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2
from google.api.expr.v1alpha1 import syntax_pb2

from seamark_edge.dataplane.conditions import condition
from seamark_edge.dataplane.filters import Rbac
from seamark_runtime.cel.syntax import (
    Binary,
    Call,
    Conditional,
    Has,
    Index,
    ListOf,
    Literal,
    Logical,
    MapOf,
    Name,
    Node,
    Select,
    Unary,
)
from seamark_runtime.cel.values import UInt

NAME = "envoy.filters.http.rbac"
OPERATORS = {"in": "@in", "!": "!_", "-": "-_"}


def idle() -> rbac_pb2.RBAC:
    return rbac_pb2.RBAC()


def on_route(setting: Rbac) -> rbac_pb2.RBACPerRoute:
    made = rbac_pb2.RBACPerRoute()
    rules = made.rbac.rules
    rules.action = rules_pb2.RBAC.ALLOW if setting.allow else rules_pb2.RBAC.DENY
    for number, text in enumerate(setting.conditions):
        policy = rules.policies[f"{number:03}"]
        policy.permissions.add(any=True)
        policy.principals.add(any=True)
        policy.condition.CopyFrom(Tree().expression(condition(text)))
    return made


class Tree:
    """A syntax tree as a message; every node of it gets a number of its own."""

    def __init__(self) -> None:
        self._last = 0

    def expression(self, node: Node) -> syntax_pb2.Expr:
        self._last += 1
        made = syntax_pb2.Expr(id=self._last)
        match node:
            case Literal(value):
                made.const_expr.CopyFrom(constant(value))
            case Name(name):
                made.ident_expr.name = name
            case Select(target, field) | Has(target, field):
                made.select_expr.operand.CopyFrom(self.expression(target))
                made.select_expr.field = field
                made.select_expr.test_only = isinstance(node, Has)
            case ListOf(items):
                made.list_expr.elements.extend(map(self.expression, items))
                made.list_expr.SetInParent()
            case MapOf(entries):
                self._map(made, entries)
            case Call(name, target, arguments):
                self._call(made, name, target, arguments)
            case Logical(operator, operands):
                return self._chain(operator, operands)
            case _:
                operator, operands = parts(node)
                self._call(made, operator, None, operands)
        return made

    def _call(self, made: syntax_pb2.Expr, function: str, target: Node | None, arguments: list[Node]) -> None:
        made.call_expr.function = function
        if target is not None:
            made.call_expr.target.CopyFrom(self.expression(target))
        made.call_expr.args.extend(map(self.expression, arguments))

    def _chain(self, operator: str, operands: list[Node]) -> syntax_pb2.Expr:
        """`a && b && c` as a balanced tree: the data plane evaluates it with a stack."""
        if len(operands) == 1:
            return self.expression(operands[0])
        half = len(operands) // 2
        self._last += 1
        made = syntax_pb2.Expr(id=self._last)
        made.call_expr.function = f"_{operator}_"
        made.call_expr.args.append(self._chain(operator, operands[:half]))
        made.call_expr.args.append(self._chain(operator, operands[half:]))
        return made

    def _map(self, made: syntax_pb2.Expr, entries: list[tuple[Node, Node]]) -> None:
        made.struct_expr.SetInParent()
        for key, value in entries:
            self._last += 1
            entry = made.struct_expr.entries.add(id=self._last)
            entry.map_key.CopyFrom(self.expression(key))
            entry.value.CopyFrom(self.expression(value))


def parts(node: Node) -> tuple[str, list[Node]]:
    """An operator by the name of its function, and its operands."""
    match node:
        case Index(target, index):
            return "_[_]", [target, index]
        case Unary(operator, operand):
            return OPERATORS[operator], [operand]
        case Binary(operator, left, right):
            return OPERATORS.get(operator, f"_{operator}_"), [left, right]
        case Conditional(test, yes, no):
            return "_?_:_", [test, yes, no]
    raise TypeError(type(node).__name__)  # `condition` has let nothing else through


CONSTANTS: tuple[tuple[type, str], ...] = (  # in this order: a bool is an int, too
    (bool, "bool_value"),
    (UInt, "uint64_value"),
    (int, "int64_value"),
    (float, "double_value"),
    (bytes, "bytes_value"),
    (str, "string_value"),
)


def constant(value: object) -> syntax_pb2.Constant:
    kind = next((field for type_, field in CONSTANTS if isinstance(value, type_)), None)
    return syntax_pb2.Constant(**{kind: value} if kind else {"null_value": 0})
