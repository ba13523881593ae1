"""From tokens to a syntax tree within limits.

- Only brackets, arguments and the right side of `?:` recurse; their nesting is limited while parsing, so that the stack
  is bounded whatever the text is.
- Chains of operators and of members do not recurse here, but are levels of the tree: the whole tree is measured before
  anything else runs over it.
"""

from __future__ import annotations

from seamark_runtime.cel.limits import Limits
from seamark_runtime.cel.macros import expand
from seamark_runtime.cel.syntax import (
    Binary,
    Call,
    Conditional,
    Index,
    ListOf,
    Literal,
    Logical,
    MapOf,
    Name,
    Node,
    Select,
    Unary,
    measure,
)
from seamark_runtime.cel.tokens import Token, tokenize
from seamark_runtime.cel.values import INT_MAX, SyntaxProblem, UInt

_PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
    )
    for operator in operators
}
_CONSTANTS = {"true": True, "false": False, "null": None}
_END = Token("end", "<EOF>")


def parse(text: str, limits: Limits) -> Node:
    """The tree of this text; SyntaxProblem if it is no expression or above a limit."""
    if len(text) > limits.length:
        raise SyntaxProblem(f"expression of {len(text)} characters: at most {limits.length} are allowed")
    tree = Parser(text, limits.depth).parse()
    nodes, depth = measure(tree)
    if nodes > limits.nodes:
        raise SyntaxProblem(f"expression of {nodes} nodes: at most {limits.nodes} are allowed")
    if depth > limits.depth:
        raise _too_deep(limits.depth)
    return tree


def _too_deep(limit: int) -> SyntaxProblem:
    return SyntaxProblem(f"expression nested more than {limit} levels deep")


class Parser:
    """Every method consumes the tokens of what it names and leaves the rest."""

    def __init__(self, text: str, depth: int) -> None:
        self._tokens = tokenize(text)
        self._at = 0
        self._depth = 0  # of calls of _expression that are under way
        self._limit = depth

    def parse(self) -> Node:
        node = self._expression()
        if self._at < len(self._tokens):
            raise SyntaxProblem(f"mismatched input '{self._token.text}' expecting <EOF>")
        return node

    @property
    def _token(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _peek(self) -> str:
        token = self._token
        return token.text if token.kind in ("op", "name") else ""

    def _accept(self, *wanted: str) -> str:
        found = self._peek()
        if found and found in wanted:
            self._at += 1
            return found
        return ""

    def _expect(self, wanted: str) -> None:
        if not self._accept(wanted):
            raise SyntaxProblem(f"mismatched input '{self._token.text}' expecting '{wanted}'")

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > self._limit:
            raise _too_deep(self._limit)
        node = self._operators()
        if self._accept("?"):
            yes = self._operators()
            self._expect(":")
            node = Conditional(node, yes, self._expression())
        self._depth -= 1
        return node

    def _operators(self) -> Node:
        """Operands and binary operators, by precedence, with a stack of our own."""
        operands = [self._unary()]
        operators: list[str] = []
        while (operator := self._peek()) in _PRECEDENCE:
            self._at += 1
            while operators and _PRECEDENCE[operators[-1]] >= _PRECEDENCE[operator]:
                _reduce(operands, operators)
            operators.append(operator)
            operands.append(self._unary())
        while operators:
            _reduce(operands, operators)
        return operands[0]

    def _unary(self) -> Node:
        operator = self._peek()
        if operator not in ("!", "-"):
            return self._member(self._primary())
        count = 0
        while self._accept(operator):
            count += 1
        negative = operator == "-" and self._token.kind == "literal" and _is_number(self._token)
        node = self._member(self._primary(negative=negative))
        for _ in range(count - negative):
            node = Unary(operator, node)
        return node

    def _member(self, node: Node) -> Node:
        while operator := self._accept(".", ".?", "[", "[?"):
            optional = operator.endswith("?")
            if operator.startswith("."):
                node = self._selected(node, optional=optional)
            else:
                node = Index(node, self._expression(), optional)
                self._expect("]")
        return node

    def _selected(self, node: Node, *, optional: bool) -> Node:
        token = self._token
        if token.kind not in ("name", "quoted"):
            raise SyntaxProblem(f"no viable alternative at input '.{token.text}'")
        self._at += 1
        if self._accept("("):
            return expand(Call(token.text, node, self._arguments(")")))
        return Select(node, token.text, optional)

    def _arguments(self, end: str) -> list[Node]:
        arguments: list[Node] = []
        while not self._accept(end):
            if arguments:
                self._expect(",")
                if self._accept(end):
                    break
            arguments.append(self._expression())
        return arguments

    def _primary(self, *, negative: bool = False) -> Node:
        token = self._token
        self._at += 1
        if token.kind == "literal":
            return _literal(token, negative=negative)
        if token == ("op", ".", None):
            token = self._token
            self._at += 1
            if token.kind != "name":
                raise SyntaxProblem(f"no viable alternative at input '.{token.text}'")
        if token.kind == "name" and token.text != "in":
            return self._named(token.text)
        return self._bracketed(token.text)

    def _bracketed(self, text: str) -> Node:
        if text == "(":
            node = self._expression()
            self._expect(")")
            return node
        if text == "[":
            return ListOf(self._arguments("]"))
        if text == "{":
            return MapOf(self._entries())
        raise SyntaxProblem(f"extraneous input '{text}'")

    def _named(self, text: str) -> Node:
        if text in _CONSTANTS:
            return Literal(_CONSTANTS[text])
        if self._accept("("):
            return expand(Call(text, None, self._arguments(")")))
        return Name(text)

    def _entries(self) -> list[tuple[Node, Node]]:
        entries: list[tuple[Node, Node]] = []
        while not self._accept("}"):
            if entries:
                self._expect(",")
                if self._accept("}"):
                    break
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
        return entries


def _reduce(operands: list[Node], operators: list[str]) -> None:
    right, operator, left = operands.pop(), operators.pop(), operands.pop()
    if operator not in ("&&", "||"):
        operands.append(Binary(operator, left, right))
    elif isinstance(left, Logical) and left.operator == operator:
        left.operands.append(right)
        operands.append(left)
    else:
        operands.append(Logical(operator, [left, right]))


def _is_number(token: Token) -> bool:
    return isinstance(token.value, int | float) and not isinstance(token.value, UInt)


def _literal(token: Token, *, negative: bool) -> Node:
    if negative:
        return Literal(-token.value)
    if type(token.value) is int and token.value > INT_MAX:
        raise SyntaxProblem(f"invalid int literal: {token.text} has more than 64 bits")
    return Literal(token.value)
