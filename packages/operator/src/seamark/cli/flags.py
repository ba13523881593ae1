"""Flags of a command, from the declaration of its settings."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from seamark_runtime.settings import PREFIX, Field, declared, flag, load

S = TypeVar("S", bound=msgspec.Struct)


def with_settings(shape: type[S], run: Callable[[S], None], prefix: str = PREFIX) -> Callable[..., None]:
    """A command with a flag and a variable for each setting, and `--settings` for a file of them."""

    def command(settings: str = "", **flags: Any) -> None:
        run(load(shape, file=settings, environment=os.environ, flags=flags, prefix=prefix))

    parameters = [_parameter("settings", str, "", "A file of settings, in YAML", "--settings", f"{prefix}SETTINGS")]
    for field in declared(shape, prefix):
        description = f"{field.description} (default {_shown(field.default)}; {field.variable})"
        parameters.append(_parameter(field.name, field.type | None, None, description, _flag(field, field.name)))
        if field.former:
            name = field.former.name
            parameters.append(_parameter(name, field.type | None, None, "", _flag(field, name)))
    command.__doc__ = run.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _flag(field: Field, name: str) -> str:
    return f"{flag(name)}/--no-{flag(name)[2:]}" if field.type is bool else flag(name)


def _parameter(
    name: str, type_: Any, default: Any, description: str, flag: str, variable: str = ""
) -> inspect.Parameter:
    """A flag of the command; a former name has no description, and is not shown."""
    hidden = not description
    option = typer.Option(flag, help=description, envvar=variable or None, show_default=False, hidden=hidden)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, option])


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ",".join(default)
    return "none" if default == "" else str(default).lower() if isinstance(default, bool) else str(default)
