"""From text to a tree. A node is a tuple: its name first, then its parts."""

from __future__ import annotations

import re
from typing import Any

from seamark.cluster.embedded.cel.values import SyntaxProblem, UInt

Node = tuple[Any, ...]

_TOKEN = re.compile(
    r"""
    (?P<space>(\s|//[^\n]*)+)
  | (?P<string>[rRbB]{0,2}(\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<number>0x[0-9a-fA-F]+u?|(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+u?)
  | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
  | (?P<quoted>`[^`\n]+`)
  | (?P<op>&&|\|\||==|!=|<=|>=|\.\?|\[\?|\{|\}|\[|\]|\(|\)|\.|,|\?|:|!|<|>|\+|-|\*|/|%)
    """,
    re.VERBOSE | re.DOTALL,
)

_BINARY = [("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%")]
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}


def tokenize(text: str) -> list[tuple[str, str]]:
    tokens = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SyntaxProblem(f"token recognition error at: '{text[at]}'")
        at = match.end()
        if match.lastgroup != "space":
            tokens.append((match.lastgroup or "", match.group()))
    return tokens


class Parser:
    """Recursive descent over tokens; every method takes what it names and leaves the rest."""

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._at = 0

    def parse(self) -> Node:
        node = self._expression()
        if self._at < len(self._tokens):
            raise SyntaxProblem(f"mismatched input '{self._tokens[self._at][1]}' expecting <EOF>")
        return node

    def _peek(self) -> str:
        if self._at >= len(self._tokens):
            return ""
        kind, text = self._tokens[self._at]
        return text if kind in ("op", "name") else ""

    def _accept(self, *wanted: str) -> str:
        found = self._peek()
        if found and found in wanted:
            self._at += 1
            return found
        return ""

    def _expect(self, wanted: str) -> None:
        if not self._accept(wanted):
            found = self._tokens[self._at][1] if self._at < len(self._tokens) else "<EOF>"
            raise SyntaxProblem(f"mismatched input '{found}' expecting '{wanted}'")

    def _expression(self) -> Node:
        condition = self._binary(0)
        if not self._accept("?"):
            return condition
        yes = self._binary(0)
        self._expect(":")
        return ("cond", condition, yes, self._expression())

    def _binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while operator := self._accept(*_BINARY[level]):
            left = ("binary", operator, left, self._binary(level + 1))
        return left

    def _unary(self) -> Node:
        if self._accept("!"):
            return ("not", self._unary())
        if self._peek() == "-":
            self._at += 1
            if self._at < len(self._tokens) and self._tokens[self._at][0] == "number":
                kind, value = self._member(self._negative())
                return (kind, value) if kind == "literal" else ("negate", (kind, value))
            return ("negate", self._unary())
        return self._member(self._primary())

    def _negative(self) -> Node:
        node = self._primary()
        return ("literal", -node[1])

    def _member(self, node: Node) -> Node:
        while True:
            if self._accept("."):
                node = self._selected(node, optional=False)
            elif self._accept(".?"):
                node = self._selected(node, optional=True)
            elif self._accept("["):
                index = self._expression()
                self._expect("]")
                node = ("index", node, index)
            elif self._accept("[?"):
                index = self._expression()
                self._expect("]")
                node = ("optindex", node, index)
            else:
                return node

    def _selected(self, node: Node, *, optional: bool) -> Node:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if kind not in ("name", "quoted"):
            raise SyntaxProblem(f"no viable alternative at input '.{text}'")
        self._at += 1
        name = text.strip("`")
        if self._accept("("):
            return ("call", name, node, self._arguments(")"))
        return ("optselect" if optional else "select", node, name)

    def _arguments(self, end: str) -> list[Node]:
        arguments: list[Node] = []
        while not self._accept(end):
            if arguments:
                self._expect(",")
                if self._accept(end):
                    break
            arguments.append(self._expression())
        return arguments

    def _primary(self) -> Node:
        if self._at >= len(self._tokens):
            raise SyntaxProblem("mismatched input '<EOF>'")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind in ("number", "string"):
            return ("literal", _number(text) if kind == "number" else _string(text))
        if kind == "name":
            return self._named(text)
        return self._bracketed(text)

    def _bracketed(self, text: str) -> Node:
        if text == "(":
            node = self._expression()
            self._expect(")")
            return node
        if text == "[":
            return ("list", self._arguments("]"))
        if text == "{":
            return ("map", self._entries())
        if text == ".":
            return self._primary()
        raise SyntaxProblem(f"extraneous input '{text}'")

    def _named(self, text: str) -> Node:
        if text in ("true", "false", "null"):
            return ("literal", {"true": True, "false": False, "null": None}[text])
        if self._accept("("):
            return ("call", text, None, self._arguments(")"))
        return ("name", text)

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


def _number(text: str) -> Any:
    if text.endswith("u"):
        return UInt(int(text[:-1], 0))
    if text.startswith("0x"):
        return int(text, 16)
    return float(text) if any(mark in text for mark in ".eE") else int(text)


def _string(text: str) -> Any:
    prefix = ""
    while text[0] in "rRbB":
        prefix, text = prefix + text[0].lower(), text[1:]
    size = 3 if text[:3] in ('"""', "'''") else 1
    body = text[size:-size]
    if "r" not in prefix:
        body = re.sub(
            r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", _unescaped, body, flags=re.DOTALL
        )
    return body.encode() if "b" in prefix else body


def _unescaped(match: re.Match[str]) -> str:
    text = match.group(1)
    if text[0] in "xuU" and len(text) > 1:
        return chr(int(text[1:], 16))
    if text[0] in "01234567" and len(text) == 3:
        return chr(int(text, 8))
    if text not in _ESCAPES:
        raise SyntaxProblem(f"unable to unescape '\\{text}'")
    return _ESCAPES[text]
