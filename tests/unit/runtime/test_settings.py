"""Settings: from a file, the environment and flags; what is wrong is reported in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from seamark_runtime.errors import UserError
from seamark_runtime.settings import Settings, declared, former, load, replaces


def settings(file: str = "", environment: dict[str, str] | None = None, **flags: Any) -> Settings:
    return load(Settings, file=file, environment=environment or {}, flags=flags)


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(text: str) -> str:
        path = tmp_path / "seamark.yaml"
        path.write_text(text)
        return str(path)

    return write


def test_without_any_word_the_defaults_hold() -> None:
    assert settings() == Settings()


def test_a_flag_outweighs_the_environment_and_that_the_file(file: Any) -> None:
    path = file("workers: 1\nnamespace: from-file\nlog-level: debug\n")
    found = settings(
        path, {"SEAMARK_WORKERS": "2", "SEAMARK_NAMESPACE": "from-env", "OTHER": "x"}, workers=3, context=None
    )
    assert (found.workers, found.namespace, found.log_level, found.context) == (3, "from-env", "debug", "")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("WORKERS", "7", 7),
        ("REQUEST_TIMEOUT", "2.5", 2.5),
        ("LEADER_ELECTION", "false", False),
        ("LEADER_ELECTION", "true", True),
        ("FAMILIES", "dns,gateway", ("dns", "gateway")),
        ("HEALTH_ADDRESS", "", ""),
    ],
)
def test_a_variable_is_read_as_what_the_setting_is(name: str, text: str, value: Any) -> None:
    assert getattr(settings(environment={f"SEAMARK_{name}": text}), name.lower()) == value


def test_an_empty_file_says_nothing(file: Any) -> None:
    assert settings(file("# nothing\n")) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("workers: 0", "workers is 0, but expected `int` >= 1"),
        ("workers: many", "workers is 'many', but expected `int`"),
        ("workers: [1]", "workers is [1], but expected `int`"),
        ("request_timeout: -1", "request_timeout is -1"),
        ("leader_election: perhaps", "leader_election is 'perhaps', but expected `bool`"),
        ("log_level: loud", "log_level is 'loud'"),
        ("families: {a: b}", "families"),
        ("worker: 1", "unknown setting 'worker': known are"),
        ("just words", "must be a map of names to values"),
        ("- a", "must be a map of names to values"),
        ("a: {b", "not valid YAML"),
        ("a: \tb: c", "not valid YAML"),
        ("workers: null", "workers is None, but expected `int`"),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_its_place(file: Any, text: str, words: str) -> None:
    path = file(text)
    with pytest.raises(UserError) as caught:
        settings(path)
    assert path in caught.value.message
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml: No such file"):
        settings(str(tmp_path / "nowhere.yaml"))


def test_a_file_that_is_a_directory_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="directory"):
        settings(str(tmp_path))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UserError, match="'utf-8' codec"):
        settings(str(tmp_path / "binary"))


def test_what_is_wrong_elsewhere_is_told_with_its_place() -> None:
    with pytest.raises(UserError, match="the environment: workers is 'x'"):
        settings(environment={"SEAMARK_WORKERS": "x"})
    with pytest.raises(UserError, match="the command line: workers is 5000"):
        settings(workers=5000)


def test_every_setting_has_a_flag_a_variable_and_a_description() -> None:
    for field in declared(Settings):
        assert field.description, field.name
        assert field.flag == "--" + field.name.replace("_", "-")
        assert field.variable == "SEAMARK_" + field.name.upper()


def test_a_program_with_a_prefix_of_its_own_hears_only_its_own_variables() -> None:
    environment = {"SEAMARK_WORKERS": "2", "SEAMARK_OTHER_NAMESPACE": "mine"}
    found = load(Settings, environment=environment, flags={}, prefix="SEAMARK_OTHER_")
    assert (found.workers, found.namespace) == (Settings().workers, "mine")
    assert {field.variable for field in declared(Settings, "SEAMARK_OTHER_")} >= {"SEAMARK_OTHER_WORKERS"}


class Renamed(msgspec.Struct, frozen=True, kw_only=True):
    threads: Annotated[int, Meta(description="How many", ge=1), former("workers")] = 1
    authority: Annotated[str, Meta(description="Who signs"), replaces("certificate")] = ""


@pytest.mark.parametrize("place", ["file", "environment"])
def test_a_former_name_counts_with_a_warning(file: Any, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = file("workers: 3\n") if place == "file" else ""
    environment = {} if path else {"SEAMARK_WORKERS": "3"}
    assert load(Renamed, file=path, environment=environment, flags={}) == Renamed(threads=3)
    expected = f"seamark: warning: {path or 'the environment'}: the setting workers is called threads now; rename it\n"
    assert capsys.readouterr().err == expected


def test_the_new_name_outweighs_the_former_and_a_wrong_value_has_the_new_name(file: Any) -> None:
    assert load(Renamed, file=file("workers: 3\nthreads: 4\n"), environment={}, flags={}).threads == 4
    with pytest.raises(UserError, match="threads is 0, but expected"):
        load(Renamed, file=file("workers: 0\n"), environment={}, flags={})


def test_the_value_of_a_replaced_setting_is_ignored_with_a_warning(
    file: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file("certificate: mine\n")
    assert load(Renamed, file=path, environment={}, flags={}) == Renamed()
    assert "the setting certificate has no effect any more; see authority" in capsys.readouterr().err
