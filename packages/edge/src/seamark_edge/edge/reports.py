"""What is known of the upstream of one endpoint: who agents reach when they dial it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from seamark_runtime.clock import timestamp
from seamark_runtime.redaction import redact

MOST_DETAIL = 256  # characters
ENDED = "the agent ended the connection without an answer"
HTTP_ERROR = b"HTTP/1.1 5"  # agents answer with a page of their own where the upstream of an http endpoint is down


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the last dial of an upstream.

    - `since` moves when `reachable` changes, `checked` with every result.
    - `silent`: the agent itself did not answer, so nothing is known of what is behind it.
    """

    reachable: bool
    detail: str
    since: str
    checked: str
    silent: bool = False
    at: float = 0.0  # of the result, by the monotonic clock


def following(before: Report | None, reachable: bool, detail: str = "", *, silent: bool = False) -> Report:
    """The report after one more result. The detail comes from an agent: it is shortened and escaped."""
    now = timestamp(datetime.now(UTC))
    since = before.since if before is not None and before.reachable == reachable else now
    text = " ".join(redact(detail[: 4 * MOST_DETAIL], MOST_DETAIL).split())
    return Report(reachable, "" if reachable else text, since, now, silent, time.monotonic())


def combined(reports: Sequence[Report]) -> Report | None:
    """Of the agents that share the connections of one endpoint.

    A client is brought to another agent where one is refused, so one that reaches its upstream is enough; but an agent
    that does not answer keeps the connections that it is given.
    """
    if not reports:
        return None
    checked = min(report.checked for report in reports)
    silent = [report for report in reports if report.silent]
    if silent:
        detail = silent[0].detail
        if len(reports) > 1:
            detail = f"not every agent answers: {detail}"
        return replace(silent[0], detail=detail, since=min(report.since for report in silent), checked=checked)
    reached = [report for report in reports if report.reachable]
    if reached:
        latest, since = max(reached, key=lambda report: report.at), min(report.since for report in reached)
        return replace(latest, since=since)
    return replace(max(reports, key=lambda report: report.since), checked=checked)
