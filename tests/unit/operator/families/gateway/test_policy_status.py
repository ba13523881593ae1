"""A refusal of the data plane that a policy had before a restart stays until the data plane has answered."""

from __future__ import annotations

import msgspec

from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway.policies.state import POLICY_ACCEPTED, SeenPolicy
from seamark.families.gateway.policies.status import judge, previous_refusals
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers

US, GATEWAY = "example.com/us", Key("default", "gateway")
VALID = (POLICY_ACCEPTED.true("Valid", "Policy is accepted"),)
MESSAGE = "as an earlier version has put it"


def published(status: str = "False", generation: int = 3, controller: str = US) -> TrafficPolicy:
    condition = {
        "type": "Accepted",
        "status": status,
        "reason": "Invalid",
        "message": MESSAGE,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": generation,
    }
    ref = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "default", "name": "gateway"}
    entry = {"ancestorRef": ref, "controllerName": controller, "conditions": [condition]}
    metadata = {"name": "policy", "namespace": "default", "generation": 3}
    return msgspec.convert({"metadata": metadata, "status": {"ancestors": [entry]}}, TrafficPolicy)


def test_its_condition_of_before_is_kept_in_place_of_the_new_one() -> None:
    previous = previous_refusals(published(), US, {GATEWAY: VALID})
    [entry] = judge(SeenPolicy(US, (), {GATEWAY: VALID}, previous=previous), Answers({}, {})).ancestors or ()
    assert [(one.type, one.status, one.reason, one.message) for one in entry.conditions] == [
        ("Accepted", "False", "Invalid", MESSAGE)
    ]


def test_other_generations_statuses_and_controllers_do_not_count() -> None:
    for policy in (published(generation=2), published("True"), published(controller="example.com/it")):
        assert previous_refusals(policy, US, {GATEWAY: VALID}) == {}


def test_a_policy_that_fails_its_checks_now_has_its_present_condition() -> None:
    invalid = (POLICY_ACCEPTED.false("Invalid", "timeouts.request: 'soon' is no duration"),)
    assert previous_refusals(published(), US, {GATEWAY: invalid}) == {}
    assert previous_refusals(published(), US, {}) == {}
