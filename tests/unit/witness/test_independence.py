"""The witness knows the product by its commands only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.sources import PACKAGES, ROOT

WITNESS = ROOT / "tests" / "witness"
FILES = sorted(WITNESS.rglob("*.py"))


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they lead"
            found.append(node.module or "")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(WITNESS).as_posix())
def test_a_file_of_the_witness_imports_nothing_of_the_product_and_no_other_tests(path: Path) -> None:
    for name in imports(path):
        parts = name.split(".")
        assert parts[0] not in PACKAGES, name
        assert parts[0] != "tests" or parts[1] == "witness", name
        assert parts[0] != "tools", name


def test_the_four_packages_are_those_that_are_forbidden() -> None:
    assert set(PACKAGES) == {"seamark", "seamark_runtime", "seamark_edge", "seamark_cluster"}


def test_the_witness_starts_no_interpreter_with_code_of_the_product() -> None:
    for path in FILES:
        text = path.read_text()
        assert "importlib" not in text, path
        assert '"-c", "from seamark' not in text, path
