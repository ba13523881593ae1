"""Ready needs a connection that a Pod has accepted (docs/spec/score/runtime.md, rules 16 to 19)."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from seamark.api.score import Exposure
from seamark.families.score.workloadexposure.connections import dials, reachable
from seamark.families.score.workloadexposure.reconcile import judge
from seamark.families.score.workloadexposure.state import OtherProtocol, Port, PortRefused, Seen
from seamark_runtime.calls import Failed, Results
from seamark_runtime.conditions import Awaited
from seamark_runtime.errors import Retry
from tests.unit.operator.families.score.publish.given import (
    COMPLETE,
    LOCAL,
    NOTHING,
    connected,
    exposure,
    plan,
    pod,
    reasons,
    rendered,
    rollout,
    seen,
)

REFUSED = PortRefused("Connections to port 80 are refused")
OTHERWISE = OtherProtocol("Port 80 answers, but not with HTTP")
SILENT = Retry("Port 80 does not answer")


def found(given: Seen) -> dict[str, str]:
    conditions = reasons(judge(given, NOTHING))
    return {name: conditions[name] for name in ("Ready", "Reachable")}


def offering(*ports: dict[str, Any]) -> dict[str, Any]:
    planned = plan(ports=list(ports))
    return {"plan": planned, "service": rendered(planned)["service"]}


@pytest.mark.parametrize(
    ("given", "ready", "reached"),
    {
        "accepted": (connected(), "True Running", "True Accepted"),
        "nobody listens": (
            connected(Failed(REFUSED.message, REFUSED)),
            "False NetworkUnavailable",
            "False Refused",
        ),
        "something else than HTTP answers": (
            connected(Failed(OTHERWISE.message, OTHERWISE)),
            "False NetworkUnavailable",
            "False WrongProtocol",
        ),
        "no answer is no refusal": (
            connected(Failed(SILENT.message, SILENT)),
            "Unknown NetworkUnavailable",
            "Unknown NoAnswer",
        ),
        "too old": (connected(expires=0.0), "Unknown NetworkUnavailable", "Unknown Expired"),
        "outside of the Pod network": (
            connected(inside=False),
            "Unknown NetworkUnavailable",
            "Unknown OutsidePodNetwork",
        ),
        "a Pod on this machine": (
            connected(inside=False, loopback=True, pods=(pod(address="127.96.0.1"),)),
            "True Running",
            "True Accepted",
        ),
        "in the Pod network, and in no Pod": (
            connected(inside=False, pod_network=True),
            "True Running",
            "True Accepted",
        ),
        "a Pod elsewhere": (
            connected(inside=False, loopback=True),
            "Unknown NetworkUnavailable",
            "Unknown OutsidePodNetwork",
        ),
        "no Pod is ready": (
            connected(pods=(pod(ready="False"),)),
            "Unknown NetworkUnavailable",
            "Unknown NoPod",
        ),
        "UDP alone": (
            connected(**offering({"name": "dns", "port": 53, "protocol": "UDP"})),
            "Unknown NetworkUnavailable",
            "Unknown NotVerifiable",
        ),
        "no port": (
            connected(plan=plan(ports=[]), service=None),
            "True Running",
            "True NoPorts",
        ),
        "what does not run is told first": (
            connected(Failed(REFUSED.message, REFUSED), rollout=rollout(0, "1", COMPLETE)),
            "False Degraded",
            "False Refused",
        ),
    }.values(),
)
def test_a_connection_is_what_ready_needs(given: Seen, ready: str, reached: str) -> None:
    assert found(given) == {"Ready": ready, "Reachable": reached}


def test_the_ports_of_the_pods_are_tried_and_not_those_of_the_service() -> None:
    ports = (
        {"name": "web", "port": 80, "targetPort": 8080},
        {"name": "metrics", "port": 9090},
        {"name": "dns", "port": 53, "protocol": "UDP"},
    )
    (call,) = dials(connected(**offering(*ports)))
    assert call.action.ports == (Port(8080, "http"), Port(9090, "tcp"))
    assert call.shelf_life == 3 * call.every


def test_a_message_names_what_was_verified_of_each_port() -> None:
    ports = ({"name": "web", "port": 80}, {"name": "db", "port": 5432}, {"name": "tcp-raw", "port": 8080})
    status = judge(connected(**offering(*ports)), NOTHING)
    messages = {condition.type: condition.message for condition in status.conditions}
    assert messages["Reachable"] == "Pods answer at port 80 and accept connections at port 5432, 8080"


@pytest.mark.parametrize(("hint", "reason"), [("HTTPS", "Answered"), ("TCP", "OutsidePodNetwork")])
def test_a_load_balancer_that_only_accepts_connections_is_no_evidence_for_the_pods_behind_it(
    hint: Literal["HTTPS", "TCP"], reason: str
) -> None:
    entry = Exposure(url="any://192.0.2.1", priority=50, scope="Public", scheme_hint=hint, reachable=True)
    assert reachable(connected(inside=False), (entry,)).reason == reason


def test_one_of_several_pods_that_refuses_is_enough_and_one_that_was_not_tried_yet_withdraws_nothing() -> None:
    first, second = pod("app-1"), pod("app-2", "10.0.0.2")
    both = {"pods": (first, second), "probes": True, "inside": True}
    one, other = dials(seen(**both))
    accepted = {one.target: Results.answer(one, True, 9.0)}
    assert found(seen(results=Results(accepted, now=1.0), **both))["Ready"] == "True Running"
    refused = accepted | {other.target: Results.answer(other, Failed(REFUSED.message, REFUSED), 9.0)}
    assert found(seen(results=Results(refused, now=1.0), **both))["Ready"] == "False NetworkUnavailable"


def test_before_the_first_attempt_has_ended_what_was_written_for_this_generation_stays() -> None:
    status = judge(seen(pods=(pod(),), probes=True, inside=True), NOTHING)
    awaited = {condition.type for condition in status.conditions if isinstance(condition, Awaited)}
    assert awaited == {"Ready", "Reachable"}


def test_an_endpoint_that_answers_from_here_is_evidence_where_pods_can_not_be_asked() -> None:
    given = connected(inside=False, exposure=exposure(LOCAL))
    assert found(given)["Reachable"] == "Unknown OutsidePodNetwork"  # that it answered once was not found out here
