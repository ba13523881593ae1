"""What one tenant's object does to all others: Acto's crashes on input, and names that lead elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from seamark_runtime.api import meta
from seamark_runtime.client import OBJECT
from seamark_runtime.controller import Controller
from seamark_runtime.reconciler import Reconciler
from seamark_runtime.request import Request
from seamark_runtime.untrusted.decoding import Malformed
from seamark_runtime.untrusted.names import ApiPath, NameRule, api_path, check_name
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Broken, Event, Put, Removed
from tests.simulation.bugs.bug import Bugs, swap, swap_value

BUGS = Bugs("untrusted input")
FIRST = "untrusted/0/calm/"


@BUGS.bug("names unchecked in paths", "a name that an object mentions becomes part of a path as it is", FIRST)
def names_unchecked_in_paths() -> None:
    def joined(root: ApiPath, *segments: str) -> ApiPath:
        return ApiPath("/".join((root, *segments)))

    def unchecked(name: str, _rule: NameRule) -> str:
        return name

    swap(api_path, joined, only=meta)
    swap(check_name, unchecked, only=meta)


@BUGS.bug(
    "one unreadable object interrupts its kind",
    "an object beyond the limits ends the watch, which begins again and finds it again",
    FIRST,
)
def one_unreadable_object_interrupts_its_kind() -> None:
    original = Watch._object_event

    def event(self: Watch[Any], type_: str, raw: msgspec.Raw) -> Put[Any] | Removed[Any] | Broken:
        found = original(self, type_, raw)
        if isinstance(found, Broken):
            raise Malformed(found.message)
        return found

    swap(Watch._object_event, event)


@BUGS.bug("decoding without a limit of depth", "an object nested however deep is handed on", FIRST)
def decoding_without_a_limit_of_depth() -> None:
    swap_value(OBJECT, replace(OBJECT, depth=900))


class Ended(BaseException):
    """No handler of errors keeps it from ending its task."""


@BUGS.bug("an index function ends the operator", "what a sink raises ends the task of the watch", FIRST)
def an_index_function_ends_the_operator() -> None:
    def deliver(self: Watch[Any], event: Event, sink: Callable[[Event], None]) -> None:
        try:
            sink(event)
        except Exception as error:
            raise Ended from error

    swap(Watch._deliver, deliver)


@BUGS.bug("reads of a failed reconcile kept", "what a failed reconcile has read is followed without end", FIRST)
def reads_of_a_failed_reconcile_kept() -> None:
    async def reconcile(self: Reconciler, request: Request) -> None:
        controller = self._router.controllers[request.controller]
        view = self._view()
        if isinstance(controller, Controller):
            await self._object(request, controller, view)
        else:
            await self._collection(request, controller, view)

    swap(Reconciler.reconcile, reconcile)
