"""Packages import each other in one direction, and modules form no cycles; computed from the syntax trees.

- A module belongs to the package that contains it; the root modules of a package count as that package.
- Imports under TYPE_CHECKING and inside functions count like all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.sources import PACKAGES, modules

Graph = dict[str, set[str]]


@cache
def sources() -> dict[str, Path]:
    """Every module of the four distributions, by its dotted name."""
    return {name.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): path for name, path in modules()}


def package_of(module: str) -> str:
    return module if sources()[module].name == "__init__.py" else module.rpartition(".")[0]


def imported(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(sources()[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package_of(module).split(".")
            base = parents[: len(parents) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{origin}.{alias.name}"
                yield submodule if submodule in sources() else origin


@cache
def imports() -> Graph:
    """Module → the modules of the four distributions that it imports."""
    return {module: {name for name in imported(module) if name in sources()} - {module} for module in sources()}


def package_graph() -> Graph:
    graph: Graph = {}
    for module, targets in imports().items():
        package = package_of(module)
        graph.setdefault(package, set()).update({package_of(target) for target in targets} - {package})
    return graph


def pairs(graph: Graph, distribution: str) -> set[tuple[str, str]]:
    """The packages that import each other, where the first is of this distribution."""
    return {
        (package, other)
        for package, others in graph.items()
        for other in others
        if package < other and package.partition(".")[0] == distribution and package in graph.get(other, ())
    }


def cycles(graph: Graph) -> set[frozenset[str]]:
    """One cycle after the other, each without the edge that closed the one before."""
    left = {module: set(targets) for module, targets in graph.items()}
    found: set[frozenset[str]] = set()
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1]
            found.add(frozenset(cycle))
            left[cycle[1]].discard(cycle[0])  # each node is a target of the next
        else:
            return found


@pytest.mark.parametrize("distribution", PACKAGES)
def test_no_two_packages_import_each_other(distribution: str) -> None:
    assert pairs(package_graph(), distribution) == set()


def test_modules_form_no_cycle() -> None:
    assert cycles(imports()) == set()


def test_a_pair_and_a_cycle_are_found() -> None:
    graph = {"seamark.a": {"seamark.b"}, "seamark.b": {"seamark.a", "seamark.c"}, "seamark.c": set()}
    assert pairs(graph, "seamark") == {("seamark.a", "seamark.b")}
    assert cycles(graph) == {frozenset({"seamark.a", "seamark.b"})}


def test_relative_imports_and_imports_of_names_are_resolved() -> None:
    assert "seamark_cluster.embedded.machinery.errors" in imports()["seamark_cluster.embedded.store"]
    assert "seamark_cluster.embedded.bodies" in imports()["seamark_cluster.embedded.store"]
    assert len(sources()) > 400
