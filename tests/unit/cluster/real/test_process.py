"""A component is found, signalled and started again by any process that knows its directory."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seamark_cluster.real.process import Component
from seamark_runtime.errors import SeamarkError

WAITS = [sys.executable, "-c", "import time; print('hello', flush=True); time.sleep(60)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('hello', flush=True); time.sleep(60)",
]


@pytest.fixture
def component(tmp_path: Path) -> Iterator[Component]:
    component = Component(tmp_path, WAITS)
    yield component
    component.kill()


def until_hello(component: Component) -> None:
    deadline = time.monotonic() + 10
    while "hello" not in component.log_tail():
        assert time.monotonic() < deadline


def test_one_that_was_never_started_is_dead_and_may_be_stopped(component: Component) -> None:
    component.stop()
    assert (component.alive, component.pid, component.log_tail()) == (False, None, "")


def test_another_process_sees_it_and_ends_it(component: Component, tmp_path: Path) -> None:
    component.start()
    other = Component(tmp_path, [component.name])
    assert other.alive
    assert other.pid == component.pid
    other.kill()
    assert not component.alive


def test_it_can_be_started_again_on_the_same_log(component: Component) -> None:
    component.start()
    until_hello(component)
    component.stop()
    component.start()
    assert component.alive
    assert "hello" in component.log_tail()


def test_it_is_not_started_twice(component: Component) -> None:
    component.start()
    with pytest.raises(SeamarkError, match="already runs"):
        component.start()


def test_one_that_does_not_listen_is_killed_after_the_grace(tmp_path: Path) -> None:
    component = Component(tmp_path, DEAF)
    component.start()
    until_hello(component)
    component.stop(grace=0.05)
    assert not component.alive


def test_a_reused_pid_is_not_signalled(component: Component, tmp_path: Path) -> None:
    component.start()
    bystander = component.pid
    component_of_the_past = Component(tmp_path / "past", [component.name])
    (tmp_path / "past").mkdir()
    (tmp_path / "past" / f"{component.name}.pid").write_text(str(bystander))
    component_of_the_past.signal(signal.SIGKILL)
    assert component.alive
