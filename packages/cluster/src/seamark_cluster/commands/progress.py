"""Progress on a terminal as a bar, elsewhere as lines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from seamark_cluster.real.progress import Lines, Progress


@contextlib.contextmanager
def shown() -> Iterator[Progress]:
    """Writes to standard error; the bar is removed at the end."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines()
        return
    with Bars(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
    ) as bars:
        task = bars.add_task("", total=None, visible=False)

        def report(step: str, done: float | None = None) -> None:
            bars.update(
                task, description=step, total=None if done is None else 1.0, completed=done or 0.0, visible=True
            )

        yield report
