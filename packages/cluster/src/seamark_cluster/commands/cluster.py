"""seamark cluster: a real Kubernetes control plane on this machine."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from seamark_cluster.commands.progress import shown
from seamark_cluster.real.binaries import VERSION, find
from seamark_cluster.real.plane import ControlPlane, Options, User
from seamark_cluster.real.process import locked
from seamark_runtime.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Kubernetes on this machine: a real control plane, or an embedded one.")

Name = Annotated[str, typer.Option("--name", "-n", help="Which one, if there are several.")]


def state_directory(name: str) -> Path:
    """The directory of the control plane of this name."""
    if not name.replace("-", "").isalnum():
        raise UserError(f"{name!r} is not a valid cluster name", hint="use letters, digits and dashes")
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base else Path.home() / ".local" / "state") / "seamark" / "cluster" / name


def parse_user(text: str) -> User:
    """`alice`, or with groups `alice=developers,testers`."""
    name, _, groups = text.partition("=")
    if not name:
        raise UserError(f"{text!r} is not a user", hint="write NAME or NAME=GROUP,GROUP")
    return User(name, tuple(group for group in groups.split(",") if group))


@app.command()
def up(
    name: Name = "default",
    user: Annotated[list[str] | None, typer.Option(help="An additional user, as NAME or NAME=GROUP,GROUP.")] = None,
    controllers: Annotated[bool, typer.Option(help="Also run kube-controller-manager.")] = True,
    bind_address: Annotated[str, typer.Option(help="Where the API server listens.")] = "127.0.0.1",
    advertise_address: Annotated[str, typer.Option(help="The address that clients use, if it differs.")] = "",
) -> None:
    """Start etcd, kube-apiserver and kube-controller-manager."""
    directory = state_directory(name)
    if directory.exists():
        if any(locked(lock) for lock in directory.glob("*.lock")):
            raise UserError(f"cluster {name} is up", hint="run `seamark cluster down` first, or give another --name")
        shutil.rmtree(directory)  # left by a crash of the machine
    options = Options(
        users=tuple(parse_user(text) for text in user or ()),
        controllers=controllers,
        bind_address=bind_address,
        advertise_address=advertise_address,
    )
    with shown() as report:
        find(report)
    began = time.monotonic()
    plane = ControlPlane(options, directory=directory, detached=True)
    plane.start()
    print(f"Kubernetes {VERSION} is up at {plane.url} ({time.monotonic() - began:.1f} s)")
    print(f"export KUBECONFIG={plane.kubeconfig}")


@app.command()
def down(name: Name = "default") -> None:
    """Stop it and remove its data."""
    ControlPlane.attach(state_directory(name)).stop()
    print(f"cluster {name} is down")


@app.command()
def status(name: Name = "default") -> None:
    """Print what runs; exit code 1 if a component that should run does not."""
    plane = ControlPlane.attach(state_directory(name))
    wanted = plane.components if plane.options.controllers else plane.components[:2]
    table = Table("component", "process", "log")
    for component in wanted:
        table.add_row(component.name, str(component.pid or "not running"), str(component.log))
    Console().print(table)
    print(f"{plane.url}  users: {', '.join(user.name for user in (plane.admin, *plane.options.users))}")
    if not all(component.alive for component in wanted):
        raise typer.Exit(1)


@app.command()
def kubeconfig(
    name: Name = "default",
    user: Annotated[str, typer.Option(help="For this user only.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Print the content, not the path.")] = False,
) -> None:
    """Print the path of its kubeconfig."""
    plane = ControlPlane.attach(state_directory(name))
    path = plane.kubeconfig_of(user) if user else plane.kubeconfig
    print(path.read_text() if show else path)


@app.command()
def fetch() -> None:
    """Prepare the binaries: from the release, or by compiling them once. Prints their paths."""
    with shown() as report:
        binaries = find(report)
    print(binaries.kube_apiserver.parent)
