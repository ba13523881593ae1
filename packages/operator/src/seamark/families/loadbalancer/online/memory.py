"""Whether the edge is polled more often: while a status waits for what agents are about to do."""

from __future__ import annotations

from seamark.families.loadbalancer.model.conditions import is_true
from seamark.families.loadbalancer.model.entries import EDGE
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.view import View


def _unsettled(endpoint: AgentEndpoint) -> tuple[Key, ...]:
    return () if all(is_true(endpoint, name) for name in SETTLED) else (EDGE,)


SETTLED = ("EndpointCreated", "TrafficPolicyApplied", "DomainReady")  # an upstream may be away for long
UNSETTLED = Index(AgentEndpoint, _unsettled, "agent endpoints that are not settled at the edge")


def agents_awaited(_before: bool | None, view: View, _key: Key, _results: Results) -> bool | None:
    """The transition function; its result depends on the AgentEndpoints alone."""
    return bool(view.by(UNSETTLED, EDGE)) or None
