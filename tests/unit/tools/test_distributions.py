"""The distributions: each declares what it imports, and the image holds the operator and nothing for developers."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.sources import PACKAGES
from tools.setup import ROOT, distributions

NAMES = {path.name: tomllib.loads((path / "pyproject.toml").read_text()) for path in distributions(ROOT)}
IMAGE = ("runtime", "edge", "operator")


def declared(project: dict[str, Any]) -> set[str]:
    return set(map(_name, project["project"]["dependencies"]))


def optional(project: dict[str, Any]) -> set[str]:
    """What is imported where an extra was installed."""
    extras = project["project"].get("optional-dependencies", {})
    return {_name(requirement) for requirements in extras.values() for requirement in requirements}


def _name(requirement: str) -> str:
    return requirement.split(">", maxsplit=1)[0].split("=", maxsplit=1)[0].split("[", maxsplit=1)[0]


def imported(package: Path) -> Iterator[str]:
    """The top-level names of everything that is imported and not part of Python."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            yield from (name.split(".")[0] for name in names)


@pytest.mark.parametrize("name", NAMES)
def test_a_distribution_declares_what_it_imports_and_nothing_else(name: str) -> None:
    owners = packages_distributions()
    source = next((ROOT / "packages" / name / "src").iterdir())
    used: set[str] = set()
    for module in set(imported(source)) - sys.stdlib_module_names - {source.name} - optional(NAMES[name]):
        used |= {owner.lower().replace("_", "-") for owner in owners.get(module, [module])}
    if name == "cluster":  # its commands are loaded by the operator's command line, so that the operator is there
        used -= {"seamark", "seamark-edge"}
    assert used == declared(NAMES[name])


def test_versions_are_in_step() -> None:
    versions = {project["project"]["version"] for project in NAMES.values()}
    assert len(versions) == 1
    version = versions.pop()
    for name, package in PACKAGES.items():
        assert f'__version__ = "{version}"' in (package / "__init__.py").read_text(), name
    ours = [
        requirement
        for project in NAMES.values()
        for requirement in project["project"]["dependencies"]
        if requirement.startswith("seamark")
    ]
    assert ours
    assert all(requirement.endswith(f"=={version}") for requirement in ours)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Those that the image is made of, built from this workspace."""
    folder = tmp_path_factory.mktemp("wheels")
    for name in IMAGE:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(command, cwd=ROOT / "packages" / name, check=True, capture_output=True)
    return sorted(folder.glob("*.whl"))


def test_the_image_holds_the_operator_and_nothing_for_developers(
    wheels: list[Path], record_property: Callable[[str, object], None]
) -> None:
    members = [member for wheel in wheels for member in zipfile.ZipFile(wheel).infolist()]
    files = {member.filename: member.file_size for member in members if ".dist-info/" not in member.filename}
    assert {name.split("/")[0] for name in files} == {"seamark", "seamark_edge", "seamark_runtime"}
    copied = {
        path.relative_to(ROOT / "packages" / name / "src").as_posix()
        for name in IMAGE
        for path in (ROOT / "packages" / name / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert copied == set(files), "the Dockerfile copies the folders from which the wheels are built"
    lines = (ROOT / "requirements" / "run.lock").read_text().splitlines()
    locked = {line.split("==")[0] for line in lines if "==" in line and "win32" not in line}
    assert "kubernetes" not in locked
    ours, packages = sum(files.values()) / 1e6, sum(map(installed_size, locked)) / 1e6
    record_property(
        "measured",
        f"image: {ours + packages:.0f} MB without Python: {len(files)} files of Seamark ({ours:.1f} MB), "
        f"{len(locked)} packages ({packages:.0f} MB)",
    )


def installed_size(name: str) -> int:
    return sum(file.size or 0 for file in distribution(name).files or ())


def test_every_distribution_says_what_it_is_on_one_screen() -> None:
    for path in distributions(ROOT):
        lines = (path / "README.md").read_text().splitlines()
        assert 8 <= len(lines) <= 50, path.name
