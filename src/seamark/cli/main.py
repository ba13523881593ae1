"""The command line's front door. A person's mistake is one line on stderr and exit code 2, never a traceback."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import seamark
from seamark.cli import (
    agent,
    cluster,
    completion,
    console,
    crds,
    dev,
    dns,
    edge,
    explain,
    forwarder,
    gateway,
    kubelet,
    roles,
    score,
)
from seamark.cli.families import FAMILIES
from seamark.cli.flags import with_settings
from seamark.cli.run import run
from seamark.cli.serve import serve
from seamark.core.errors import SeamarkError, UserError
from seamark.core.settings import Settings

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Endpoints that tell the truth.")
app.command("run")(with_settings(Settings, run))
app.command("dev")(dev.dev)
app.command("crds")(crds.command([crd for family in FAMILIES.values() for crd in family.crds]))
app.command("roles")(roles.roles)
app.command("console")(console.console)
app.command("explain")(explain.explain)
app.command("status")(explain.status)
app.command("watch")(explain.watch)
app.command("completion")(completion.command(app))
app.command("edge")(edge.command)
app.command("agent")(agent.command)
cluster.app.command("serve")(serve)
app.command("forwarder")(forwarder.command)
cluster.app.command("kubelet")(kubelet.kubelet)
app.add_typer(cluster.app, name="cluster")
app.add_typer(dns.app, name="dns")
app.add_typer(score.app, name="score")
app.add_typer(gateway.app, name="gateway")


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
