"""What keeps a gateway or a route True when its data plane freezes, answers late, or answers something else."""

from __future__ import annotations

from seamark.families.gateway.backends import reconcile as backends
from seamark.families.gateway.backends.state import Endpoint, Seen
from seamark.families.gateway.model.results import ProgrammedResult, RefusedObjects
from seamark.families.gateway.model.routes import Backend, BackendHealth
from seamark.families.gateway.translation import reconcile as translation
from seamark.families.gateway.translation.isolation import Attempt
from seamark.families.gateway.translation.state import Programmed, Translation, TranslationState
from seamark_edge.dataplane.model import Origin
from seamark_edge.dataplane.protocol import Outcome, Superseded
from seamark_runtime.calls import Failed
from seamark_runtime.conditions import TRUE
from tests.simulation.bugs.bug import Bugs, swap

CALM = "gateway/0/calm/"  # its acts include a data plane that freezes, is late, and answers something else
BUGS = Bugs("wrong status")


@BUGS.bug("a frozen data plane serves", "no response leaves a gateway programmed, as long as it is connected", CALM)
def a_frozen_data_plane_serves() -> None:
    original = translation.programmed

    def programmed(
        state: TranslationState, now: Translation, response: translation.Response, refused: RefusedObjects
    ) -> tuple[ProgrammedResult, dict[Origin, str]]:
        if isinstance(response, Failed):
            return translation.served({}), {}
        result, objects = original(state, now, response, refused)
        return result, dict(objects)

    swap(original, programmed)


@BUGS.bug("any response of a data plane", "a response about another snapshot counts for this one", CALM)
def any_response_of_a_data_plane() -> None:
    original = Attempt._end

    def end(self: Attempt, outcome: Outcome) -> Programmed:
        return Programmed(1) if isinstance(outcome, Superseded) else original(self, outcome)

    swap(Attempt._end, end)


@BUGS.bug("a silent backend is ready", "only a refused connection counts against the endpoints of a backend", CALM)
def a_silent_backend_is_ready() -> None:
    original = backends.unreached

    def unreached(seen: Seen, backend: Backend, endpoints: tuple[Endpoint, ...], failed: list[Failed]) -> BackendHealth:
        health = original(seen, backend, endpoints, failed)
        return BackendHealth(TRUE, "BackendsReady") if health.reason == "EndpointsSilent" else health

    swap(original, unreached)
