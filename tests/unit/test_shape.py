"""Every family has the same shape, so that what is known of one is found in all; computed from the syntax trees.

- The root of a family has `family`, `settings` and `remote`. It imports kinds and libraries, and they never import it.
- A kind, or a collection that kinds judge from, is a package with `state`, `reconcile` and `controller`.
- `family.controllers(options, provider, *, …)` builds all of them; a family without a remote party has no provider.
  `<kind>.controller.controllers(dependencies)` builds one.
- Decisions read no clock: the time is in the `View`. What is remote, and its memory of answers, reads it.
- Calls are performed by `Remote.perform`, and what controllers are built with is one frozen `Dependencies`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.sources import PACKAGES
from tests.unit.test_packages import imports

FAMILIES = PACKAGES["seamark"] / "families"
SHAPED = sorted(path.parent.name for path in FAMILIES.glob("*/__init__.py"))

ROOT = {"__init__", "family", "settings", "remote"}
KIND = {"state", "reconcile", "controller"}
FORBIDDEN = re.compile(r"^_?(Wiring|Means|Work|Groups|Statuses)$")
DECLARATIONS = {"Controller", "CollectionController"}
DECLARED = DECLARATIONS | {"Reads", "Writes", "Timing", "Output"}
RETURNED = "tuple[Declaration, ...]"
CLOCKS = re.compile(r"(\.(wall|monotonic|boottime)|\bdatetime\.(now|utcnow|today)|^time\.\w+)$")
READ_THE_CLOCK = {  # besides `remote` and `family`
    "seamark.families.gateway.infrastructure.signing": "performs a call",
    "seamark.families.loadbalancer.model.kept": "a task beside the workers",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def modules(family: str) -> Iterator[Path]:
    yield from sorted((FAMILIES / family).rglob("*.py"))


def packages(family: str) -> Iterator[Path]:
    """The packages below the root, however deep."""
    yield from sorted(path.parent for path in (FAMILIES / family).glob("*/**/__init__.py"))


def is_kind(package: Path) -> bool:
    return any((package / f"{name}.py").exists() for name in ("reconcile", "controller"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGES["seamark"].parent).with_suffix("").parts).removesuffix(".__init__")


def functions(path: Path) -> dict[str, Function]:
    """Those at the top of a module."""
    return {node.name: node for node in tree(path).body if isinstance(node, Function)}


def names(path: Path) -> set[str]:
    """What a module defines or imports."""
    imported = {
        alias.asname or alias.name
        for node in tree(path).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return imported | set(functions(path)) | set(classes(path))


def classes(path: Path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)}


def is_frozen(found: ast.ClassDef) -> bool:
    return any("frozen=True" in ast.unparse(decorator) for decorator in found.decorator_list)


def parameters(function: Function) -> list[tuple[str, str]]:
    """Those that may be given by position, with their types."""
    arguments = (*function.args.posonlyargs, *function.args.args)
    return [(item.arg, "" if item.annotation is None else ast.unparse(item.annotation)) for item in arguments]


def returned(function: Function) -> str:
    return "" if function.returns is None else ast.unparse(function.returns)


def builders(path: Path) -> list[str]:
    """The public functions of a module that return declarations."""
    wanted = re.compile(r"\b(Declaration|Controller|CollectionController)\b")
    return [name for name, found in functions(path).items() if name[0] != "_" and wanted.search(returned(found))]


@pytest.mark.parametrize("family", SHAPED)
def test_the_root_has_no_other_modules(family: str) -> None:
    root = FAMILIES / family
    assert {path.stem for path in root.glob("*.py")} <= ROOT
    assert (root / "family.py").exists()
    body = tree(root / "__init__.py").body
    assert len(body) == 1, "the __init__ of a family is a docstring"
    assert ast.get_docstring(tree(root / "__init__.py"))


@pytest.mark.parametrize("family", SHAPED)
def test_every_kind_is_complete(family: str) -> None:
    kinds = [package for package in packages(family) if is_kind(package)]
    assert kinds
    for kind in kinds:
        assert {path.stem for path in kind.glob("*.py")} >= KIND, dotted(kind)
        defined = {name: found for name, found in classes(kind / "state.py").items() if name.startswith("Seen")}
        assert defined or any(name.startswith("Seen") for name in names(kind / "controller.py")), dotted(kind)
        assert all(is_frozen(found) for found in defined.values()), f"{dotted(kind)}.state: what was seen is not frozen"
        decided = {name for name in names(kind / "reconcile.py") if re.match(r"(desire|judge|report)", name)}
        assert decided, f"{dotted(kind)}.reconcile decides nothing: it has neither desire nor judge nor report"


@pytest.mark.parametrize("family", SHAPED)
def test_every_kind_has_observe_and_one_builder(family: str) -> None:
    for kind in filter(is_kind, packages(family)):
        path = kind / "controller.py"
        defined = {node.name for node in ast.walk(tree(path)) if isinstance(node, Function)}
        assert any(name.lstrip("_").startswith("observe") for name in defined), dotted(path)
        assert builders(path) == ["controllers"], dotted(path)
        builder = functions(path)["controllers"]
        (parameter,) = parameters(builder)
        assert (parameter[0].lstrip("_"), parameter[1]) == ("dependencies", "Dependencies"), dotted(path)
        assert not builder.args.kwonlyargs, dotted(path)
        assert returned(builder) == RETURNED, dotted(path)


@pytest.mark.parametrize("family", SHAPED)
def test_declarations_are_made_by_the_controllers_of_kinds_alone(family: str) -> None:
    for path in modules(family):
        calls = (node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call))
        made = {function.id for function in calls if isinstance(function, ast.Name)} & DECLARATIONS
        assert not made or path.name == "controller.py", dotted(path)


def test_no_field_of_a_declaration_is_for_one_family() -> None:
    users: dict[str, set[str]] = {}
    places = (FAMILIES, PACKAGES["seamark_cluster"] / "controllers")
    for path in sorted(path for place in places for path in place.rglob("*.py")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DECLARED:
                for keyword in node.keywords:
                    declaration = node.func.id.removeprefix("Collection")
                    users.setdefault(f"{declaration}.{keyword.arg}", set()).add(family_of(path))
    assert {field for field, found in users.items() if len(found) == 1} == set()
    assert len(users) > 30


def family_of(path: Path) -> str:
    return path.relative_to(FAMILIES).parts[0] if path.is_relative_to(FAMILIES) else "the developer's cluster"


@pytest.mark.parametrize("family", SHAPED)
def test_the_family_has_one_builder_of_its_controllers(family: str) -> None:
    path = FAMILIES / family / "family.py"
    builder = functions(path)["controllers"]
    given = parameters(builder)
    assert given[0] == ("options", "Options")
    assert [name for name, _ in given[1:]] in ([], ["provider"]), "after the options, the remote party; extras by name"
    assert returned(builder) == RETURNED


@pytest.mark.parametrize("family", SHAPED)
def test_dependencies_and_options_are_frozen_values_of_the_model(family: str) -> None:
    model = FAMILIES / family / "model"
    assert is_frozen(classes(model / "options.py")["Options"])
    assert is_frozen(classes(model / "dependencies.py")["Dependencies"])
    owners = {name: dotted(path) for path in modules(family) for name in classes(path) if name == "Dependencies"}
    assert owners == {"Dependencies": dotted(model / "dependencies.py")}


@pytest.mark.parametrize("family", SHAPED)
def test_calls_are_performed_by_remote(family: str) -> None:
    performing = [
        dotted(path)
        for path in modules(family)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "perform"
    ]
    path = FAMILIES / family / "remote.py"
    assert set(performing) == ({dotted(path)} if path.exists() else set())
    if path.exists():
        performed = [node for node in classes(path)["Remote"].body if isinstance(node, ast.AsyncFunctionDef)]
        assert "perform" in {node.name for node in performed}


def clock_reads(path: Path) -> list[str]:
    """The clocks that a module calls."""
    called = [ast.unparse(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    return [text for text in called if CLOCKS.search(text)]


@pytest.mark.parametrize("family", SHAPED)
def test_no_decision_reads_a_clock(family: str) -> None:
    for path in modules(family):
        if path.stem not in ("remote", "family") and dotted(path) not in READ_THE_CLOCK:
            assert not clock_reads(path), f"{dotted(path)}: use `view.now` and `view.date`"


@pytest.mark.parametrize("family", SHAPED)
def test_controllers_are_built_without_a_clock(family: str) -> None:
    fields = classes(FAMILIES / family / "model" / "dependencies.py")["Dependencies"].body
    types = {ast.unparse(field.annotation) for field in fields if isinstance(field, ast.AnnAssign)}
    assert not {text for text in types if re.search(r"\bClock\b|\[\], (datetime|float|str)\]", text)}


def test_controllers_of_the_developers_cluster_read_no_clock_and_draw_no_random_numbers() -> None:
    for path in sorted((PACKAGES["seamark_cluster"] / "controllers").rglob("*.py")):
        assert not clock_reads(path), f"{path}: use `view.date`"
        declared = path.name != "manager.py" and re.search(r"\bRandom\b|\bimport (random|secrets)\b", path.read_text())
        assert not declared, path


def test_each_exception_reads_the_clock() -> None:
    for name in READ_THE_CLOCK:
        assert clock_reads(PACKAGES["seamark"].parent / f"{name.replace('.', '/')}.py"), name


@pytest.mark.parametrize("family", SHAPED)
def test_kinds_and_libraries_do_not_import_the_root(family: str) -> None:
    root = f"seamark.families.{family}"
    for path in modules(family):
        if path.parent.name != family:
            imported = imports()[dotted(path)] & {root, *(f"{root}.{name}" for name in ROOT)}
            assert not imported, dotted(path)


@pytest.mark.parametrize("family", SHAPED)
def test_collections_are_typed(family: str) -> None:
    for path in modules(family):
        assert not re.search(r"Collection\[(Any|Hashable), ", path.read_text()), dotted(path)


@pytest.mark.parametrize("family", SHAPED)
def test_names_are_those_of_the_lexicon(family: str) -> None:
    for path in modules(family):
        assert not [name for name in classes(path) if FORBIDDEN.match(name)], dotted(path)
        assert "wiring" not in path.read_text().lower(), dotted(path)


@pytest.mark.parametrize("family", SHAPED)
def test_no_package_is_called_for_nothing(family: str) -> None:
    found = {part for path in modules(family) for part in path.relative_to(FAMILIES / family).with_suffix("").parts}
    assert not found & {"utils", "util", "helpers", "common", "misc"}
