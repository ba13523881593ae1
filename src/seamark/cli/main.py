"""The command line's front door. A person's mistake is one line on stderr and exit code 2, never a traceback.

- A command is imported when it is asked for: to start one, and to wait for it, costs what that one needs.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import seamark
from seamark.core.errors import SeamarkError, UserError

# By name: the module, and the function or group of commands in it.
COMMANDS = {
    "run": "run:command",
    "dev": "dev.command:dev",
    "crds": "crds:crds",
    "roles": "roles:roles",
    "policies": "policies:command",
    "install": "install:install",
    "uninstall": "install:uninstall",
    "bundle": "bundle:bundle",
    "console": "console:console",
    "explain": "explain:explain",
    "status": "explain:status",
    "watch": "explain:watch",
    "completion": "completion:completion",
    "edge": "edge:app",
    "agent": "agent:command",
    "forwarder": "forwarder:command",
    "cluster": "clusters:app",
    "dns": "dns:app",
    "score": "score:app",
    "gateway": "gateway:app",
}


class Commands(TyperGroup):
    """Has every command of the table, and imports those that are looked at."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return loaded(cmd_name) if cmd_name in COMMANDS else None


def loaded(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(importlib.import_module(f"seamark.cli.{module}"), attribute)
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
        typer.echo(seamark.__version__)
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
