"""What a status holds: false conditions, needless writes and secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from seamark.api.sample import ConfigMapRef, GreetingStatus
from seamark.families.sample.greeting.reconcile import judge, posted_as
from seamark.families.sample.greeting.state import POSTED, Seen
from seamark_edge.agent.cluster import ClusterEndpoints
from seamark_edge.agent.model import Holder
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_runtime import conditions, log
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.clock import timestamp
from seamark_runtime.conditions import FALSE, NEVER, Stamp, worst
from seamark_runtime.controller import Controller
from seamark_runtime.events import Notice
from seamark_runtime.redaction import redact
from seamark_runtime.statuswriter import StatusWriter, WriteResult
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("wrong status")
Stamped = Mapping[str, Condition]


@BUGS.bug("transition time always now", "every write of a status moves all transition times")
def transition_time_always_now() -> None:
    original = Stamp._stamped

    def stamped(self: Stamp, judged: Condition, before: Condition | None, stamped: Stamped) -> Condition:
        condition = original(self, judged, before, stamped)
        return condition if condition is before else msgspec.structs.replace(condition, last_transition_time=self.time)

    swap(Stamp._stamped, stamped)


@BUGS.bug("transition time never", "a flip keeps the time of the previous status")
def transition_time_never() -> None:
    original = Stamp._stamped

    def stamped(self: Stamp, judged: Condition, before: Condition | None, stamped: Stamped) -> Condition:
        condition = original(self, judged, before, stamped)
        if before is None or before.last_transition_time in ("", NEVER):
            return condition
        return msgspec.structs.replace(condition, last_transition_time=before.last_transition_time)

    swap(Stamp._stamped, stamped)


@BUGS.bug("no observed generation", "conditions lack the generation that they are about")
def no_observed_generation() -> None:
    original = Stamp._stamped

    def stamped(self: Stamp, judged: Condition, before: Condition | None, stamped: Stamped) -> Condition:
        condition = original(self, judged, before, stamped)
        return condition if condition is before else msgspec.structs.replace(condition, observed_generation=None)

    swap(Stamp._stamped, stamped)


@BUGS.bug("generation ahead", "the status names a generation that does not exist yet")
def generation_ahead() -> None:
    original = Stamp.on

    def on(self: Stamp, judged: Iterable[Condition], before: Iterable[Condition]) -> tuple[Condition, ...]:
        ahead = Stamp((self.generation or 0) + 1, self.time, self.awaiting_stands, self.kept)
        return original(ahead, judged, before)

    swap(Stamp.on, on)


@BUGS.bug("written again at each reconcile", "the status is written whether it differs or not")
def written_again_at_each_reconcile() -> None:
    original = StatusWriter.write

    async def write(
        self: StatusWriter, controller: Controller[Any], obj: Any, judged: Any, answers_due: float | None
    ) -> WriteResult:
        result = await original(self, controller, obj, judged, answers_due)
        if result.written is not None or answers_due is not None:
            return result
        mode = controller.status
        published = mode.published(obj, judged)
        stamp = Stamp(obj.metadata.generation or None, timestamp(self.clock.wall()))
        return WriteResult(await mode.write(self.client, obj, mode.stamped(judged, published, stamp)))

    swap(StatusWriter.write, write)


@BUGS.bug("event at each reconcile", "every reconcile is reported by an event")
def event_at_each_reconcile() -> None:
    original = StatusWriter.write

    async def write(
        self: StatusWriter, controller: Controller[Any], obj: Any, judged: Any, answers_due: float | None
    ) -> WriteResult:
        self.events.notice(obj, Notice("Reconciled", f"at {self.clock.monotonic()}", warning=False))
        return await original(self, controller, obj, judged, answers_due)

    swap(StatusWriter.write, write)


@BUGS.bug("unknown counts as good", "the summary is True while a part of it is Unknown", "unverified/0/calm/")
def unknown_counts_as_good() -> None:
    def worst_known(parts: Iterable[Condition]) -> Condition | None:
        return worst(part for part in parts if part.status == FALSE)

    swap(worst, worst_known)


@BUGS.bug(
    "no answer is good news",
    "a board that has not answered yet counts as showing the text",
    "sample/0/calm/4:OUTSIDE_HANGS",
)
def no_answer_is_good_news() -> None:
    def posted(seen: Seen) -> Condition:
        condition = posted_as(seen)
        return POSTED.true("Posted", "The board shows the text") if condition.reason == "Posting" else condition

    swap(posted_as, posted)


@BUGS.bug("failure is good news", "a failing board is not reported", "sample/0/calm/4:OUTSIDE_REFUSES")
def failure_is_good_news() -> None:
    def posted(seen: Seen) -> Condition:
        condition = posted_as(seen)
        return POSTED.true("Posted", condition.message) if condition.reason == "BoardFailed" else condition

    swap(posted_as, posted)


@BUGS.bug("reference to a foreign object", "the status points to a ConfigMap that is not ours")
def reference_to_a_foreign_object() -> None:
    def judged(seen: Seen, answers: Answers) -> GreetingStatus:
        ref = ConfigMapRef(name=seen.greeting.metadata.name)
        return msgspec.structs.replace(judge(seen, answers), config_map_ref=ref)

    swap(judge, judged)


@BUGS.bug("secret in the status", "the message of a refusal is written as it came", "sample/0/calm/1:SECRET")
def secret_in_the_status() -> None:
    swap(redact, _unredacted, only=conditions)


@BUGS.bug("secret in the log", "the message of a refusal is logged as it came", "sample/0/calm/3:SECRET")
def secret_in_the_log() -> None:
    swap(redact, _unredacted, only=log)


@BUGS.bug(
    "message without a limit",
    "the message of a refusal is written in full, however long it is",
    "sample/0/calm/1:SECRET",
)
def message_without_a_limit() -> None:
    def unlimited(text: str, _longest: int | None = None) -> str:
        return redact(text)

    swap(redact, unlimited, only=conditions)


def _unredacted(text: str, _longest: int | None = None) -> str:
    return text


@BUGS.bug(
    "an agent reports no problem",
    "why agents can't hold an endpoint is in their log only",
    test="tests/unit/operator/providers/edge/test_cluster.py::test_a_secret_is_read_by_name_and_its_change_is_taken_up",
)
def an_agent_reports_no_problem() -> None:
    def kept(self: ClusterEndpoints, _holder: Holder, endpoint: AgentEndpoint, reason: str) -> None:
        self.problems[endpoint.key] = reason

    swap(ClusterEndpoints._problem, kept)
