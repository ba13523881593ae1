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
from seamark.explain.leadership import Leadership, dated, leadership
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
    hop, leaders, note = asyncio.run(whole(resource, key, operator, kubeconfig, context))
    if output == "json":
        typer.echo(json.dumps({**plain(hop), "note": note}, indent=2))
    else:
        screen().print(tree(hop, now(), verbose=verbose, unknown=leaders.unknown))
        if note:
            screen().print(Text(note, style="dim"))


async def whole(
    resource: Resource, key: Key, operator: str, kubeconfig: str, context: str
) -> tuple[Hop, Leadership, str]:
    """The chain from the cluster, the evidence from the operator, if it can be asked, and notes about both."""
    connection = await connect(kubeconfig, context)()  # once: a plugin may take its time to give a token

    async def known() -> Connection:
        return connection

    async def chain(reader: Reader) -> tuple[Hop, Leadership]:
        found = await explained(reader, resource, key, meanings())
        leaders = await leadership(reader)
        return dated(found, leaders), leaders

    hop, leaders = await reading(known, chain)
    evident, note = await live(hop, operator or connection.operator, connection.token)
    return evident, leaders, "\n".join(filter(None, (*leaders.notes(), note)))


def status(namespace: Only = "", output: Format = "text", kubeconfig: Kubeconfig = "", context: Context = "") -> None:
    """Count what is as it should be, per family and namespace, and name what is not."""
    found, leaders = asyncio.run(reading(connect(kubeconfig, context), lambda reader: whole_summary(reader, namespace)))
    check(found)
    if output == "json":
        typer.echo(json.dumps(as_json(found, leaders), indent=2))
    else:
        screen().print(table(found, leaders))


async def whole_summary(reader: Reader, namespace: str) -> tuple[Summary, Leadership]:
    return await summarise(reader, namespace), await leadership(reader)


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
                found, leaders = await whole_summary(Reader(transport), namespace)
                check(found)
                live.update(table(found, leaders), refresh=True)
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


def table(found: Summary, leaders: Leadership) -> RenderableType:
    dated_column = ("as of",) if leaders.stopped else ()
    made = Table("family", "kind", "namespace", "true", "false", "unknown", *dated_column, box=None, pad_edge=False)
    for row in found.rows:
        counts = [row.counts[truth] for truth in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN)]
        shown = [
            Text(str(count), style=style if count else "dim")
            for count, style in zip(counts, ("green", "bold red", "yellow"), strict=True)
        ]
        as_of = (Text(leaders.as_of(row.resource), style="yellow"),) if leaders.stopped else ()
        made.add_row(row.family, row.resource.kind, row.namespace, *shown, *as_of)
    return Group(made, *_leaders(leaders), *_competing(found), *_problems(found), *_hidden(found))


def _leaders(leaders: Leadership) -> list[Text]:
    style = "bold red" if leaders.stopped else "dim"
    return [Text(), *(Text(f"! {note}", style=style) for note in leaders.notes())] if leaders.notes() else []


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


def as_json(found: Summary, leaders: Leadership) -> dict[str, Any]:
    rows = [
        {
            "family": row.family,
            "kind": row.resource.kind,
            "namespace": row.namespace,
            **{truth.value.lower(): row.counts[truth] for truth in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN)},
            "asOf": leaders.as_of(row.resource),
        }
        for row in found.rows
    ]
    problems = [
        {"kind": problem.resource.kind, **problem.key._asdict(), "truth": problem.truth.value, "words": problem.message}
        for problem in found.problems
    ]
    hidden = [str(kind) for kind in found.hidden]
    operators = [
        {"lease": str(lease.key), "families": list(lease.families), "leads": not lease.as_of, "asOf": lease.as_of}
        for lease in leaders.leases
    ]
    described = {"rows": rows, "troubles": problems, "hidden": hidden, "rivals": list(found.competing)}
    return {**described, "operators": operators, "note": " ".join(leaders.notes())}
