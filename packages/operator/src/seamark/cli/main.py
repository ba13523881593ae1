"""The command line. A user's mistake is one line on stderr and exit code 2, never a traceback.

- A command is imported when it is used, so that each starts only with what it needs.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.metadata import entry_points
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from seamark_runtime.errors import SeamarkError, UserError

# Where the function or group of commands of each is.
COMMANDS = {
    "run": "seamark.cli.run:command",
    "crds": "seamark.cli.crds:crds",
    "roles": "seamark.cli.roles:roles",
    "policies": "seamark.cli.policies:command",
    "install": "seamark.cli.install:install",
    "uninstall": "seamark.cli.install:uninstall",
    "bundle": "seamark.cli.bundle:bundle",
    "console": "seamark.cli.console:console",
    "explain": "seamark.cli.explain:explain",
    "status": "seamark.cli.explain:status",
    "watch": "seamark.cli.explain:watch",
    "completion": "seamark.cli.completion:completion",
    "edge": "seamark.cli.edge:app",
    "agent": "seamark.cli.agent:command",
    "forwarder": "seamark.cli.forwarder:command",
    "dns": "seamark.cli.dns:app",
    "score": "seamark.cli.score:app",
    "gateway": "seamark.cli.gateway:app",
}
PLUGINS = "seamark.commands"  # the entry points by which other distributions add theirs
DEVELOPER = ("dev", "cluster")  # commands of seamark-cluster


class Commands(TyperGroup):
    """Has the operator's commands and those of installed plugins; imports only those that are used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *plugins()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            return loaded(cmd_name, COMMANDS[cmd_name])
        added = plugins()
        if cmd_name in added:
            return loaded(cmd_name, added[cmd_name])
        if cmd_name in DEVELOPER:
            raise UserError(
                f"`seamark {cmd_name}` is a developer command, which is not installed here",
                hint="install the package seamark-cluster",
            )
        return None


@cache
def plugins() -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group=PLUGINS)}


def loaded(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        found = alone
    command: Any = typer.main.get_command(found)
    command.name = name
    return command


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, help="Endpoints that tell the truth.")


def version(wanted: bool) -> None:
    if wanted:
        typer.echo(distribution_version("seamark"))
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    plugin = Path(sys.argv[0]).name == "kubectl-seamark"
    try:
        app(prog_name="kubectl seamark" if plugin else "seamark")
    except UserError as error:
        typer.echo(f"seamark: {error.message}", err=True)
        sys.exit(2)
    except SeamarkError as error:
        typer.echo(f"seamark: {error.message}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
