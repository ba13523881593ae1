"""The whole family is pure, its translation included: each function twice, in every scenario of gateways and routes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from seamark.families.gateway.family import controllers
from seamark.families.gateway.model.options import Cluster, Front, Options
from seamark_edge.dataplane.memory import MemoryDataPlane
from tests.purity import checked
from tests.unit.operator.families.scenarios import Play, files

HERE = Path(__file__).parent
RANGE = ("192.0.2.0/24",)
FOLDERS = {
    "gateway": Options(addresses=RANGE),
    "httproute": Options(addresses=RANGE),
    "fronts": Options(addresses=RANGE, front=Front()),
    "pods": Options(cluster=Cluster()),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_function_gives_the_same_twice_and_changes_nothing(folder: str) -> None:
    found: list[str] = []
    called = 0
    for path in files(HERE / folder / "scenarios"):
        declared = controllers(FOLDERS[folder], MemoryDataPlane())
        play = Play(
            tuple(checked(controller, found) for controller in declared), next(yaml.safe_load_all(path.read_text()))
        )
        called += sum("gateway-translations" in name for name in play.run())
    assert found == []
    assert called
