"""What is known to be wrong with a Workload before anything is claimed (docs/spec/score/workload.md, rule 13)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import Workload
from seamark.families.score.orchestrator.reconcile import examine
from seamark.families.score.orchestrator.state import Seen
from seamark.families.score.platform.configuration import built_in

DATA = {"data": {"type": "volume"}, "cache": {"type": "redis"}}


def wrong(**container: Any) -> str:
    spec = {"containers": {"main": {"image": "a", **container}}, "resources": DATA}
    manifest = {"metadata": {"name": "app", "uid": "u", "generation": 1}, "spec": spec}
    return examine(Seen(msgspec.convert(manifest, Workload), built_in())).wrong


def volume(source: str) -> dict[str, Any]:
    return {"volumes": [{"target": "/data", "source": source}]}


@pytest.mark.parametrize(
    ("container", "message"),
    [
        (
            volume("${resources.cache}"),
            "containers.main.volumes[/data].source: 'cache' is no resource of the type",
        ),
        (volume("${resources.nothing}"), "containers.main.volumes[/data].source: 'nothing' is no resource of the type"),
        (volume("Not A Name"), "containers.main.volumes[/data].source: 'Not A Name' is no resource of the type volume"),
        ({"variables": {"V": "${resources.data}"}}, "containers.main.variables.V: ${resources.data} names a resource"),
        ({"variables": {"A=B": "x"}}, "containers.main.variables.A=B: no process"),
        ({"variables": {"GRÖSSE": "x"}}, "containers.main.variables.GRÖSSE: no process"),
        (
            {"files": [{"target": "/data", "content": "x"}], **volume("${resources.data}")},
            "containers.main.files[/data]: there is a volume at the same target",
        ),
        (
            {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}}},
            "containers.main.resources.requests.memory: 1Gi is more than the limit 1G",
        ),
    ],
)
def test_what_could_never_run_is_reported_with_its_place(container: dict[str, Any], message: str) -> None:
    assert wrong(**container).startswith(message)


@pytest.mark.parametrize(
    "container",
    [
        volume("${resources.data}"),
        volume("data"),
        volume("archive-data"),
        {"variables": {"_a.b-C1": "${resources.cache.host}"}},
        {"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "0.5"}}},
    ],
)
def test_what_can_run_is_not(container: dict[str, Any]) -> None:
    assert wrong(**container) == ""
