"""seamark bundle: one file with what support needs to see, without secrets."""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from seamark.lifecycle.bundle import Bundle, shown
from seamark_runtime.connection import connect
from seamark_runtime.errors import UserError
from seamark_runtime.http import HttpTransport

Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write; by default named by the time.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Where Seamark is installed.")]
Kubeconfig = Annotated[str, typer.Option("--kubeconfig", help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option("--context", help="Which context of the kubeconfig.")]


def bundle(
    output: Output = None, namespace: Namespace = "seamark-system", kubeconfig: Kubeconfig = "", context: Context = ""
) -> None:
    """Collect objects, statuses, events, logs, versions and settings into one archive, without secrets."""
    path = output or Path(time.strftime("seamark-bundle-%Y%m%d-%H%M%S.tar.gz"))
    found = asyncio.run(collected(namespace, kubeconfig, context))
    write(path, found.files)
    typer.echo(f"{path}: {shown(found.files)}")
    if found.problems:
        typer.echo(f"{len(found.problems)} things could not be read, see not-read.txt in it", err=True)


async def collected(namespace: str, kubeconfig: str, context: str) -> Bundle:
    transport = await HttpTransport(connect(kubeconfig, context)).open()
    try:
        found = Bundle(transport, namespace)
        await found.collect()
        return found
    finally:
        await transport.close()


def write(path: Path, files: Mapping[str, str]) -> None:
    """The archive, for its owner's eyes only."""
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise UserError(f"{path} can't be written ({error.strerror})", hint="name another with --output") from None
    folder = path.name.partition(".")[0]
    with os.fdopen(opened, "wb") as out, tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in sorted(files.items()):
            content = text.encode()
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime = len(content), int(time.time())
            archive.addfile(entry, io.BytesIO(content))
