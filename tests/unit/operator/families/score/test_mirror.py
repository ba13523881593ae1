"""The mirror's guards and its table, row by row (docs/spec/score/workload.md)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import Workload, WorkloadExposure
from seamark.families.score.mirror.reconcile import announce, judge
from seamark.families.score.mirror.state import Mirrored, Seen
from seamark.families.score.platform.policy import EndpointPolicy
from seamark_runtime.apply import Answers

NOTHING = Answers({}, {})
URL = "https://app.example.com"


def workload(generation: int = 1, endpoint: str | None = None) -> Workload:
    return msgspec.convert(
        {
            "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": generation},
            "spec": {"containers": {"main": {"image": "nginx"}}},
            "status": {"endpoint": endpoint, "conditions": []},
        },
        Workload,
    )


def exposure(status: dict[str, Any] | None, **more: Any) -> WorkloadExposure:
    raw = {
        "metadata": {"name": "app", "generation": 1, **more.get("metadata", {})},
        "spec": {
            "workloadRef": {"name": "app", "uid": "u"},
            "observedWorkloadGeneration": 1,
            "runtimeClass": "ecs",
            **more.get("spec", {}),
        },
        **({"status": status} if status is not None else {}),
    }
    return msgspec.convert(raw, WorkloadExposure)


def condition(type_: str, status: str = "True", reason: str = "Because", **more: Any) -> dict[str, Any]:
    fields = {"type": type_, "status": status, "reason": reason, "message": f"{type_} says", **more}
    return {**fields, "lastTransitionTime": "2026-01-01T00:00:00Z"}


def outcome(status: Mirrored) -> tuple[str, str]:
    (ready,) = status.conditions
    return ready.status, ready.reason


def judged(*conditions: dict[str, Any], url: str = URL, **entry: Any) -> Mirrored:
    status = {"exposures": [{"url": url, **entry}], "conditions": list(conditions)}
    return judge(Seen(workload(), exposure(status)), NOTHING)


TABLE = {
    "Healthy": ("True", "Succeeded"),
    "Available": ("True", "Succeeded"),
    "Ready": ("True", "Succeeded"),
    "RuntimeReady": ("True", "Succeeded"),
    "Selecting": ("False", "RuntimeProvisioning"),
    "Provisioning": ("False", "RuntimeProvisioning"),
    "Applying": ("False", "RuntimeProvisioning"),
    "LBPending": ("False", "NetworkUnavailable"),
    "IngressPending": ("False", "NetworkUnavailable"),
    "DNSNotReady": ("False", "NetworkUnavailable"),
    "Degraded": ("False", "RuntimeDegraded"),
    "PolicyViolation": ("False", "PolicyViolation"),
    "PolicyError": ("False", "PolicyViolation"),
    "QuotaExceeded": ("False", "QuotaExceeded"),
    "QuotaError": ("False", "QuotaExceeded"),
    "PermissionDenied": ("False", "PermissionDenied"),
    "PermissionError": ("False", "PermissionDenied"),
}


@pytest.mark.parametrize(("name", "expected"), TABLE.items(), ids=TABLE)
def test_a_runtimes_condition_is_mapped_by_the_table(name: str, expected: tuple[str, str]) -> None:
    status = judged(condition(name))
    assert outcome(status) == expected
    assert status.conditions[0].message == f"{name} says"
    assert status.endpoint == URL


@pytest.mark.parametrize(("name", "expected"), [row for row in TABLE.items() if row[1][0] == "False"])
def test_the_name_may_also_be_the_reason_of_a_condition_that_is_not_true(name: str, expected: tuple[str, str]) -> None:
    assert outcome(judged(condition("Ready", "False", name))) == expected
    assert outcome(judged(condition("Exposed", "Unknown", name))) == ("Unknown", expected[1])


@pytest.mark.parametrize(
    ("conditions", "expected"),
    {
        "bad news goes before good": (
            (condition("Available"), condition("Degraded")),
            ("False", "RuntimeDegraded"),
        ),
        "of bad news the worse": (
            (condition("Provisioning"), condition("LBPending"), condition("QuotaExceeded")),
            ("False", "QuotaExceeded"),
        ),
        "bad news that is over is none": (
            (condition("Available"), condition("Degraded", "False"), condition("LBPending", "False")),
            ("True", "Succeeded"),
        ),
        "why it is not available is in another condition": (
            (condition("Available", "False"), condition("Provisioning")),
            ("False", "RuntimeProvisioning"),
        ),
        "not available": ((condition("Available", "False"),), ("False", "RuntimeDegraded")),
        "availability not known": ((condition("Available", "Unknown"),), ("Unknown", "RuntimeProvisioning")),
        "an unknown type is no evidence": ((condition("Zorp"),), ("Unknown", "RuntimeProvisioning")),
        "nor does it harm": ((condition("Zorp", "False"), condition("Healthy")), ("True", "Succeeded")),
        "a published endpoint is enough": ((), ("True", "Succeeded")),
        "a good state may be a reason": ((condition("Zorp", "True", "Available"),), ("True", "Succeeded")),
        "a reason that contradicts the state": (
            (condition("RuntimeReady", "True", "Degraded"),),
            ("Unknown", "RuntimeDegraded"),
        ),
        "the runtime's own summary names the reason": (
            (condition("Ready", "Unknown", "Provisioning"), condition("IngressPending")),
            ("Unknown", "RuntimeProvisioning"),
        ),
        "where its reason is not in the table, another condition does": (
            (condition("Ready", "False", "NotYet"), condition("IngressPending")),
            ("False", "NetworkUnavailable"),
        ),
    }.values(),
)
def test_several_conditions_are_summed_up(conditions: tuple[dict[str, Any], ...], expected: tuple[str, str]) -> None:
    assert outcome(judged(*conditions)) == expected


def test_a_reason_that_is_not_in_the_table_is_shown_with_its_message() -> None:
    status = judged(condition("RuntimeReady", "False", "DiskFull", message="no space on node 7"))
    assert outcome(status) == ("False", "RuntimeDegraded")
    assert status.conditions[0].message == "DiskFull: no space on node 7"
    status = judged(condition("Zorp", "False", "DiskFull", message="no space"))
    assert outcome(status) == ("Unknown", "RuntimeProvisioning")
    assert status.conditions[0].message.endswith("Zorp=False DiskFull: no space")


def test_an_endpoint_that_its_runtime_does_not_call_ready_is_not() -> None:
    assert outcome(judged(ready=False)) == ("False", "NetworkUnavailable")
    assert outcome(judged(condition("Available"), ready=False)) == ("False", "NetworkUnavailable")
    assert outcome(judged(condition("Available"), ready=True)) == ("True", "Succeeded")


@pytest.mark.parametrize("url", ["http://a..b", "javascript:alert(1)", "app.example.com:80"])
def test_a_url_that_is_not_valid_is_named_and_neither_mirrored_nor_ready(url: str) -> None:
    status = judged(condition("Available"), url=url)
    assert (status.endpoint, outcome(status)) == (None, ("Unknown", "RuntimeProvisioning"))
    assert status.conditions[0].message.startswith("The published URL is not valid: ")
    degraded = judged(condition("Degraded"), url=url)
    assert outcome(degraded) == ("False", "RuntimeDegraded")
    assert "The published URL is not valid: " in degraded.conditions[0].message


def test_an_endpoint_that_does_not_answer_is_degraded() -> None:
    assert outcome(judged(condition("Available"), reachable=False)) == ("False", "RuntimeDegraded")
    assert outcome(judged(condition("Available"), reachable=True)) == ("True", "Succeeded")


# ---- which generation an answer is for (rules 3 to 5)

OLD, NEW = {"url": "https://old"}, {"url": "https://new"}


def endpoint(status: dict[str, Any], **more: Any) -> tuple[str | None, str]:
    seen = Seen(workload(2, "https://old"), exposure(status, spec={"observedWorkloadGeneration": 2}, **more))
    result = judge(seen, NOTHING)
    return result.endpoint, result.conditions[0].status


def test_the_generation_that_the_runtime_publishes_counts() -> None:
    assert endpoint({"observedWorkloadGeneration": 1, "exposures": [NEW]}) == ("https://old", "Unknown")
    assert endpoint({"observedWorkloadGeneration": 2, "exposures": [NEW]}) == ("https://new", "True")
    assert endpoint({"observedWorkloadGeneration": 3, "exposures": [NEW]}) == ("https://old", "Unknown")


def test_a_condition_that_has_observed_the_exposure_as_it_is_counts() -> None:
    def status(observed: int) -> dict[str, Any]:
        return {"exposures": [NEW], "conditions": [condition("Available", observedGeneration=observed)]}

    assert endpoint(status(1), metadata={"generation": 2}) == ("https://old", "Unknown")
    assert endpoint(status(2), metadata={"generation": 2}) == ("https://new", "True")


def test_a_status_that_names_no_generation_is_about_the_spec_beside_it() -> None:
    assert endpoint({"exposures": [NEW]}, metadata={"generation": 1}) == ("https://new", "True")
    assert endpoint({"conditions": [condition("RuntimeReady", reason="Available")]}) == (None, "True")


def test_before_the_registrar_has_requested_the_new_generation_no_status_is_an_answer_to_it() -> None:
    seen = Seen(workload(2, "https://old"), exposure({"exposures": [NEW]}))
    assert judge(seen, NOTHING).endpoint == "https://old"


def test_conditions_alone_are_an_answer_and_mean_that_there_is_no_endpoint() -> None:
    seen = Seen(workload(1, "https://old"), exposure({"conditions": [condition("LBPending")]}))
    assert judge(seen, NOTHING).endpoint is None


# ---- policies (rule 12)


def test_a_scope_that_is_not_shown_is_no_endpoint_and_there_is_no_fallback() -> None:
    status = {
        "exposures": [{"url": URL, "scope": "Public"}, {"url": "http://in", "scope": "ClusterLocal", "priority": 1}]
    }
    hidden = judge(Seen(workload(), exposure(status), EndpointPolicy(scopes=("Public",))), NOTHING)
    assert (hidden.endpoint, outcome(hidden)) == (None, ("True", "Succeeded"))


def test_a_template_replaces_only_a_published_url() -> None:
    policy = EndpointPolicy(template="https://{{.workload.name}}.{{.workload.namespace}}.example.com")
    assert judge(Seen(workload(), exposure({"exposures": [OLD]}), policy), NOTHING).endpoint == (
        "https://app.default.example.com"
    )
    assert judge(Seen(workload(), exposure({"exposures": [], "conditions": []}), policy), NOTHING).endpoint is None


# ---- events


def notices(before: str | None, status: dict[str, Any]) -> list[str]:
    return [notice.reason for notice in announce(Seen(workload(1, before), exposure(status)), NOTHING)]


def test_events_are_for_changes_and_refusals_never_at_rest() -> None:
    assert notices(None, {"exposures": [OLD]}) == []
    assert notices("https://old", {"exposures": [OLD]}) == []
    assert notices("https://old", {"exposures": [NEW]}) == ["EndpointChanged"]
    assert notices("https://old", {"exposures": [], "observedWorkloadGeneration": 1}) == ["EndpointWithdrawn"]
    assert notices("https://old", {"exposures": [{"url": "nonsense"}]}) == ["InvalidURL"]
    assert notices("https://old", {"exposures": [NEW], "observedWorkloadGeneration": 9}) == []
