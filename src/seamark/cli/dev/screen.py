"""What a person sees: addresses to try, and a live table of what is true."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.table import Table

from seamark.cli.dev.progress import Progress

MOST_COMMANDS = 12


@dataclass
class Screen:
    """A terminal. Commands are shown as soon as their answers have come."""

    url: str
    setting: str  # of the environment, by which others find the way
    page: str
    token: str
    console: Console = field(default_factory=Console)

    async def show(self, progress: Progress) -> None:
        say = self.console.print
        say(f"A cluster at {self.url}, {progress.elapsed:.1f} s after the start. Try in another terminal:")
        say(f"  export {self.setting}", soft_wrap=True, highlight=False)
        say("  seamark status; seamark explain workload/story; kubectl get workloads,gateways,services", soft_wrap=True)
        say(f"The console: {self.page}#token={self.token}", soft_wrap=True, highlight=False)
        say("Ctrl-C ends it and leaves nothing behind.\n")
        told: set[str] = set()
        with Live(console=self.console, refresh_per_second=4) as live:
            while True:
                for row in progress.rows:
                    if row.good and row.command and row.command not in told:
                        told.add(row.command)
                        live.console.print(f"  {row.command}", soft_wrap=True, highlight=False)
                live.update(table(progress))
                await asyncio.sleep(0.25)


def table(progress: Progress) -> Table:
    shown = Table("object or question", "true", "says", box=None, pad_edge=False)
    for row in progress.rows:
        shown.add_row(row.what, "[green]True[/]" if row.good else "[yellow]not yet[/]", row.words)
    return shown
