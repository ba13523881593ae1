"""Settings of the version before: each name is still accepted, under a warning where it was renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from seamark.cli.main import app
from seamark.families.bindings.settings import BindingsSettings
from seamark.families.dns.settings import DnsSettings
from seamark.families.gateway.settings import CLUSTER, GatewaySettings
from seamark.families.gateway.settings import loaded as gateway_settings
from seamark.families.loadbalancer.settings import LoadBalancerSettings
from seamark.families.score.settings import ScoreSettings
from seamark_edge.edge.settings import PREFIX, EdgeSettings
from seamark_edge.forwarder.settings import ForwarderSettings
from seamark_runtime.settings import Field, Settings, declared
from tests.sources import ROOT

FORMER = yaml.safe_load((Path(__file__).parent / "former_settings.yaml").read_text())
FIELDS: Mapping[str, list[Field]] = {
    "run": declared(Settings),
    "edge": declared(EdgeSettings, PREFIX),
    "forwarder": declared(ForwarderSettings),
    "families": [
        *declared(BindingsSettings),
        *declared(DnsSettings),
        *declared(GatewaySettings),
        *declared(LoadBalancerSettings),
        *declared(ScoreSettings),
    ],
}


def variables(fields: list[Field]) -> set[str]:
    """Of today and of the version before."""
    former = {field.prefix + field.former.name.upper() for field in fields if field.former}
    return {field.variable for field in fields} | former


def flags(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """(command, flag) of it and of all commands below it."""
    for parameter in command.params:
        for flag in (*parameter.opts, *parameter.secondary_opts):
            yield " ".join(path), flag
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from flags(command.get_command(None, name), (*path, name))


@pytest.mark.parametrize("program", FORMER["variables"])
def test_every_variable_is_still_read(program: str) -> None:
    assert set(FORMER["variables"][program]) <= variables(FIELDS[program])


def test_every_flag_is_still_accepted() -> None:
    known = set(flags(typer.main.get_command(app)))
    assert {(command, flag) for command, names in FORMER["flags"].items() for flag in names} <= known


@pytest.mark.parametrize("path", FORMER["values"])
def test_every_value_of_the_chart_is_still_there(path: str) -> None:
    value = yaml.safe_load((ROOT / "charts" / "seamark" / "values.yaml").read_text())
    for name in path.split("."):
        value = value[name]


def test_the_secret_of_the_envoys_is_ignored_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "environ", {"SEAMARK_GATEWAY_XDS_CLIENT_SECRET": "mine"})
    assert gateway_settings().gateway_xds_authority == CLUSTER.authority
    ignored = "the setting gateway_xds_client_secret has no effect any more; see gateway_xds_authority"
    assert capsys.readouterr().err == f"seamark: warning: the environment: {ignored}\n"

    file = tmp_path / "gateway.yaml"
    file.write_text("gateway_xds_client_secret: mine\ngateway_xds_authority: ours\n")
    monkeypatch.setattr(os, "environ", {"SEAMARK_GATEWAY_SETTINGS": str(file)})
    assert gateway_settings().gateway_xds_authority == "ours"
    assert capsys.readouterr().err == f"seamark: warning: {file}: {ignored}\n"
