"""seamark edge: a public place for endpoints, without an account."""

from __future__ import annotations

import asyncio
import inspect
import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from seamark.cli.flags import with_settings
from seamark_edge.edge.settings import PREFIX, EdgeSettings
from seamark_edge.process.backup import back_up, put_back, records
from seamark_edge.process.server import Edge
from seamark_edge.process.transfer import load, move, place, read, save
from seamark_edge.wire.files import allow_many_files
from seamark_edge.wire.memory import keep_buffers
from seamark_runtime import log
from seamark_runtime.garbage import spare_program
from seamark_runtime.signals import stop_event


def run(settings: EdgeSettings) -> None:
    """Run a self-hosted edge that the official ngrok SDKs connect to. One process owns a state: one replica."""
    log.configure(settings.log_level)
    keep_buffers()
    allow_many_files()
    uvloop.run(serve(settings))


async def serve(settings: EdgeSettings) -> None:
    running = await Edge.opened(settings)
    stopping = stop_event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, running.reload)
    await running.start()
    spare_program()
    typer.echo(introduction(settings))
    await stopping.wait()
    await running.drain()
    await running.stop()


def introduction(settings: EdgeSettings) -> str:
    """What a person copies to use this edge with an official SDK."""
    directory = settings.directory.absolute()
    given = Path(settings.given) if settings.given else directory
    scheme = "https" if settings.api_tls else "http"
    lines = [
        f"agents:    {settings.public_host}:{settings.agent_port}",
        f"ca file:   {directory / 'ca.pem'}",
        f"authtoken: {_secret(directory / 'agent-token', given)}",
        f"api:       {scheme}://{settings.public_host}:{settings.api_port}",
        f"api key:   {_secret(directory / 'api-key', given)}",
    ]
    return "\n".join(lines)


def _secret(path: Path, given: Path) -> str:
    """What was made here is shown; what was given is known already, and in a cluster this is a log."""
    if given != path.parent and (given / path.name).exists():
        return f"(given in {given / path.name})"
    return path.read_text().strip() if path.exists() else f"(removed from {path})"


command = with_settings(EdgeSettings, run, PREFIX)


def _group(context: typer.Context, **flags: Any) -> None:
    if context.invoked_subcommand is None:
        command(**flags)


_own = inspect.signature(command).parameters.values()
_context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
_group.__doc__ = run.__doc__
_group.__signature__ = inspect.Signature([_context, *_own])  # type: ignore[attr-defined]  # typer reads it
_group.__annotations__ = {parameter.name: parameter.annotation for parameter in (_context, *_own)}

app = typer.Typer(add_completion=False)
app.callback(invoke_without_command=True)(_group)

STATE = EdgeSettings().state
State = Annotated[str, typer.Option("--state", envvar=f"{PREFIX}STATE", help="File of the state.")]
Store = Annotated[
    str, typer.Option("--store", envvar=f"{PREFIX}STORE", help="URL of the database of the state, where it has one.")
]
PasswordFile = Annotated[
    str,
    typer.Option(
        "--store-password-file", envvar=f"{PREFIX}STORE_PASSWORD_FILE", help="File with the password of that database."
    ),
]
From = Annotated[str, typer.Option("--from", help="File of the state, or URL of its database.")]
To = Annotated[str, typer.Option("--to", help="File, or URL of a database, that has the state from then on.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Where to; standard output by default.")]
Input = Annotated[Path | None, typer.Option("--input", "-i", help="Where from; standard input by default.")]
Force = Annotated[bool, typer.Option("--force", help="Even if there is a state: it is replaced.")]


@app.command("backup")
def backup(state: State = STATE, store: Store = "", password_file: PasswordFile = "", output: Output = None) -> None:
    """Copy the state of an edge, also of one that runs. The copy holds the CA's key: keep it as you keep keys."""
    settings = EdgeSettings(state=state, store=store, store_password_file=password_file)
    with tempfile.TemporaryDirectory() as folder:
        copy = output or Path(folder, "edge.db")
        if (database := settings.database) is None:
            back_up(settings.file, copy)
        else:
            save(asyncio.run(read(database, running=True)), copy)
        if output is None:
            sys.stdout.buffer.write(copy.read_bytes())
        else:
            typer.echo(f"{output}: {records(output)} records")


@app.command("restore")
def restore(
    state: State = STATE,
    store: Store = "",
    password_file: PasswordFile = "",
    source: Input = None,
    force: Force = False,
) -> None:
    """Put a copy of the state in its place. The edge must not run."""
    settings = EdgeSettings(state=state, store=store, store_password_file=password_file)
    with tempfile.TemporaryDirectory() as folder:
        copy = source or Path(folder, "edge.db")
        if source is None:
            copy.write_bytes(sys.stdin.buffer.read())
        if (database := settings.database) is None:
            put_back(copy, settings.file, force=force)
        else:
            asyncio.run(load(copy, database, force=force))
        typer.echo(f"{database or settings.file}: {records(copy)} records")


@app.command("migrate")
def migrate(source: From, target: To, password_file: PasswordFile = "", force: Force = False) -> None:
    """Move the state of an edge from a file into a PostgreSQL database, or back. The edge must not run."""
    where = place(target, password_file)
    count = asyncio.run(move(place(source, password_file), where, force=force))
    typer.echo(f"{where}: {count} records")
