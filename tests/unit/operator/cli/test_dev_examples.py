"""The examples of `seamark dev`: folders with manifests, a Score file perhaps, and what must answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark_cluster.commands.dev.command import dev
from seamark_cluster.commands.dev.examples import EDGE, ENVOY, NAMES, NODE, gathered
from seamark_runtime.errors import UserError


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("one.yaml", "a: [", "not valid YAML"),
        ("one.yaml", "a: 1", "without apiVersion and kind"),
        ("one.yaml", "", "no manifests in"),
        ("answers.yaml", "[{curl: a, dig: b}]", "each check is a curl, a dig or a read"),
        ("answers.yaml", "[{ask: a}]", "has no valid checks"),
        ("answers.yaml", "[", "has no valid checks"),
        ("score.yaml", "{}", r"score\.yaml"),
    ],
)
def test_what_can_not_be_read_is_told(tmp_path: Path, file: str, text: str, words: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(UserError, match=words):
        gathered(tmp_path)


def test_an_unknown_cluster_is_told() -> None:
    with pytest.raises(UserError, match="there is no cluster 'borrowed'"):
        dev(cluster="borrowed")


def test_what_an_example_needs_follows_from_its_kinds() -> None:
    needs = {one.name: one.needs for one in gathered(Path("examples"))}
    assert needs["sample"] == set()
    assert needs["dns"] == {NAMES}
    assert needs["gateway"] == {NODE, ENVOY}
    assert needs["loadbalancer"] == {NODE, EDGE}
    assert needs["bindings"] == {NODE, EDGE}
    assert needs["story"] == {NODE, ENVOY, NAMES}


def test_every_example_says_what_must_answer() -> None:
    assert [one.name for one in gathered(Path("examples")) if not one.checks] == []


def test_a_score_file_stands_for_its_workload() -> None:
    (story,) = [one for one in gathered(Path("examples")) if one.name == "story"]
    assert story.objects == {"Workload default/story", "Gateway default/default"}
