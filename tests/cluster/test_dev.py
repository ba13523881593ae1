"""seamark dev, as a person starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.embedded_cluster import running_cluster

START = "from seamark.cli.main import main; main()"


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START, "dev", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("cluster", ["embedded", "real"])
def test_every_example_becomes_ready(cluster: str) -> None:
    done = dev("--check", "--cluster", cluster)
    assert done.returncode == 0, done.stderr
    said = re.search(r"dev: ready_s=([\d.]+) examples=(\d+)/(\d+)", done.stdout)
    assert said is not None, done.stdout
    assert said[2] == said[3] != "0"


def test_the_embedded_cluster_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, "dev", "--check"]
    subprocess.run(command, env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=120, check=True)
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_is_there_already_is_used(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as running:
        done = dev("--check", "--kubeconfig", str(running.cluster.kubeconfig))
        assert done.returncode == 0, done.stderr
        assert "hello" in running.said("get", "greetings", "-o", "name")  # what was applied there stays


def test_mistakes_are_told_in_one_line(tmp_path: Path) -> None:
    for wrong, words in (
        (["--cluster", "borrowed"], "there is no cluster 'borrowed'"),
        (["--network", "tokenring"], "there is no network 'tokenring'"),
        (["--examples", str(tmp_path)], "no manifests in"),
        (["--kubeconfig", str(tmp_path / "nowhere")], "nowhere"),
    ):
        done = dev(*wrong)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_manifest_that_is_no_yaml_or_of_no_kind_is_told_in_one_line(tmp_path: Path) -> None:
    for text, words in (
        ("a: [", "is no YAML"),
        ("a: 1", "without apiVersion and kind"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: [1]}", "ConfigMap a is refused"),
    ):
        (tmp_path / "one.yaml").write_text(text)
        done = dev("--check", "--examples", str(tmp_path))
        assert done.returncode == 2, done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr
