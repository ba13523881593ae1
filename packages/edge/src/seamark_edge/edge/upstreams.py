"""Whether the upstreams of endpoints accept connections: reported by agents, and checked on demand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any

from seamark_edge.edge.registry import MAX_HOPS, Agent, Entry, Group, Registry
from seamark_edge.edge.reports import Report, combined, following
from seamark_edge.wire import tunnel
from seamark_edge.wire.bindings import ACCEPTED, NOT_ACCEPTED, NOT_CONFIRMED
from seamark_edge.wire.muxado import SessionClosed
from seamark_runtime.errors import SeamarkError

CHECK_SECONDS = 4.0  # for an agent to answer; its own limit for a dial is shorter
FIELDS = ("reachable", "detail", "since", "checked", "agents")
UNREPORTED = "no agent reports on the upstream of this endpoint, and no connection to it was answered yet"
FRESH = 15.0  # seconds for which what the edge saw of an agent without reports counts for a probe
MOST_AGENTS = 32  # behind one endpoint, that are asked


class Upstreams:
    """The reports about endpoints.

    - A report comes from the agent that dialled the upstream. Of an agent that sends none the edge has what it saw:
      that a connection was answered, or ended without an answer; before the first one there is no report.
    - `check` has the agents behind an endpoint dial now. One check of an endpoint is in flight at a time: those who
      ask meanwhile get its result.
    - An agent can make no report about an endpoint of another session. What it sends is shortened and escaped.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._checks: dict[str, asyncio.Task[None]] = {}  # by the endpoint's id, while it is under way

    def reported(self, agent: Agent, message: tunnel.UpstreamReport) -> bool:
        """False if this session has no such endpoint."""
        entry = self._registry.of_bind(agent, message.id)
        if entry is not None:
            entry.report = following(entry.report, message.reachable, message.detail)
        return entry is not None

    def view(self, entry: Entry) -> dict[str, Any] | None:
        """The report as API clients see it; None where nothing is known yet."""
        behind = self._behind(entry)
        report = _report_of(behind)
        return None if report is None else _shown(report, len(behind))

    async def check(self, entry: Entry) -> dict[str, Any]:
        """The report after the agents have dialled. Where there is none still, `reachable` is None."""
        behind = self._behind(entry)
        await asyncio.gather(*(self._checked(found) for found in behind))
        return self.view(entry) or {**dict.fromkeys(FIELDS), "detail": UNREPORTED, "agents": len(behind)}

    async def confirm(self, entry: Entry) -> tuple[str, str]:
        """For a probe of a cluster: the state of the upstream now, and why it is not accepted.

        The address of the upstream is not in it: the response may be read by any Pod of that cluster.
        """
        behind = self._behind(entry)
        await asyncio.gather(*(self._checked(found) for found in behind))
        report = _report_of(behind)
        if report is None or time.monotonic() - report.at > FRESH:
            return NOT_CONFIRMED, "the agent does not report whether its upstream accepts connections"
        if report.reachable:
            return ACCEPTED, ""
        return NOT_ACCEPTED, report.detail.rpartition(": ")[2]

    def close(self) -> None:
        for task in self._checks.values():
            task.cancel()

    async def _checked(self, entry: Entry) -> None:
        if entry.agent is None or not entry.agent.reports:
            return
        task = self._checks.get(entry.id)
        if task is None:
            task = self._checks[entry.id] = asyncio.get_running_loop().create_task(self._ask(entry.agent, entry))
            task.add_done_callback(lambda _: self._checks.pop(entry.id, None))
        await asyncio.shield(task)

    async def _ask(self, agent: Agent, entry: Entry) -> None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                found = await agent.check(entry)
        except TimeoutError:
            detail = f"the agent did not answer within {CHECK_SECONDS:g} s"
            entry.report = following(entry.report, False, detail, silent=True)
        except (SessionClosed, OSError):
            entry.report = following(entry.report, False, "the connection to the agent is lost", silent=True)
        except SeamarkError as error:
            entry.report = following(entry.report, False, f"the agent did not check it: {error.message}", silent=True)
        else:
            entry.report = following(entry.report, found.reachable, found.detail)

    def _behind(self, entry: Entry) -> list[Entry]:
        """The endpoints of agents that serve connections to this one. Forwards are followed, each place once."""
        found = self._of(entry)
        places = [key for member in found for key in member.forwards]
        if not places:
            return [member for member in found if member.agent is not None and not member.opening]
        agents, seen = [member for member in found if member.agent is not None and not member.forwards], {entry.place}
        for _ in range(MAX_HOPS):
            groups = [group for key in places if key not in seen and (group := self._registry.find(key)) is not None]
            seen.update(places)
            agents += [member for group in groups for member in _serving(group) if member not in agents]
            places = [key for group in groups for key in group.forwards if key not in seen][:MOST_AGENTS]
            if not places or len(agents) >= MOST_AGENTS:
                break
        return agents[:MOST_AGENTS]

    def _of(self, entry: Entry) -> list[Entry]:
        """The endpoint itself, and those that share its place."""
        group = self._registry.find(entry.place) if entry.pooling else None
        return list(islice(group.entries, MOST_AGENTS)) if group is not None else [entry]


def _report_of(behind: Iterable[Entry]) -> Report | None:
    return combined([found.report for found in behind if found.report is not None])


def _serving(group: Group) -> Iterable[Entry]:
    members = islice(group.entries, MOST_AGENTS)
    return (member for member in members if member.agent is not None and not member.opening)


def _shown(report: Report, agents: int) -> dict[str, Any]:
    return {
        "reachable": report.reachable,
        "detail": report.detail,
        "since": report.since,
        "checked": report.checked,
        "agents": agents,
    }
