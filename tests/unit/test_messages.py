"""Nothing is recognised by the text of a message: a reason, a code, a class or a field says what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.sources import modules

ASKED = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "find", "index", "count")
ALLOWED = {
    "seamark/families/score/workloadexposure/health.py": "Kubernetes has one reason, FailedCreate, for all refusals",
    "seamark/families/score/orchestrator/reconcile.py": "whether a place in the Score file is already in the text",
    "seamark_edge/dataplane/envoy/session.py": "whether two refusals are shown as one",
    "seamark_runtime/source.py": "whether a message has changed since it was logged",
}


def recognised(text: str) -> Iterator[str]:
    """The comparisons and searches with a message."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = zip(sides, node.ops, sides[1:], strict=False)
            yield from (ast.unparse(node) for left, how, right in pairs if compared(left, how, right))
        elif isinstance(node, ast.Attribute) and node.attr in ASKED and is_message(node.value):
            yield ast.unparse(node)


def compared(left: ast.expr, how: ast.cmpop, right: ast.expr) -> bool:
    if isinstance(how, ast.In | ast.NotIn):
        return is_message(right)
    if not isinstance(how, ast.Eq | ast.NotEq):
        return False
    empty = any(isinstance(side, ast.Constant) and side.value == "" for side in (left, right))
    return (is_message(left) or is_message(right)) and not empty


def is_message(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "message") or (
        isinstance(node, ast.Name) and node.id == "message"
    )


def test_no_source_recognises_a_message() -> None:
    found = {name: places for name, path in modules() if (places := [*recognised(path.read_text())])}
    assert found.keys() == ALLOWED.keys(), found


def test_comparisons_with_a_message_are_found() -> None:
    for text in ("a.message == b", "'x' in a.message", "p in message", "a.message.startswith", "x != a.message"):
        assert [*recognised(text)] == [text]
    for text in ("a.message == ''", "a.reason == b", "message in known", "a.message.strip()"):
        assert [*recognised(text)] == []
