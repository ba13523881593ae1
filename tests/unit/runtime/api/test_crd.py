"""CustomResourceDefinitions come out as they should, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
import yaml
from msgspec import Meta
from typer.testing import CliRunner

from seamark.cli.crds import chosen, command
from seamark.lifecycle.definitions import marked
from seamark_runtime.api.crd import CRD, manifests, written
from seamark_runtime.api.meta import Object, Resource, Wire
from seamark_runtime.api.schema import FREE_FORM, NotStructural, structural
from seamark_runtime.errors import UserError
from tests.unit.runtime.api.kinds import HARBOUR, LAMP, Aspect, Port

GOLDEN = Path(__file__).parent / "golden"


class Tree(Wire, frozen=True, kw_only=True):
    branches: tuple[Tree, ...] = ()


class Bonsai(Wire, frozen=True, kw_only=True):
    tree: Annotated[Tree, Meta(extra_json_schema={FREE_FORM: True})] = Tree()
    other: Annotated[Tree | None, Meta(extra_json_schema={FREE_FORM: True})] = None


class Either(Wire, frozen=True, kw_only=True):
    one: Port | str


class Mixed(Wire, frozen=True, kw_only=True):
    value: Literal["one", 2]


class Pair(Wire, frozen=True, kw_only=True):
    both: tuple[int, str]


class Statusless(Object, frozen=True, kw_only=True):
    RESOURCE = Resource("test.seamark.dev", "v1", "Statusless", "statuslesses")


def version(crd: CRD) -> dict[str, Any]:
    found: dict[str, Any] = crd.manifest()["spec"]["versions"][0]
    return found


def spec() -> dict[str, Any]:
    properties: dict[str, Any] = version(LAMP)["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return properties


@pytest.mark.parametrize("crd", [LAMP, HARBOUR], ids=lambda crd: crd.resource.kind)
def test_a_manifest_is_the_golden_one(crd: CRD) -> None:
    assert manifests([crd]) == (GOLDEN / f"{crd.name}.yaml").read_text()


def test_a_new_object_is_unknown_in_every_respect() -> None:
    status = version(LAMP)["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert status["default"]["conditions"] == [
        {
            "type": "Lit",
            "status": "Unknown",
            "reason": "NotLit",
            "message": "Not yet lit",
            "lastTransitionTime": "1970-01-01T00:00:00Z",
        },
        {
            "type": "Ready",
            "status": "Unknown",
            "reason": "Pending",
            "message": "Waiting for the controller",
            "lastTransitionTime": "1970-01-01T00:00:00Z",
        },
    ]


def test_an_empty_default_is_nothing_to_fill_in_and_any_other_is() -> None:
    defaults = {name: field["default"] for name, field in spec().items() if "default" in field}
    assert defaults == {"enabled": True, "owner": "me", "limits": {"low": 1, "high": 10}}


def test_none_is_for_fields_that_must_be_said() -> None:
    assert {name for name, field in spec().items() if field.get("nullable")} == {"parent"}


def test_no_reference_and_no_choice_of_types_is_left() -> None:
    text = manifests([LAMP, HARBOUR])
    for word in ("$ref", "anyOf", "oneOf", "&id"):
        assert word not in text


def test_a_kind_without_status_has_no_subresource() -> None:
    assert "subresources" not in version(HARBOUR)
    assert version(LAMP)["subresources"] == {"status": {}}


def test_its_age_is_the_last_column() -> None:
    assert [column["name"] for column in version(LAMP)["additionalPrinterColumns"]] == [
        "Color",
        "Ready",
        "Reason",
        "Age",
    ]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Tree, r"\(Tree\)\.branches: Tree contains itself"),
        (Either, r"\(Either\)\.one: one of several types"),
        (Mixed, r"\(Mixed\)\.value: values that are neither"),
        (Pair, r"\(Pair\)\.both: TupleType"),
    ],
)
def test_what_can_not_be_said_is_named_with_its_place(kind: type[Wire], words: str) -> None:
    with pytest.raises(NotStructural, match=words):
        structural(kind)


def test_a_struct_that_contains_itself_can_be_left_open() -> None:
    left_open = {"type": "object", FREE_FORM: True}
    assert structural(Bonsai)["properties"] == {"tree": left_open, "other": left_open}


def test_conditions_need_a_place() -> None:
    with pytest.raises(NotStructural, match="its status has no place for them"):
        CRD(kind=Statusless, conditions=(Aspect("Ready"),)).manifest()


def run(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(command([LAMP, HARBOUR]))
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_prints_all_or_those_asked_for() -> None:
    assert [document["metadata"]["name"] for document in yaml.safe_load_all(run())] == [LAMP.name, HARBOUR.name]
    assert run("lp") == run("Lamp") == run("lamps") == written(marked([LAMP]))


def test_the_command_writes_files(tmp_path: Path) -> None:
    run("--into", str(tmp_path / "crds"))
    assert {path.name for path in (tmp_path / "crds").iterdir()} == {f"{LAMP.name}.yaml", f"{HARBOUR.name}.yaml"}


def test_a_kind_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UserError, match="there is no kind boat: there are Lamp, Harbour"):
        chosen([LAMP, HARBOUR], ["boat"])
