"""What is made of a runtime, or of a Pod, that does not answer, answers late, or answers something else."""

from __future__ import annotations

import asyncio

import msgspec

from seamark.api.score import Exposure, Workload, WorkloadExposure, WorkloadPlan
from seamark.families.score.mirror.answer import missing
from seamark.families.score.mirror.normalise import normalised
from seamark.families.score.model.planvalues import PlanVolume
from seamark.families.score.platform.uris import fault
from seamark.families.score.registrar.reconcile import undatable
from seamark.families.score.remote import _read, _status
from seamark.families.score.rendering import render
from seamark.families.score.workloadexposure.connections import reachable
from seamark.families.score.workloadexposure.state import REACHABLE, Probe
from seamark_runtime.api.apps import PersistentVolumeClaim
from seamark_runtime.api.meta import Condition
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("wrong status")


@BUGS.bug("a frozen runtime has answered", "any status of a runtime is about the present generation", "score/0/calm/")
def a_frozen_runtime_has_answered() -> None:
    original = missing

    def answered(workload: Workload, exposure: WorkloadExposure | None) -> str:
        return "" if exposure is not None and exposure.status is not None else original(workload, exposure)

    swap(missing, answered)


@BUGS.bug("a late status is kept", "a status without a generation stays beside another generation", "score/0/calm/")
def a_late_status_is_kept() -> None:
    swap(undatable, lambda seen, exposure: False)


@BUGS.bug("any text is a place", "what a runtime publishes is mirrored unread", "score/0/calm/")
def any_text_is_a_place() -> None:
    swap(fault, lambda uri: "")


@BUGS.bug("not ready is ready", "an entry with `ready: false` is read as one that is ready", "score/0/calm/")
def not_ready_is_ready() -> None:
    original = normalised

    def blind(conditions: tuple[Condition, ...], top: Exposure | None) -> Condition:
        return original(conditions, top and msgspec.structs.replace(top, ready=None))

    swap(normalised, blind)


@BUGS.bug(
    "a kept volume with an owner",
    "a volume that its policy keeps is owned by the plan, so Kubernetes deletes it with the Workload",
    test="tests/unit/operator/families/score/test_render.py::test_a_volume_that_is_to_outlive_its_plan_has_no_owner",
)
def a_kept_volume_with_an_owner() -> None:
    original = render.claim

    def claim(plan: WorkloadPlan, volume: PlanVolume) -> PersistentVolumeClaim:
        owned = msgspec.structs.replace(volume, deprovision_policy="Delete")
        return original(plan, owned)

    swap(render.claim, claim, only=render)


@BUGS.bug("no connection is needed", "a port counts as listening without a connection", "score-runtime/0/calm/")
def no_connection_is_needed() -> None:
    swap(reachable, lambda seen, exposures: REACHABLE.true("Accepted", "Pods accept connections"))


ATTEMPTS = "tests/unit/operator/families/score/test_attempts.py::"
ANOTHER = f"{ATTEMPTS}test_what_is_no_http_is_no_answer_of_a_port_that_speaks_http"
ENDED = f"{ATTEMPTS}test_a_connection_that_is_closed_without_a_byte_is_no_answer"


@BUGS.bug("any byte is an answer", "whatever comes from a port of HTTP counts as a response", test=ANOTHER)
def any_byte_is_an_answer() -> None:
    async def sent(_action: Probe, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        writer.write(b"HEAD / HTTP/1.1\r\n\r\n")
        return 200 if await reader.read(1) else 0

    swap(_status, sent)


@BUGS.bug("an end is an answer", "a connection that is closed at once counts as accepted", test=ENDED)
def an_end_is_an_answer() -> None:
    async def read(reader: asyncio.StreamReader, most: int) -> bytes:
        return await reader.read(most) or b"HTTP/1.1 200 OK\r\n"

    swap(_read, read)
