"""Flags that are made from settings."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
import typer
from msgspec import Meta
from typer.testing import CliRunner

from seamark.cli.flags import with_settings
from seamark_runtime.settings import former


class Renamed(msgspec.Struct, frozen=True, kw_only=True):
    listen_on: Annotated[str, Meta(description="Where"), former("address")] = "nowhere"
    anew: Annotated[bool, Meta(description="Whether"), former("again")] = False


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(add_completion=False)
    app.command()(
        with_settings(Renamed, lambda settings: typer.echo(f"{settings.listen_on} {settings.anew}"), "TRIED_")
    )
    return app


def test_a_former_flag_counts_with_a_warning_and_is_not_shown(app: typer.Typer) -> None:
    found = CliRunner().invoke(app, ["--address", "here", "--again"])
    assert found.stdout == "here True\n"
    assert found.stderr.splitlines() == [
        "seamark: warning: the command line: the setting address is called listen_on now; rename it",
        "seamark: warning: the command line: the setting again is called anew now; rename it",
    ]
    assert "--address" not in CliRunner().invoke(app, ["--help"]).stdout


def test_the_new_flag_outweighs_the_former(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["--listen-on", "there", "--address", "here"]).stdout == "there False\n"


def test_a_former_variable_is_outweighed_by_a_flag(app: typer.Typer) -> None:
    found = CliRunner().invoke(app, ["--no-anew"], env={"TRIED_ADDRESS": "here", "TRIED_AGAIN": "true"})
    assert found.stdout == "here False\n"
    assert found.stderr.count("warning: the environment") == 2
