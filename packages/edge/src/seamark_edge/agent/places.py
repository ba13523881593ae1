"""The claims of a cluster's endpoints on places at the edge, as an agent sees them."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from seamark_edge import forwards
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_edge.claims import IN_USE, Claim, Endpoint, claim_of, foreign, judged_at, owner_of_host, refused
from seamark_edge.urls import BadUrl, place
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Change
from seamark_runtime.source import Facts, Fresh, Informer, Source
from seamark_runtime.view import View


class Places:
    """The first claim on each place, kept with every change of an endpoint.

    - Endpoints are judged again only where the first claim on their place changes, or where the operator refuses them.
      A change of one endpoint of a large pool costs one comparison for each of the others.
    """

    def __init__(self, *, any_binding: bool) -> None:
        self._any_binding = any_binding
        self.first: Facts[str, Claim] = Facts("first claims on places")
        self.refused: Facts[Key, bool] = Facts("endpoints that the operator refuses")  # only those that are
        self.unforwarded: Facts[Key, bool] = Facts("endpoints whose forwards the operator refuses")  # only those
        self._claims: dict[str, dict[Hashable, Claim]] = {}  # by place and object; no place is without claims

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.first, self.refused, self.unforwarded

    def changed(self, informer: Informer[Any], change: Change[Any]) -> None:
        if informer.kind is AgentEndpoint:
            self._note_refusal(change)
        before, after = self._claim(change.before), self._claim(change.after)
        if before == after:
            return
        subject = (informer.kind, change.key)
        if before is not None:
            self._claims[before[0]].pop(subject, None)
            self._settle(before[0])
        if after is not None:
            self._claims.setdefault(after[0], {})[subject] = after[1]
            self._settle(after[0])

    def _note_refusal(self, change: Change[Any]) -> None:
        for facts, is_refused in ((self.refused, refused), (self.unforwarded, forwards.refused)):
            if change.after is not None and is_refused(change.after):
                facts.put(change.key, True)
            else:
                facts.remove(change.key)

    def _claim(self, endpoint: Endpoint | None) -> tuple[str, Claim] | None:
        return None if endpoint is None else claim_of(endpoint, any_binding=self._any_binding)

    def _settle(self, where: str) -> None:
        claims = self._claims[where]
        if claims:
            self.first.put(where, min(claims.values()))
        else:
            del self._claims[where]
            self.first.remove(where)

    def refusal(self, view: View, endpoint: Endpoint) -> str:
        """Why this endpoint may not have the place that it names; "" if it may."""
        try:
            place(endpoint.spec.url)
        except BadUrl as bad:
            return f"spec.url: {bad}"
        if reason := foreign(endpoint, any_binding=self._any_binding):
            return reason
        host, wildcard = (*(self._first(view, where) for where in judged_at(endpoint)), None, None)[:2]
        first = owner_of_host(host, wildcard)
        refused = isinstance(view.fact(self.refused, endpoint.key), Fresh)
        taken = refused or first not in (None, endpoint.metadata.namespace)
        return IN_USE if taken else ""

    def forward_refusal(self, view: View, endpoint: AgentEndpoint, policy: Any, granted: forwards.Granted) -> str:
        """Why this endpoint may not have this policy; "" if it may."""
        if isinstance(view.fact(self.unforwarded, endpoint.key), Fresh):
            return "the operator has refused the forwards of its traffic policy"
        return forwards.refusal(endpoint, policy, partial(self._first, view), granted)

    def _first(self, view: View, where: str) -> Claim | None:
        match view.fact(self.first, where):
            case Fresh(value=claim):
                return claim
        return None
