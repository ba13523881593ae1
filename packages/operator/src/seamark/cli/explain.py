"""seamark explain, status, watch: what works, what does not, and why. They need nothing but read access."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from seamark.cli.access import ASK_FOR_ACCESS, INSTALL
from seamark.explain.kinds import split
from seamark.explain.live import live
from seamark.explain.meanings import meanings
from seamark.explain.model import Hop, Truth
from seamark.explain.reader import Reader
from seamark.explain.show import MARK, now, plain, tree
from seamark.explain.summary import Summary, summarise
from seamark.explain.walk import explained
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.connection import Connection, Load, connect
from seamark_runtime.errors import UserError
from seamark_runtime.http import HttpTransport

V = TypeVar("V")
INTERVAL = 1.0  # seconds between two looks of `watch`
MAX_PROBLEMS = 20
MAX_WIDTH = 1000

Target = Annotated[str, typer.Argument(metavar="KIND/NAME", help="The object to explain, for example service/web.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Its namespace.")]
Only = Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace; all of them without.")]
Format = Annotated[Literal["text", "json"], typer.Option("--output", "-o", help="For a person, or for a program.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every condition, also those that are well.")]
OperatorUrl = Annotated[
    str,
    typer.Option(
        "--operator",
        envvar="SEAMARK_OPERATOR",
        help="The console, for live evidence: its URL; the kubeconfig may name it.",
    ),
]
Kubeconfig = Annotated[str, typer.Option("--kubeconfig", help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option("--context", help="Which context of the kubeconfig.")]


def explain(  # noqa: PLR0913, PLR0917  one parameter per option
    target: Target,
    namespace: Namespace = "default",
    output: Format = "text",
    verbose: Verbose = False,
    operator: OperatorUrl = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Walk everything that an object depends on, and name the first hop that is broken."""
    resource, name = split(target)
    key = Key(namespace if resource.namespaced else "", name)
    hop, note = asyncio.run(whole(resource, key, operator, kubeconfig, context))
    if output == "json":
        typer.echo(json.dumps({**plain(hop), "note": note}, indent=2))
    else:
        screen().print(tree(hop, now(), verbose=verbose))
        if note:
            screen().print(Text(note, style="dim"))


async def whole(resource: Resource, key: Key, operator: str, kubeconfig: str, context: str) -> tuple[Hop, str]:
    """The chain from the cluster, and the evidence from the operator, if it can be asked."""
    connection = await connect(kubeconfig, context)()  # once: a plugin may take its time to give a token

    async def known() -> Connection:
        return connection

    hop = await reading(known, lambda reader: explained(reader, resource, key, meanings()))
    return await live(hop, operator or connection.operator, connection.token)


def status(namespace: Only = "", output: Format = "text", kubeconfig: Kubeconfig = "", context: Context = "") -> None:
    """Count what is as it should be, per family and namespace, and name what is not."""
    found = asyncio.run(reading(connect(kubeconfig, context), lambda reader: summarise(reader, namespace)))
    check(found)
    if output == "json":
        typer.echo(json.dumps(as_json(found), indent=2))
    else:
        screen().print(table(found))


def screen() -> Console:
    """As wide as the terminal; where there is none, nothing is cut off."""
    return Console(soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else MAX_WIDTH)


def check(found: Summary) -> None:
    """Whether there is anything that the user may see."""
    if not found.installed:
        raise UserError("this cluster has none of Seamark's kinds", hint=INSTALL)
    if not found.readable:
        raise UserError("you may not list any of Seamark's kinds", hint=ASK_FOR_ACCESS)


def watch(namespace: Only = "", kubeconfig: Kubeconfig = "", context: Context = "") -> None:
    """Show the same, live, until Ctrl-C."""
    asyncio.run(follow(namespace, kubeconfig, context))


async def follow(namespace: str, kubeconfig: str, context: str) -> None:
    screen = Console(highlight=False)
    transport = await HttpTransport(connect(kubeconfig, context)).open()
    try:
        with Live(console=screen, auto_refresh=False) if screen.is_terminal else Changes(screen) as live:
            while True:
                found = await summarise(Reader(transport), namespace)
                check(found)
                live.update(table(found), refresh=True)
                await asyncio.sleep(INTERVAL)
    finally:
        await transport.close()


class Changes:
    """What is shown live, for a file or a program: each state once, one below the other."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._last = ""

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, shown: RenderableType, *, refresh: bool) -> None:
        with self._screen.capture() as capture:
            self._screen.print(shown, soft_wrap=True)
        if refresh and capture.get() != self._last:
            self._last = capture.get()
            typer.echo(self._last)


async def reading(load: Load, query: Callable[[Reader], Awaitable[V]]) -> V:
    transport = await HttpTransport(load).open()
    try:
        return await query(Reader(transport))
    finally:
        await transport.close()


def table(found: Summary) -> RenderableType:
    made = Table("family", "kind", "namespace", "true", "false", "unknown", box=None, pad_edge=False)
    for row in found.rows:
        counts = [row.counts[truth] for truth in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN)]
        shown = [
            Text(str(count), style=style if count else "dim")
            for count, style in zip(counts, ("green", "bold red", "yellow"), strict=True)
        ]
        made.add_row(row.family, row.resource.kind, row.namespace, *shown)
    return Group(made, *_competing(found), *_problems(found), *_hidden(found))


def _competing(found: Summary) -> list[Text]:
    return [Text(), *(Text(f"! {note}", style="bold red") for note in found.competing)] if found.competing else []


def _problems(found: Summary) -> list[Text]:
    lines = [Text()] if found.problems else []
    for problem in found.problems[:MAX_PROBLEMS]:
        mark, style = MARK[problem.truth]
        line = Text(f"{mark} {problem.resource.kind} {problem.key}", style=style)
        lines.append(line.append(f"  {problem.message}", style="default not bold"))
    if len(found.problems) > MAX_PROBLEMS:
        lines.append(Text(f"and {len(found.problems) - MAX_PROBLEMS} more", style="dim"))
    if found.problems:
        first = found.problems[0]
        where = f" -n {first.key.namespace}" if first.key.namespace else ""
        lines.append(Text(f"Why: seamark explain {first.resource.kind.lower()}/{first.key.name}{where}", style="dim"))
    return lines


def _hidden(found: Summary) -> list[Text]:
    if not found.hidden:
        return []
    return [Text(f"You may not list {', '.join(str(kind) for kind in found.hidden)}.", style="dim")]


def as_json(found: Summary) -> dict[str, Any]:
    rows = [
        {
            "family": row.family,
            "kind": row.resource.kind,
            "namespace": row.namespace,
            **{truth.value.lower(): row.counts[truth] for truth in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN)},
        }
        for row in found.rows
    ]
    problems = [
        {"kind": problem.resource.kind, **problem.key._asdict(), "truth": problem.truth.value, "words": problem.message}
        for problem in found.problems
    ]
    hidden = [str(kind) for kind in found.hidden]
    return {"rows": rows, "troubles": problems, "hidden": hidden, "rivals": list(found.competing)}
