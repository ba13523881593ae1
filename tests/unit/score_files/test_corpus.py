"""Every folder of the Score files is well-formed, and what reads and compares them finds what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.score_files.consistency import inconsistencies
from tests.score_files.corpus import Case, load, load_folder, problems
from tests.score_files.coverage import README, covering, decisions, features, readme, sections
from tests.score_files.images import known, table

CASES = load()
FEATURES = features()
DECISIONS = set(decisions())
IMAGES = table()
VALID = [case for case in CASES if case.valid]
BROKEN = [case for case in CASES if not case.valid]
HELLO: dict[str, Any] = {
    "apiVersion": "score.dev/v1b1",
    "metadata": {"name": "web"},
    "containers": {"web": {"image": "nginx", "variables": {"A": "1"}}},
}
EXPECTED: dict[str, Any] = {
    "about": "a test",
    "covers": ["root.required"],
    "schema": "accepted",
    "score_go": "accepted",
    "score_k8s": "accepted",
    "expect": {"workloads": {"web": {"ready": True}}},
}


def folder(path: Path, expected: dict[str, Any], score: dict[str, Any] | None = None) -> Case:
    (path / "score.yaml").write_text(yaml.safe_dump(score or HELLO))
    (path / "expect.yaml").write_text(yaml.safe_dump(expected))
    return load_folder(path)


def found(case: Case) -> list[str]:
    whole = list(problems(case, FEATURES, DECISIONS))
    return whole + (list(inconsistencies(case, IMAGES)) if case.valid else [])


# ---- the corpus


def test_there_are_enough_files_and_every_kind_of_step() -> None:
    assert len(VALID) >= 70
    assert len(BROKEN) >= 25
    steps = [step for case in CASES for step in case.expectation.then]
    assert all(
        any(getattr(step, action) for step in steps) for action in ("apply", "delete", "restart", "run", "refused")
    )
    applied = [command for case in CASES for command in case.applied]
    options = ("image", "overrides_file", "override_properties", "environment")
    assert all(any(getattr(command, option) for command in applied) for option in options)
    assert sum(len(command.files) > 1 for command in applied) >= 10


def test_every_folder_is_well_formed() -> None:
    assert {case.name: wrong for case in CASES if (wrong := found(case))} == {}


def test_broken_folders_are_called_so() -> None:
    assert {case.name for case in BROKEN} == {case.name for case in CASES if case.name.startswith("broken-")}


def test_every_feature_and_every_decision_is_covered() -> None:
    assert [name for name in sorted(FEATURES) if not covering(CASES, name)] == []
    named = {name for case in CASES for name in case.expectation.decisions}
    assert named == DECISIONS


def test_no_feature_has_two_sections() -> None:
    assert len(FEATURES) == sum(len(section) for section in sections().values())


def test_the_tables_of_the_readme_are_those_of_the_folders() -> None:
    text = README.read_text(encoding="utf-8")
    assert readme(CASES, text) == text, "run python -m tests.score_files --write"


def test_every_image_of_the_table_is_used() -> None:
    used = {image.name for case in VALID for name in case.images() if (image := known(name, IMAGES))}
    assert used == set(IMAGES)


def test_no_two_folders_are_about_the_same() -> None:
    about = [case.expectation.about for case in CASES]
    assert len(about) == len(set(about))


def test_what_is_refused_with_a_path_says_where() -> None:
    """A message without a path is enough only where the file as a whole, or the command, is wrong."""
    without = {case.name for case in BROKEN if not case.expectation.refused or not case.expectation.refused.paths}
    assert without == {
        "broken-duplicate-key",
        "broken-empty-file",
        "broken-image-for-two-files",
        "broken-not-a-map",
        "broken-overrides-for-two-files",
        "broken-two-documents",
        "broken-yaml-syntax",
    }


def test_files_keep_the_bytes_that_they_are_about() -> None:
    by_name = {case.name: case.folder for case in CASES}
    assert b"\r\n" in (by_name["crlf-line-ends"] / "score.yaml").read_bytes()
    assert b"\xff" in (by_name["file-source-binary"] / "data.bin").read_bytes()
    assert b"\t" in (by_name["broken-yaml-syntax"] / "score.yaml").read_bytes()


def test_programs_inside_the_files_are_programs() -> None:
    sources = [
        file["content"]
        for case in VALID
        for workload in case.workloads
        for forms in case.containers(workload).values()
        for form in forms
        for path, file in dict(form.get("files") or {} if isinstance(form.get("files"), dict) else {}).items()
        if path.endswith(".py")
    ]
    assert len(sources) >= 3
    for source in sources:
        compile(source, "a file of the corpus", "exec")


# ---- what the checks find


def test_a_plain_folder_has_no_problem(tmp_path: Path) -> None:
    assert found(folder(tmp_path, EXPECTED)) == []


def test_an_unknown_key_names_its_folder_and_place(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expect\.yaml: .*`redy`.*workloads"):
        folder(tmp_path, EXPECTED | {"expect": {"workloads": {"web": {"redy": True}}}})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"covers": []}, "covers nothing"),
        ({"covers": ["root.nothing"]}, "unknown feature root.nothing"),
        ({"decisions": ["whim"]}, "unknown decision whim"),
        ({"schema": "fine"}, "neither accepted nor refused"),
        ({"expect": None}, "exactly one of expect and refused"),
        ({"apply": {"files": ["other.yaml"]}}, "names other.yaml, which is not there"),
        ({"given": "given.yaml"}, "names given.yaml, which is not there"),
        ({"then": [{"step": "nothing"}]}, "has not exactly one action"),
        ({"then": [{"step": "gone", "delete": {"workload": "db"}}]}, "unknown Workload db"),
        (
            {"then": [{"step": "odd", "restart": "web", "refused": {"stage": "file", "paths": []}}]},
            "is refused and applies nothing",
        ),
    ],
)
def test_a_folder_that_is_not_well_formed_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    whole = {key: value for key, value in (EXPECTED | change).items() if value is not None}
    (tmp_path / "score.yaml").write_text(yaml.safe_dump(HELLO))
    (tmp_path / "expect.yaml").write_text(yaml.safe_dump(whole))
    case = load_folder(tmp_path)
    wrong = list(problems(case, FEATURES, DECISIONS)) if "is not there" in problem else found(case)
    assert any(problem in line for line in wrong), wrong


@pytest.mark.parametrize(
    ("workload", "problem"),
    [
        ({"ready": False}, "no condition says why"),
        ({"ready": True, "not_ready": {"condition": "ClaimsReady"}}, "a condition says why it is not"),
        ({"claims": {"db": "Bound"}}, "claim db is no resource"),
        ({"containers": {"db": {}}}, "no container db"),
        ({"order": [{"first": "web", "is": "started", "then": "db"}]}, "no container db"),
        ({"service": {"ports": {"http": {"port": 80, "target_port": 80, "protocol": "TCP"}}}}, "port http is not"),
        ({"containers": {"web": {"env": {"B": "1"}}}}, "no variable B"),
        ({"containers": {"web": {"env": {"A": {"same_as": "web/web/B"}}}}}, "web/web/B is no variable"),
        ({"containers": {"web": {"env": {"A": {}}}}}, "not exactly one"),
        ({"containers": {"web": {"env": {"A": {"matches": "a", "contains": "a"}}}}}, "not exactly one"),
        ({"containers": {"web": {"env": {"A": {"matches": "["}}}}}, "no regular expression"),
        ({"containers": {"web": {"files": {"etc/a": {"content": "a"}}}}}, "no absolute path"),
        ({"containers": {"web": {"files": {"/a": {"mode": "644"}}}}}, "not of the form 0644"),
        ({"containers": {"web": {"files": {"/a": {"base64": "?"}}}}}, "no base64"),
        ({"containers": {"web": {"files": {"/a": {"base64": "YQ==", "content": "a"}}}}}, "in two forms"),
    ],
)
def test_an_expectation_that_does_not_fit_the_file_is_named(
    tmp_path: Path, workload: dict[str, Any], problem: str
) -> None:
    wrong = found(folder(tmp_path, EXPECTED | {"expect": {"workloads": {"web": workload}}}))
    assert any(problem in line for line in wrong), wrong


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"status": 200}, "exactly one target"),
        ({"status": 200, "endpoint": "web", "service": "web:80"}, "exactly one target"),
        ({"status": 200, "endpoint": "db"}, "unknown Workload db"),
        ({"status": 200, "service": "web:80"}, "which no file publishes"),
        ({"status": 200, "host": "a.test"}, "host and through together"),
        ({"status": 200, "endpoint": "web", "path": "x"}, "does not begin with a slash"),
        ({"status": 200, "endpoint": "web", "body": "a", "json": {"a": 1}}, "not both"),
    ],
)
def test_a_request_that_goes_nowhere_is_named(tmp_path: Path, request_: dict[str, Any], problem: str) -> None:
    wrong = found(folder(tmp_path, EXPECTED | {"expect": {"requests": [request_]}}))
    assert any(problem in line for line in wrong), wrong


def test_an_image_without_a_shell_is_not_looked_into(tmp_path: Path) -> None:
    score = HELLO | {"containers": {"web": {"image": "hashicorp/http-echo", "variables": {"A": "1"}}}}
    expected = {"web": {"containers": {"web": {"env": {"A": "1"}, "files": {"/a": {"content": "a"}}}}}}
    wrong = found(folder(tmp_path, EXPECTED | {"expect": {"workloads": expected}}, score))
    assert any("no shell" in line for line in wrong)
    assert any("shows no environment" in line for line in wrong)


def test_an_image_that_is_not_in_the_table_is_named(tmp_path: Path) -> None:
    score = HELLO | {"containers": {"web": {"image": "nginx:0.1"}}}
    assert any("nginx:0.1 is not in images.md" in line for line in found(folder(tmp_path, EXPECTED, score)))


def test_a_file_that_nothing_uses_is_named(tmp_path: Path) -> None:
    (tmp_path / "forgotten.txt").write_text("?")
    assert any("forgotten.txt" in line for line in found(folder(tmp_path, EXPECTED)))


def test_a_refusal_that_the_references_do_not_share_needs_a_decision(tmp_path: Path) -> None:
    refused = {key: value for key, value in EXPECTED.items() if key != "expect"}
    refused["refused"] = {"stage": "file", "paths": [["metadata", "name"]]}
    assert any("refused by no decision" in line for line in found(folder(tmp_path, refused)))
    assert found(folder(tmp_path, refused | {"decisions": ["one-document"]})) == []
