"""The syntax tree. Macros are nodes of their own: a loop is a `Loop`, however it was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class Node:
    """A part of an expression."""

    __slots__ = ()

    @property
    def children(self) -> Sequence[Node]:
        return ()


@dataclass(slots=True, eq=False)
class Literal(Node):
    value: Any


@dataclass(slots=True, eq=False)
class Name(Node):
    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    """`target.field` or `target.?field`."""

    target: Node
    field: str
    optional: bool = False

    @property
    def children(self) -> Sequence[Node]:
        return (self.target,)


@dataclass(slots=True, eq=False)
class Index(Node):
    """`target[index]` or `target[?index]`."""

    target: Node
    index: Node
    optional: bool = False

    @property
    def children(self) -> Sequence[Node]:
        return (self.target, self.index)


@dataclass(slots=True, eq=False)
class ListOf(Node):
    items: list[Node]

    @property
    def children(self) -> Sequence[Node]:
        return self.items


@dataclass(slots=True, eq=False)
class MapOf(Node):
    entries: list[tuple[Node, Node]]

    @property
    def children(self) -> Sequence[Node]:
        return [node for entry in self.entries for node in entry]


@dataclass(slots=True, eq=False)
class Unary(Node):
    """`!` or `-`."""

    operator: str
    operand: Node

    @property
    def children(self) -> Sequence[Node]:
        return (self.operand,)


@dataclass(slots=True, eq=False)
class Binary(Node):
    operator: str
    left: Node
    right: Node

    @property
    def children(self) -> Sequence[Node]:
        return (self.left, self.right)


@dataclass(slots=True, eq=False)
class Logical(Node):
    """`&&` or `||` over any number of operands: a long chain is one level of the tree."""

    operator: str
    operands: list[Node]

    @property
    def children(self) -> Sequence[Node]:
        return self.operands


@dataclass(slots=True, eq=False)
class Conditional(Node):
    test: Node
    yes: Node
    no: Node

    @property
    def children(self) -> Sequence[Node]:
        return (self.test, self.yes, self.no)


@dataclass(slots=True, eq=False)
class Call(Node):
    name: str
    target: Node | None
    arguments: list[Node]

    @property
    def children(self) -> Sequence[Node]:
        return self.arguments if self.target is None else [self.target, *self.arguments]


@dataclass(slots=True, eq=False)
class Has(Node):
    """`has(target.field)`."""

    target: Node
    field: str

    @property
    def children(self) -> Sequence[Node]:
        return (self.target,)


@dataclass(slots=True, eq=False)
class Loop(Node):
    """all, exists, exists_one, filter and map: `body` is evaluated for every item, after `test` where map has one."""

    kind: str
    over: Node
    variable: str
    body: Node
    test: Node | None = None

    @property
    def children(self) -> Sequence[Node]:
        return (self.over, self.body) if self.test is None else (self.over, self.test, self.body)


@dataclass(slots=True, eq=False)
class Bind(Node):
    """`cel.bind(variable, value, body)`."""

    variable: str
    value: Node
    body: Node

    @property
    def children(self) -> Sequence[Node]:
        return (self.value, self.body)


@dataclass(slots=True, eq=False)
class OptionalMap(Node):
    """optMap and, `flat`, optFlatMap."""

    source: Node
    variable: str
    body: Node
    flat: bool

    @property
    def children(self) -> Sequence[Node]:
        return (self.source, self.body)


def measure(root: Node) -> tuple[int, int]:
    """Nodes and levels of a tree. Does not recurse: the tree has not been limited yet."""
    nodes = depth = 0
    pending: list[tuple[Node, int]] = [(root, 1)]
    while pending:
        node, level = pending.pop()
        nodes += 1
        depth = max(depth, level)
        pending += [(child, level + 1) for child in node.children]
    return nodes, depth
