"""The recorder sees every state, and a status that breaks a rule does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.api.sample import Greeting
from seamark.families.sample.family import GREETING
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.recorder import Recorder, recorded
from tests.cluster.requests import install, request

RESOURCE = Greeting.RESOURCE
MERGE = "application/merge-patch+json"


@pytest.fixture(autouse=True)
def kind(control_plane: ControlPlane) -> None:
    install(control_plane, GREETING)


def greet(plane: ControlPlane, namespace: str) -> None:
    body = {"apiVersion": RESOURCE.api_version, "kind": "Greeting", "metadata": {"name": "a"}, "spec": {"text": "x"}}
    made = request(plane, "POST", RESOURCE.path(namespace), body)
    assert made.code == 201


def say(plane: ControlPlane, namespace: str, time: str, **more: Any) -> None:
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 1, **more}
    patch = {"status": {"conditions": [{**ready, "lastTransitionTime": time}]}}
    code = request(plane, "PATCH", RESOURCE.path(namespace, "a", "status"), patch, content_type=MERGE).code
    assert code == 200


def test_every_state_of_every_object_is_recorded(
    control_plane: ControlPlane, namespace: str, status_rules: Recorder
) -> None:
    greet(control_plane, namespace)
    for text in ("y", "z"):
        path = RESOURCE.path(namespace, "a")
        request(control_plane, "PATCH", path, {"spec": {"text": text}}, content_type=MERGE)
    status_rules.stop()
    texts = [state["spec"]["text"] for state in status_rules.histories[(namespace, "a")] if state]
    assert texts == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("rule", "times", "more"),
    [
        (9, ["2099-01-01T00:00:01Z", "2099-01-01T00:00:02Z"], {}),
        (11, ["2000-01-01T00:00:00Z"], {}),
        (13, ["2099-01-01T00:00:01Z"], {"observedGeneration": 7}),
    ],
)
def test_a_status_that_breaks_a_rule_does_not_pass(
    control_plane: ControlPlane, namespace: str, rule: int, times: list[str], more: dict[str, Any]
) -> None:
    def broken() -> None:
        with recorded(control_plane, RESOURCE, namespace=namespace):
            greet(control_plane, namespace)
            for time in times:
                say(control_plane, namespace, time, **more)

    with pytest.raises(AssertionError, match=f"{namespace}/a: rule {rule} "):
        broken()
