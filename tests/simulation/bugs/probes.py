"""What counts as evidence that the far upstream of a binding accepts connections."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from seamark.families.bindings import remote
from seamark.families.bindings.model.targets import Target
from seamark.families.bindings.poll.reconcile import gone_of
from seamark.families.bindings.poll.state import Assignment, Gone, Targets
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.wire.bindings import ACCEPTED, ConnResponse
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("wrong status")
TESTS = "tests/unit/operator/families/bindings"


@BUGS.bug(
    "silence is a success",
    "a probe without a response in 250 ms counts: a frozen edge, a late upstream",
    test=f"{TESTS}/test_probes.py::test_silence_is_no_success",
)
def silence_is_a_success() -> None:
    original = remote._answer

    async def answer(reader: asyncio.StreamReader) -> ConnResponse:
        try:
            async with asyncio.timeout(0.25):
                return await original(reader)
        except TimeoutError:
            return ConnResponse(upstream=ACCEPTED)

    swap(remote._answer, answer)


@BUGS.bug(
    "any response is a success",
    "what another program answers on that address counts",
    test=f"{TESTS}/test_probes.py::test_what_is_no_confirmation_is_a_failure",
)
def any_response_is_a_success() -> None:
    original = remote._answer

    async def answer(reader: asyncio.StreamReader) -> ConnResponse:
        try:
            return await original(reader)
        except remote.ProbeFailed:
            return ConnResponse(upstream=ACCEPTED)

    swap(remote._answer, answer)


@BUGS.bug(
    "a taken connection is a success",
    "an edge that took the connection and reports nothing of the upstream counts",
    test=f"{TESTS}/test_probes.py::test_an_edge_that_does_not_report_on_the_upstream_confirms_nothing",
)
def a_taken_connection_is_a_success() -> None:
    original = remote.connect

    async def connect(address: str, port: int) -> None:
        try:
            await original(address, port)
        except remote.NotConfirmed:
            return

    swap(remote.connect, connect)


@BUGS.bug(
    "an outage ends the grace period",
    "an object is deleted although the edge has not answered since the period was over",
    test=f"{TESTS}/test_gone.py::test_the_period_ends_with_a_list_that_was_requested_when_it_was_over",
)
def an_outage_ends_the_grace_period() -> None:
    original = gone_of

    def gone(
        before: Assignment | None, targets: Targets, projected: Iterable[BoundEndpoint], now: Gone, grace: float
    ) -> Mapping[Target, Gone]:
        found = original(before, targets, projected, now, grace)
        return {} if before is not None and before.gone else found

    swap(gone_of, gone)
