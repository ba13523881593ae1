"""What runs is published, and why something does not (docs/spec/score/runtime.md, rules 6, 9, 10 and 11)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.families.score.model.runtime import Rendered
from seamark.families.score.workloadexposure.reconcile import desire, judge
from seamark.families.score.workloadexposure.state import Lookup, Seen
from seamark_runtime.api.core import Pod
from seamark_runtime.calls import Failed, Results
from tests.unit.operator.families.score.publish.given import (
    COMPLETE,
    LOCAL,
    NOTHING,
    ROLLING,
    ROUTES,
    connected,
    exposure,
    plan,
    reasons,
    rollout,
    seen,
    wire,
)


def test_what_runs_is_published_with_its_generation() -> None:
    status = judge(connected(), NOTHING)
    assert wire(status.exposures) == [{"url": LOCAL, "scope": "ClusterLocal", "schemeHint": "HTTP"}]
    assert status.observed_workload_generation == 1
    assert reasons(status) == {
        "Ready": "True Running",
        "Available": "True Running",
        "Provisioning": "False RolledOut",
        "Degraded": "False AsItShould",
        "LBPending": "False Addressed",
        "IngressPending": "False Served",
        "DNSNotReady": "False Answered",
        "Reachable": "True Accepted",
    }


def failure(message: str) -> dict[str, str]:
    return {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}


@pytest.mark.parametrize(
    ("more", "expected"),
    {
        "not rendered": (
            {"rollout": None},
            {"Provisioning": "True RollingOut", "Available": "Unknown Provisioning", "Ready": "Unknown Provisioning"},
        ),
        "of an older generation": ({"rollout": rollout(1, "0")}, {"Provisioning": "True RollingOut"}),
        "not rendered, with a route": (
            {"rollout": None, "plan": plan(routes=ROUTES)},
            {"IngressPending": "True RouteNotServed", "Ready": "Unknown Provisioning"},
        ),
        "rolling out": ({"rollout": rollout(0, "1", ROLLING)}, {"Provisioning": "True RollingOut"}),
        "its pod died": (
            {"rollout": rollout(0)},
            {"Degraded": "True ReplicasMissing", "Available": "False Degraded", "Ready": "False Degraded"},
        ),
        "refused": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": "no such thing"})},
            {"Degraded": "True Refused", "Available": "False Refused"},
        ),
        "somebody else has its Service": (
            {"service": None, "rendered": Rendered(1, {"service": "it is not managed by Seamark"})},
            {"Degraded": "True Refused", "Available": "True Running"},
        ),
        "a quota": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": 'forbidden: exceeded quota: "q"'})},
            {"Available": "False QuotaExceeded"},
        ),
        "a quota of pods": (
            {"rollout": rollout(0, "1", COMPLETE, failure("pods is forbidden: exceeded quota"))},
            {"Available": "False QuotaExceeded"},
        ),
        "a right": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": 'forbidden: User "x" cannot create'})},
            {"Available": "False PermissionDenied"},
        ),
        "a policy": (
            {"rollout": None, "rendered": Rendered(1, {"rollout": "ValidatingAdmissionPolicy 'x' denied request"})},
            {"Available": "False PolicyViolation"},
        ),
        "what was refused for an older generation is over": (
            {"rendered": Rendered(0, {"rollout": "no"})},
            {"Degraded": "False AsItShould"},
        ),
    }.values(),
)
def test_what_does_not_run_is_reported(more: dict[str, Any], expected: dict[str, str]) -> None:
    found = reasons(judge(seen(**more), NOTHING))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"waiting": {"reason": "ImagePullBackOff"}}, "main: its image can't be pulled"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, "main: it ends again and again"),
        (
            {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}},
            'main: it can\'t be configured (secret "x" not found)',
        ),
        ({"running": {}}, "No replica is available"),
    ],
)
def test_why_replicas_are_missing_is_reported_from_their_pods(state: dict[str, Any], message: str) -> None:
    pod = msgspec.convert({"status": {"containerStatuses": [{"name": "main", "state": state}]}}, Pod)
    (_, available, *_) = judge(seen(rollout=rollout(0), pods=(pod,)), NOTHING).conditions
    assert available.message.endswith(message)


def test_a_rollout_beside_enough_replicas_is_named() -> None:
    """Which of the replicas are new is not known: the message claims no more than their number."""
    ready, *_ = judge(seen(rollout=rollout(1, "1", ROLLING)), NOTHING).conditions
    assert (ready.status, ready.reason) == ("False", "Provisioning")
    assert ready.message == "Enough replicas are available, and a rollout is under way"


def test_a_pod_that_no_node_takes_is_reported() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod = msgspec.convert({"status": {"conditions": [condition]}}, Pod)
    (_, available, *_) = judge(seen(rollout=rollout(0), pods=(pod,)), NOTHING).conditions
    assert available.message == "No replica is available: no node takes its pod"


def results(given: Seen, outcome: Any, expires: float = 9.0) -> Results:
    """The same outcome for every probe; names have an answer."""
    calls = desire(given).calls
    answers = {
        call.target: Results.answer(call, True if isinstance(call.action, Lookup) else outcome, expires)
        for call in calls
    }
    return Results(answers, now=1.0)


def test_an_endpoint_is_reachable_by_probe_alone() -> None:
    given = seen(probes=True, inside=True)
    assert len(desire(given).calls) == 1
    assert desire(seen()).calls == ()
    assert desire(seen(probes=True)).calls == ()  # from outside, a cluster-local endpoint can't be tried

    def reachable(outcome: Any, expires: float = 9.0) -> bool | None:
        found = results(given, outcome, expires)
        (entry,) = judge(seen(probes=True, inside=True, results=found), NOTHING).exposures or ()
        return entry.reachable

    assert reachable(True) is True
    assert reachable(Failed("refused")) is False
    assert reachable(True, expires=0.0) is None
    unreachable = seen(probes=True, inside=True, results=results(given, Failed("refused")))
    assert reasons(judge(unreachable, NOTHING))["Degraded"] == "True Unreachable"


def test_an_endpoint_is_tried_anew_when_other_replicas_run() -> None:
    (before,) = desire(seen(probes=True, inside=True)).calls
    (after,) = desire(seen(probes=True, inside=True, rollout=rollout(0))).calls
    assert before.action != after.action
    assert before.target == after.target


def test_after_a_restart_what_was_found_out_stands_until_the_first_attempt_has_ended() -> None:
    (entry,) = judge(seen(exposure=exposure(LOCAL), probes=True, inside=True), NOTHING).exposures or ()
    assert entry.reachable is True
