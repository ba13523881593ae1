"""Flags of a command, from the declaration of its settings."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from seamark_runtime.settings import PREFIX, declared, load

S = TypeVar("S", bound=msgspec.Struct)


def with_settings(shape: type[S], run: Callable[[S], None], prefix: str = PREFIX) -> Callable[..., None]:
    """A command with a flag and a variable for each setting, and `--settings` for a file of them."""

    def command(settings: str = "", **flags: Any) -> None:
        run(load(shape, file=settings, environment=os.environ, flags=flags, prefix=prefix))

    parameters = [_parameter("settings", str, "", "A file of settings, in YAML", "--settings", f"{prefix}SETTINGS")]
    for field in declared(shape, prefix):
        description = f"{field.description} (default {_shown(field.default)}; {field.variable})"
        flag = f"{field.flag}/--no-{field.flag[2:]}" if field.type is bool else field.flag
        parameters.append(_parameter(field.name, field.type | None, None, description, flag))
    command.__doc__ = run.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(
    name: str, type_: Any, default: Any, description: str, flag: str, variable: str = ""
) -> inspect.Parameter:
    option = typer.Option(flag, help=description, envvar=variable or None, show_default=False)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, option])


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ",".join(default)
    return "none" if default == "" else str(default).lower() if isinstance(default, bool) else str(default)
