"""Values of a WorkloadPlan by another writer (docs/spec/score/runtime.md, rule 15)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.api.score import WorkloadPlan, WorkloadPlanStatus
from seamark.families.score.model.planvalues import Unfit, read
from seamark.families.score.rendering.render import render
from seamark.families.score.workloadexposure.reconcile import judge
from seamark.families.score.workloadplan.controller import observe as observe_plan
from seamark.families.score.workloadplan.reconcile import judge as judge_plan
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.conditions import FALSE, TRUE
from seamark_runtime.view import View
from tests.unit.operator.families.score.publish.given import NOTHING, seen

MAIN = {"image": "nginx"}


def plan(values: Any, *conditions: Any, runtime_class: str = "kubernetes") -> WorkloadPlan:
    return msgspec.convert(
        {
            "metadata": {"name": "app", "namespace": "default", "uid": "plan", "generation": 1},
            "spec": {
                "workloadRef": {"name": "app", "uid": "u"},
                "observedWorkloadGeneration": 1,
                "runtimeClass": runtime_class,
                "resolvedValues": values,
            },
            "status": {"conditions": list(conditions)},
        },
        WorkloadPlan,
    )


def of_main(**more: Any) -> dict[str, Any]:
    return {"containers": {"main": {**MAIN, **more}}}


UNFIT = {
    "spec.resolvedValues.containers: ": {"containers": "text"},
    "spec.resolvedValues.containers[...]: ": {"containers": {"main": "text"}},
    "spec.resolvedValues.containers[...].image": {"containers": {"main": {"image": 7}}},
    "spec.resolvedValues.containers[...].variables": of_main(variables={"A": "b"}),
    "spec.resolvedValues.containers[...].files": of_main(files={"a": "b"}),
    "spec.resolvedValues.containers[...].files[0].mode": of_main(files=[{"target": "/a", "mode": "9"}]),
    "spec.resolvedValues.containers.main.files[0]: ": of_main(files=[{"target": "/a"}]),
    "spec.resolvedValues.containers.main.files[0].binaryContent": of_main(
        files=[{"target": "/a", "binaryContent": "%"}]
    ),
    "spec.resolvedValues.containers.main.resources.limits.cpu": of_main(resources={"limits": {"cpu": "1e99"}}),
    "spec.resolvedValues.containers.main.livenessProbe": of_main(livenessProbe={}),
    "spec.resolvedValues.kind": {"kind": ["Deployment"]},
    "spec.resolvedValues.ports": {"ports": [{"port": "80"}]},
    "spec.resolvedValues.routes[0].port": {"routes": [{"key": "r", "host": "a", "port": "many"}]},
    "spec.resolvedValues.volumes[0].size": {"volumes": [{"key": "v", "source": "v", "size": "much"}]},
}


@pytest.mark.parametrize(("field", "values"), UNFIT.items())
def test_what_can_not_be_rendered_is_reported_on_the_plan_with_its_field(field: str, values: Any) -> None:
    observed = observe_plan(View.__new__(View), plan(values), Results())
    assert observed is not None
    (accepted,) = judge_plan(observed, Answers({}, {})).conditions
    assert (accepted.status, accepted.reason) == (FALSE, "InvalidValues")
    assert accepted.message.startswith(field)


def test_it_is_reported_on_the_exposure_too_and_what_is_published_stays() -> None:
    status = judge(seen(plan=plan({"containers": "text"}), rendered=None), NOTHING)
    conditions = {condition.type: condition for condition in status.conditions}
    assert (conditions["Degraded"].status, conditions["Degraded"].reason) == (TRUE, "Refused")
    assert "spec.resolvedValues.containers" in conditions["Ready"].message
    assert status.exposures


def test_nothing_is_written_about_a_plan_that_can_be_read() -> None:
    assert observe_plan(View.__new__(View), plan(of_main()), Results()) is None


def test_a_plan_that_can_be_read_again_is_reported_so() -> None:
    before = {
        "type": "Accepted",
        "status": "False",
        "reason": "InvalidValues",
        "message": "",
        "lastTransitionTime": "t",
    }
    observed = observe_plan(View.__new__(View), plan(of_main(), before), Results())
    assert observed is not None
    status: WorkloadPlanStatus = judge_plan(observed, Answers({}, {}))
    assert [condition.status for condition in status.conditions] == [TRUE]


def test_the_plan_of_another_runtime_may_have_any_values() -> None:
    foreign = plan({"containers": "text"}, runtime_class="nomad")
    assert observe_plan(View.__new__(View), foreign, Results()) is None


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                (
                    "containers",
                    "main",
                    "image",
                    "files",
                    "target",
                    "content",
                    "secret",
                    "variables",
                    "A",
                    "key",
                    "ports",
                )
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.dictionaries(st.sampled_from(("kind", "containers", "ports", "routes", "volumes", "other")), JSON))
def test_any_json_is_rendered_or_refused(values: dict[str, Any]) -> None:
    planned = plan(values)
    found = read(planned)
    if not isinstance(found, Unfit):
        render(planned, found)
