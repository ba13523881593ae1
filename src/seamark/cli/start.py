"""The command line's front door. A person's mistake is one line on stderr and exit code 2, never a traceback.

What only reads is asked for often and in a hurry: it does not wait until the whole program is loaded.
"""

from __future__ import annotations

import sys

import typer

from seamark.core.errors import SeamarkError, UserError

QUICK = ("explain", "status", "watch")


def main() -> None:
    answered(quick() if sys.argv[1:2] and sys.argv[1] in QUICK else whole())


def quick() -> typer.Typer:
    from seamark.cli.explain import app  # noqa: PLC0415  nothing else is loaded for these

    return app


def whole() -> typer.Typer:
    from seamark.cli.main import app  # noqa: PLC0415

    return app


def answered(app: typer.Typer) -> None:
    try:
        app()
    except UserError as error:
        typer.echo(f"seamark: {error.message}", err=True)
        sys.exit(2)
    except SeamarkError as error:
        typer.echo(f"seamark: {error.message}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
