"""What one tenant can do, and what is not reported."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Applier, Pruned
from seamark_runtime.competing import PAUSE, CompetingControllers, Token
from seamark_runtime.errors import Refused
from seamark_runtime.ownership import Children
from seamark_runtime.request import Request
from seamark_runtime.status import StatusMode
from seamark_runtime.view import View
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("untrusted input")
FIRST = "tenants/0/calm/"


@BUGS.bug(
    "a child by its labels alone",
    "what names an owner in its labels is a child, in whatever namespace: a tenant can forge children of others",
    FIRST,
)
def a_child_by_its_labels_alone() -> None:
    def index(self: Children) -> Callable[[Object], Iterable[Hashable]]:
        return lambda child: [("", owner) for owner in self.ownership.owners(child)]

    def token(self: Children, owner: Object, _kind: type[Object]) -> Hashable:
        return ("", self.ownership.token(owner))

    swap(Children.index, index)
    swap(Children.token, token)


@BUGS.bug(
    "one object stops its family",
    "while one object is overwritten by another controller, no object of its kind is reconciled",
    FIRST,
)
def one_object_stops_its_family() -> None:
    original = CompetingControllers.contested

    def contested(self: CompetingControllers, view: View, token: Token, mode: StatusMode, obj: Object) -> str:
        everything = (token[0], Key("", ""))
        if where := original(self, view, token, mode, obj):
            self.facts.put(everything, where, view.now + PAUSE)
        return self.left_alone(view, everything)

    swap(CompetingControllers.contested, contested)


@BUGS.bug("writes again without end", "a status that another controller overwrites is written again each time", FIRST)
def writes_again_without_end() -> None:
    def contested(_self: CompetingControllers, _view: View, _token: Token, _mode: StatusMode, _obj: Object) -> str:
        return ""

    swap(CompetingControllers.contested, contested)


@BUGS.bug(
    "refused delete ends the reconcile",
    "a refused delete raises before the status is judged, and nothing is reported",
    FIRST,
)
def refused_delete_ends_the_reconcile() -> None:
    original = Applier.prune

    async def prune(
        self: Applier,
        request: Request,
        existing: Iterable[Object],
        wanted: Iterable[Object],
        *,
        lasting: bool,
        finalizer: str = "",
    ) -> Pruned:
        pruned = await original(self, request, existing, wanted, lasting=lasting, finalizer=finalizer)
        if pruned.refusals and pruned.trouble is None:
            raise Refused(pruned.refusals[0].message)
        return pruned

    swap(Applier.prune, prune)
