"""The terminal output: addresses to try, and a live table of objects and checks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.table import Table

from seamark_cluster.commands.dev.progress import Progress, Row


@dataclass
class Screen:
    """A terminal. The command of a check is shown as soon as the check passes."""

    url: str
    setting: str  # environment variables with which other programs connect
    page: str
    token: str
    console: Console = field(default_factory=Console)

    async def show(self, progress: Progress) -> None:
        print_line = self.console.print
        print_line(f"A cluster at {self.url}, {progress.elapsed:.1f} s after the start. Try in another terminal:")
        print_line(f"  export {self.setting}", soft_wrap=True, highlight=False)
        print_line(
            "  seamark status; seamark explain workload/story; kubectl get workloads,gateways,services", soft_wrap=True
        )
        print_line(f"The console: {self.page}#token={self.token}", soft_wrap=True, highlight=False)
        print_line("Ctrl-C ends it and leaves nothing behind.\n")
        printed: set[str] = set()
        before: list[Row] | None = None
        with Live(console=self.console, auto_refresh=False) as live:
            while True:
                rows = progress.rows
                for row in rows:
                    if row.good and row.command and row.command not in printed:
                        printed.add(row.command)
                        live.console.print(f"  {row.command}", soft_wrap=True, highlight=False)
                if rows != before:
                    before = rows
                    live.update(table(rows), refresh=True)
                await asyncio.sleep(0.25)


def table(rows: list[Row]) -> Table:
    shown = Table("object or check", "true", "says", box=None, pad_edge=False)
    for row in rows:
        shown.add_row(row.what, "[green]True[/]" if row.good else "[yellow]not yet[/]", row.message)
    return shown
