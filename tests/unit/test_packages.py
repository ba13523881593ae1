"""Packages import each other in one direction, and modules form no cycles; computed from the syntax trees.

- A module belongs to the package that contains it; the root modules of a package count as that package.
- Imports under TYPE_CHECKING and inside functions count like all others.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest

from tests.sources import PACKAGES, ROOT, modules
from tools.contracts import Graph, between, cycles, pairs

FAMILIES = PACKAGES["seamark"] / "families"
SUB_ONE = "import PKG.sub.one"


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


def of(distribution: str) -> set[tuple[str, str]]:
    """The pairs whose first package is of this distribution."""
    found = pairs(between(imports(), {module: package_of(module) for module in sources()}))
    return {pair for pair in found if pair[0].partition(".")[0] == distribution}


@pytest.mark.parametrize("distribution", PACKAGES)
def test_no_two_packages_import_each_other(distribution: str) -> None:
    assert of(distribution) == set()


def test_modules_form_no_cycle() -> None:
    assert cycles(imports()) == set()


def test_a_pair_and_a_cycle_are_found() -> None:
    graph = {"seamark.a": {"seamark.b"}, "seamark.b": {"seamark.a", "seamark.c"}, "seamark.c": set()}
    assert pairs(graph) == {("seamark.a", "seamark.b")}
    assert cycles(graph) == {frozenset({"seamark.a", "seamark.b"})}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"__init__": "", "sub/__init__": "", "sub/one": "import PKG.two", "two": SUB_ONE}, "each other"),
        (
            {"__init__": "", "sub/__init__": "", "sub/one": "import PKG.two", "three": SUB_ONE, "two": ""},
            "each other",
        ),
        ({"__init__": "import PKG.one", "one": "import PKG"}, "PKG, PKG.one form a cycle"),
        ({"__init__": "", "sub/__init__": "", "sub/one": "import PKG.two", "two": ""}, ""),
    ],
    ids=["modules", "a package and its sub-package", "a cycle through an __init__", "one way"],
)
def test_lint_imports_finds_what_the_siblings_do_not_show(tmp_path: Path, files: dict[str, str], told: str) -> None:
    name = f"linted_{tmp_path.name.rpartition('_')[2]}"
    for path, text in files.items():
        (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / f"{path}.py").write_text(text.replace("PKG", name))
    contract = "[importlinter:contract:pairs]\nname = pairs\ntype = pairs\n"
    types = "contract_types =\n    pairs: tools.contracts.PackagePairs\n"
    (tmp_path / "linted.ini").write_text(f"[importlinter]\nroot_package = {name}\n{types}{contract}")
    linter = Path(sys.executable).with_name("lint-imports")
    command: list[str | Path] = [linter, "--no-cache", "--config", tmp_path / "linted.ini"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert (done.returncode != 0) is bool(told), done.stdout
    assert told.replace("PKG", name) in done.stdout


def test_relative_imports_and_imports_of_names_are_resolved() -> None:
    assert "seamark_cluster.embedded.machinery.errors" in imports()["seamark_cluster.embedded.store"]
    assert "seamark_cluster.embedded.bodies" in imports()["seamark_cluster.embedded.store"]
    assert len(sources()) > 400


def test_the_contracts_name_every_family_and_every_distribution() -> None:
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter")
    independent = contracts["importlinter:contract:families"]["modules"].split()
    assert independent == sorted(f"seamark.families.{path.parent.name}" for path in FAMILIES.glob("*/__init__.py"))
    assert set(contracts["importlinter"]["root_packages"].split()) == set(PACKAGES)
    assert set(contracts["importlinter:contract:acyclic"]["ancestors"].split()) == set(PACKAGES)
    cluster = PACKAGES["seamark_cluster"]
    parts = {f"seamark_cluster.{path.parent.name}" for path in cluster.glob("*/__init__.py")}
    uses = contracts["importlinter:contract:cluster-uses"]["source_modules"].split()
    assert uses == sorted(parts - {"seamark_cluster.commands"})
    assert "importlinter:contract:pairs" in contracts
