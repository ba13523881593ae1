"""What one party does ends, stalls or shows what is another's: caught by regression tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import msgspec

from seamark.console.access import Access, Undecided, User
from seamark.console.budget import Budget
from seamark.console.disclosure import Disclosure
from seamark.families.gateway.addresses.reconcile import assign
from seamark.families.gateway.addresses.state import Assignments, Pool
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.translation.pieces import cause_of
from seamark.families.gateway.translation.policyuse import PolicyUse
from seamark.families.gateway.translation.state import AppliedPolicy, TranslationInput
from seamark.families.gateway.translation.trafficpolicies import applied
from seamark_edge import forwards
from seamark_edge.dataplane.envoy.server import _Envoy
from seamark_edge.dataplane.envoy.session import Prepared
from seamark_edge.dataplane.model import Origin
from seamark_edge.edge.limits import source_of
from seamark_edge.edge.registry import Entry, Registry
from seamark_edge.forwards import ClaimAt
from seamark_runtime.access import AccessReviews, Right
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Call, Calls, Failed
from seamark_runtime.competing import CompetingControllers, Token
from seamark_runtime.controller import Companion
from seamark_runtime.loop import Loop
from seamark_runtime.source import Source
from seamark_runtime.status import StatusMode
from seamark_runtime.upstreams import Destination, UpstreamRules, refusal
from seamark_runtime.view import View
from seamark_runtime.watch import Watch
from seamark_runtime.watchevents import Broken, Put, Removed
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("untrusted input")
UNIT = "tests/unit"


@BUGS.bug(
    "managed fields trusted",
    "a competing controller is recognised by what every editor of an object may write",
    test=f"{UNIT}/runtime/test_competing.py::test_forged_managed_fields_say_nothing",
)
def managed_fields_trusted() -> None:
    original = CompetingControllers.contested

    def contested(self: CompetingControllers, view: View, token: Token, mode: StatusMode, obj: Object) -> str:
        fields = getattr(obj.metadata, "managed_fields", None) or ()
        others = [one.manager for one in fields if one.subresource == "status"]
        return f"by {others[0]}" if others else original(self, view, token, mode, obj)

    swap(CompetingControllers.contested, contested)


@BUGS.bug(
    "a companion ends the operator",
    "what is raised beside the workers ends them",
    test=f"{UNIT}/runtime/test_isolation.py::test_a_companion_that_raises_is_started_again_and_ends_no_other_task",
)
def a_companion_ends_the_operator() -> None:
    async def accompanied(_self: Loop, companion: Companion) -> None:
        await companion.run()

    swap(Loop._accompanied, accompanied)


@BUGS.bug(
    "an access review ends for good",
    "after an undeclared exception a right is not asked for again",
    test=f"{UNIT}/runtime/test_isolation.py::test_a_right_is_asked_for_again_after_an_exception",
)
def an_access_review_ends_for_good() -> None:
    original = AccessReviews._review

    async def review(self: AccessReviews, right: Right) -> None:
        self.on_failure = _raised
        await original(self, right)

    swap(AccessReviews._review, review)


def _raised(failure: object) -> None:
    raise RuntimeError(failure)


@BUGS.bug(
    "a listener stops the others",
    "what a listener raises goes through its source",
    test=f"{UNIT}/runtime/test_isolation.py::test_a_sink_that_raises_for_an_object_delays_no_other",
)
def a_listener_stops_the_others() -> None:
    def call(_self: Source, listeners: Iterable[Callable[..., None]], *arguments: object) -> None:
        for listener in listeners:
            listener(*arguments)

    swap(Source._call, call)  # type: ignore[arg-type]  # its listeners have typed arguments


@BUGS.bug(
    "the rest of the lease in messages",
    "a call's timeout is what is left of the lease, and its message says so",
    test=f"{UNIT}/runtime/test_calls_lease.py::"
    "test_whatever_is_left_of_the_lease_every_try_at_a_dead_remote_fails_with_the_same_message",
)
def the_rest_of_the_lease_in_messages() -> None:
    original, numbers = Calls._perform, count()

    async def perform(self: Calls, kind: str, call: Call[Any]) -> Any:
        outcome = await original(self, kind, call)
        return (
            replace(outcome, message=f"{outcome.message} ({next(numbers)})") if isinstance(outcome, Failed) else outcome
        )

    swap(Calls._perform, perform)


@BUGS.bug(
    "pools that forward to pools",
    "endpoints may forward over as many others as they like, and in circles",
    test=f"{UNIT}/edge/test_forwards.py",
)
def pools_that_forward_to_pools() -> None:
    def check(_self: Registry, _entry: Entry) -> None:
        return

    swap(Registry._check_forwards, check)


@BUGS.bug(
    "a source for each address",
    "all addresses of an IPv6 network have limits of their own",
    test=f"{UNIT}/edge/test_connection_limits.py::test_a_source_is_an_ipv4_address_or_an_ipv6_network",
)
def a_source_for_each_address() -> None:
    def itself(address: str) -> str:
        return address

    swap(source_of, itself)


@BUGS.bug(
    "any Envoy is served",
    "a client certificate of one Gateway gets the keys of another",
    test=f"{UNIT}/edge/dataplane/test_identity.py::"
    "test_an_envoy_of_a_gateway_of_the_same_name_that_is_gone_is_denied_when_the_new_one_comes",
)
def any_envoy_is_served() -> None:
    def serves(_self: _Envoy, _target: Prepared) -> bool:
        return True

    swap(_Envoy.serves, serves)


@BUGS.bug(
    "upstreams of any namespace",
    "an object may name a Service of another namespace without a grant",
    test=f"{UNIT}/runtime/test_upstreams.py::test_a_grant_or_the_setting_lets_a_service_of_another_namespace_be_named",
)
def upstreams_of_any_namespace() -> None:
    def never(
        _wanted: Destination, _namespace: str, _rules: UpstreamRules, _granted: Callable[[str, str], bool]
    ) -> str:
        return ""

    swap(refusal, never)


@BUGS.bug(
    "names of what is gone",
    "the console tells every reader which objects were deleted",
    test=f"{UNIT}/operator/console/test_disclosure.py::test_no_name_leaves_that_the_person_may_not_read",
)
def names_of_what_is_gone() -> None:
    async def gone(_self: Disclosure, keys: Iterable[Key]) -> list[str]:
        return [str(key) for key in keys]

    swap(Disclosure.gone, gone)


@BUGS.bug(
    "no answer counts as no",
    "a token is invalid for a minute because the API server did not answer once",
    test=f"{UNIT}/operator/console/test_access.py::test_only_a_definite_answer_is_remembered",
)
def no_answer_counts_as_no() -> None:
    original = Access._authenticate

    async def authenticate(self: Access, token: str) -> User | None:
        try:
            return await original(self, token)
        except Undecided:
            return None

    swap(Access._authenticate, authenticate)


@BUGS.bug(
    "attempts without a limit",
    "every unknown token costs a review by the API server",
    test=f"{UNIT}/operator/console/test_access.py::test_a_source_has_a_few_attempts_with_unknown_tokens",
)
def attempts_without_a_limit() -> None:
    def take(_self: Budget, _source: str) -> None:
        return

    swap(Budget.take, take)


@BUGS.bug(
    "an unreadable object is never released",
    "an object that can't be read is in no cache, although it is being deleted and has our finalizer",
    test=f"{UNIT}/runtime/test_unreadable_objects.py::"
    "test_an_unreadable_object_that_is_deleted_while_it_has_our_finalizer_is_there_to_be_released",
)
def an_unreadable_object_is_never_released() -> None:
    original = Watch._object_event

    def event(self: Watch[Any], type_: str, raw: msgspec.Raw) -> Put[Any] | Removed[Any] | Broken:
        found = original(self, type_, raw)
        return replace(found, part=None) if isinstance(found, Broken) else found

    swap(Watch._object_event, event)


@BUGS.bug(
    "an unreadable object counts as gone",
    "what is in no cache does not exist",
    test=f"{UNIT}/operator/families/loadbalancer/test_unreadable_owners.py::test_an_object_that_can_not_be_read_exists",
)
def an_unreadable_object_counts_as_gone() -> None:
    def nothing(_self: View, _kind: type[Object]) -> dict[Key, str]:
        return {}

    swap(View.unreadable, nothing)


@BUGS.bug(
    "forwards to any namespace",
    "a policy may forward to the internal endpoints of every namespace",
    test=f"{UNIT}/edge/test_forward_owners.py::test_a_forward_to_another_namespace_is_refused_in_any_spelling",
)
def forwards_to_any_namespace() -> None:
    def nobody(_url: str, _claim_at: ClaimAt) -> Iterator[Key]:
        yield from ()

    swap(forwards._holders, nobody)


@BUGS.bug(
    "all addresses for one namespace",
    "the Gateways of one namespace get as many addresses as they ask for",
    test=f"{UNIT}/operator/families/gateway/test_addresses.py::"
    "test_a_namespace_has_a_share_and_leaves_the_rest_to_others",
)
def all_addresses_for_one_namespace() -> None:
    original = assign

    def unlimited(pool: Pool) -> Assignments:
        return original(replace(pool, share=0))

    swap(assign, unlimited)


BLAME = f"{UNIT}/operator/families/gateway/test_blame.py"


@BUGS.bug(
    "a refusal without its cause",
    "a route that was refused together with a policy is not tried again when the policy is gone",
    test=f"{BLAME}::test_a_route_that_was_refused_with_a_policy_is_tried_again_without_it",
)
def a_refusal_without_its_cause() -> None:
    def cause(_given: TranslationInput, pieces: Mapping[Origin, Any], origin: Origin) -> object:
        return pieces.get(origin)

    swap(cause_of, cause)


@BUGS.bug(
    "open by failure",
    "a policy that protects and can't be used has no effect",
    test=f"{BLAME}::test_a_policy_that_fails_its_checks_is_as_closed_as_one_that_the_data_plane_refuses",
)
def open_by_failure() -> None:
    def opened(
        levels: list[TrafficPolicyView], uses: dict[TrafficPolicyView, PolicyUse], *, unresolved: bool = False
    ) -> AppliedPolicy:
        return replace(original(levels, uses, unresolved=unresolved), unresolved=unresolved)

    original = applied
    swap(applied, opened)
