"""A process of Envoy's: started, watched and ended beside the event loop, whatever it writes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from seamark_edge.dataplane.envoy import process
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.envoy.process import Child, Starter
from seamark_runtime.api.meta import Key
from tests.virtual_time import run


@asynccontextmanager
async def started(folder: Path, code: str) -> AsyncIterator[Child]:
    starter = Starter()
    made = await starter.start((sys.executable, "-u", "-c", code), folder / "log")
    try:
        yield made
    finally:
        await made.stop(5)
        starter.close()


def at(work: Callable[[], Awaitable[None]]) -> None:
    async def program() -> None:
        async with asyncio.timeout(30):
            await work()

    asyncio.run(program())


def test_its_end_is_noticed_and_what_it_wrote_last_is_known(tmp_path: Path) -> None:
    async def work() -> None:
        async with started(tmp_path, "import sys; print('one\\ntwo', file=sys.stderr)") as made:
            await made.wait()
            assert made.last_line() == "two"

    at(work)


@pytest.mark.parametrize("much", ["'x' * 3_000_000", "'line\\n' * 600_000", "'\\x00\\xff' * 500_000"])
def test_a_line_of_any_length_and_any_number_of_lines_are_kept_within_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, much: str
) -> None:
    monkeypatch.setattr(process, "LOOK", 0.02)
    written = tmp_path / "written"
    code = f"import sys, time; sys.stderr.write({much}); open({str(written)!r}, 'w'); time.sleep(100)"

    async def work() -> None:
        async with started(tmp_path, code) as made:
            waiting = asyncio.ensure_future(made.wait())
            while not written.exists() or (tmp_path / "log").stat().st_size > process.MOST_OUTPUT:
                await asyncio.sleep(0.01)
            assert not waiting.done()
            waiting.cancel()

    at(work)


def test_one_that_does_not_want_to_end_is_killed(tmp_path: Path) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(100)"
    )

    async def work() -> None:
        async with started(tmp_path, code.replace("print('up'", "print('up', file=__import__('sys').stderr")) as made:
            while not made.last_line():
                await asyncio.sleep(0.01)
            await made.stop(0.1)
            assert made._popen.returncode == -signal.SIGKILL

    at(work)


def test_the_loop_s_thread_neither_starts_nor_reaps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()

    def noted(*arguments: int) -> tuple[int, int]:
        threads.add(threading.current_thread().name)
        return waited(*arguments)

    waited = os.waitpid
    monkeypatch.setattr("subprocess._waitpid", noted, raising=False)
    monkeypatch.setattr(os, "waitpid", noted)

    async def work() -> None:
        async with started(tmp_path, "import time; time.sleep(0.2)") as made:
            await made.wait()
        async with started(tmp_path, "import time; time.sleep(100)") as made:
            await made.stop(5)

    at(work)
    assert threading.main_thread().name not in threads


def test_an_envoy_is_started_again_whatever_happens_in_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    async def once(*_: object) -> str:
        rounds.append(len(rounds))
        if len(rounds) < 4:
            raise ValueError("Separator is not found, and chunk exceed the limit")
        await asyncio.Event().wait()
        return ""

    async def work() -> None:
        keeping = asyncio.ensure_future(LocalEnvoys(None)._keep(tmp_path, Key("a", "b")))
        await asyncio.sleep(10)
        assert not keeping.done()
        assert len(rounds) == 4
        keeping.cancel()

    monkeypatch.setattr(LocalEnvoys, "_once", once)
    run(work())
