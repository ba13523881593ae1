"""Paths of the Kubernetes API are made in one place; what mypy can't hold to, the syntax trees are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests import sources

NAMES = "seamark_runtime/untrusted/names.py"
SERVERS = (
    "seamark_cluster/embedded/",
    "seamark_cluster/server/",
    "seamark_cluster/real/",
)  # they are API servers, and serve these paths
ROOTS = ("/api/", "/apis/")
OWN_ROUTES = {"/api/stream", "/api/object", "/api/evidence", "/api/"}  # of the console


def modules() -> Iterator[tuple[str, ast.Module]]:
    for name, path in sources.modules():
        if name != NAMES:
            yield name, ast.parse(path.read_text())


def calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def texts(tree: ast.Module) -> Iterator[tuple[ast.Constant, str]]:
    """String constants, those inside f-strings too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def test_no_other_module_makes_an_api_path() -> None:
    made = [name for name, tree in modules() for _ in calls(tree, "ApiPath")]
    assert made == []


def test_a_path_is_taken_as_received_by_the_embedded_server_alone() -> None:
    taken = [name for name, tree in modules() for _ in calls(tree, "received_path")]
    assert taken == ["seamark_cluster/server/server.py"]


def test_the_root_of_a_path_is_a_literal_and_never_put_together() -> None:
    roots = [(name, call.args[0]) for name, tree in modules() for call in calls(tree, "api_path")]
    composed = [
        (name, ast.unparse(root))
        for name, root in roots
        if not isinstance(root, ast.Constant) and ast.unparse(root) not in ALLOWED
    ]
    assert len(roots) >= 5
    assert composed == []


ALLOWED = {
    "Kind.ENDPOINTS.path",
    "api_root(resource.group, resource.version)",  # Resource.path
    "collection",
    "kind.path",  # the edge's REST API: an enumeration of literals
    "Kind.OPERATORS.path",
}


def test_no_other_module_has_the_roots_of_the_kubernetes_api_in_a_text() -> None:
    found = [
        (name, text)
        for name, tree in modules()
        if not name.startswith(SERVERS)
        for argument in [{id(call.args[0]) for call in calls(tree, "api_path")}]
        for node, text in texts(tree)
        if text.startswith(ROOTS) and text not in OWN_ROUTES and id(node) not in argument
    ]
    assert found == []
