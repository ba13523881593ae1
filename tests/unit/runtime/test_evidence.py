"""What users see of a call: whether it was answered, how long ago, and for how long that is good."""

from __future__ import annotations

import pytest

from seamark_runtime.calls import CallRecord, Failed
from seamark_runtime.evidence import describe


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (CallRecord("zone", 16.0), "asked 16 s ago, not answered yet"),
        (CallRecord("zone", 16.0, None, 4.0), "answered 4 s ago"),  # an answer of which nothing but its coming counts
        (CallRecord("edge", 16.0, "up", 4.0, 6.0), "answered 4 s ago, good for 6 s more"),
        (CallRecord("edge", 16.0, "up", 4.0, -1.0), "answered 4 s ago, which is too old to be relied on"),
        (CallRecord("edge", 16.0, Failed("refused"), 4.0), "failed 4 s ago: refused"),
        (
            CallRecord("edge", 16.0, "up", 8.0, 7.0, pending=3.0),
            "answered 8 s ago; asked again 3 s ago, not answered since",
        ),
        (CallRecord("edge", 16.0, "up", 5.0, 10.0, pending=0.1), "answered 5 s ago, good for 10 s more"),
    ],
)
def test_a_call_in_words(told: CallRecord, said: str) -> None:
    assert describe(told) == said


def test_of_work_for_many_the_words_are_not_told() -> None:
    assert (
        describe(CallRecord("zone", 16.0, Failed("another user's name is refused"), 4.0), own=False) == "failed 4 s ago"
    )
