"""Which of several Services has the place that all of them name: the memory of the controller of Services."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from seamark.families.loadbalancer.model.endpoints import named_policy
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.service.exposure import Exposure, Mistake, claims, exposure_of, held
from seamark_edge.model import PolicyRefusal, nothing_known
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.view import View


class Holder(NamedTuple):
    key: Key
    uid: str


class Holders:
    """The first Service that was seen to have a place keeps it, for as long as it claims it.

    - Annotations of a Service can be forged by its editors; what was observed can't. After a restart, before any
      observation, the order of `rank` decides.
    - The policy that a Service names is checked here, before `observe` reads the result.
    - Invariant: a place is in `_places` of a key if and only if that key is its holder.
    """

    def __init__(self, options: Options, policy_check: PolicyRefusal = nothing_known) -> None:
        self._options = options
        self._check_policy = policy_check
        self._holders: dict[str, Holder] = {}  # by place
        self._places: dict[Key, set[str]] = {}  # by the holder's key
        self.claims = Index(Service, self._claimed, "services by the places that they claim")

    def __len__(self) -> int:
        return len(self._holders)

    # ---- read by `observe`

    def exposure(self, service: Service, served: int | None = None) -> Exposure | Mistake | None:
        """How it is to be exposed; None if it is not to be, or not any more. `served`: see `exposure_of`."""
        wanted = is_ours(service, self._options) and not service.deleting and not self._options.drain
        return exposure_of(service, served) if wanted else None

    def holder(self, view: View, service: Service, exposure: Exposure) -> Service | None:
        """Another Service that has the place of this one; pooling ones share it."""
        if not exposure.place.fixed:
            return None
        holder = self._holders.get(exposure.place.key)
        others = self._others(view, service, exposure)
        return next((other for other in others if holder is not None and other.uid == holder.uid), None)

    # ---- the transition

    def advance(self, view: View, service: Service, _results: Results) -> None:
        exposure = self.exposure(service)
        self.keep(service, () if exposure is None else claims(service))
        if isinstance(exposure, Exposure) and exposure.policy:
            named_policy(view, service.metadata.namespace, exposure.policy, self._check_policy)
        if isinstance(exposure, Exposure) and exposure.place.fixed:
            self.settle(exposure.place.key, (*self._others(view, service, exposure), service))

    def forget(self, key: Key) -> None:
        for place in tuple(self._places.get(key, ())):
            self._drop(place)

    def keep(self, service: Service, claimed: Collection[str]) -> None:
        """A Service claims these places, and no others any more."""
        for place in self._places.get(service.key, set()).difference(claimed):
            self._drop(place)

    def settle(self, place: str, claimants: Iterable[Service]) -> str:
        """The uid of the holder, which is one of these."""
        by_uid = {service.uid: service for service in claimants}
        holder = self._holders.get(place)
        if holder is not None and holder.uid in by_uid:
            return holder.uid
        self._drop(place)
        first = min(by_uid.values(), key=lambda service: rank(service, place))
        self._holders[place] = Holder(first.key, first.uid)
        self._places.setdefault(first.key, set()).add(place)
        return first.uid

    def _drop(self, place: str) -> None:
        holder = self._holders.pop(place, None)
        if holder is None:
            return
        places = self._places[holder.key]
        places.remove(place)
        if not places:
            del self._places[holder.key]

    # ---- claims

    def _claimed(self, service: Service) -> Iterable[str]:
        return claims(service) if is_ours(service, self._options) else ()

    def _others(self, view: View, service: Service, exposure: Exposure) -> list[Service]:
        """Those that claim the same place, and do not share it with this one."""
        others = [other for other in view.by(self.claims, exposure.place.key) if other.uid != service.uid]
        return [other for other in others if not pools(other)] if exposure.pooling else others


def is_ours(service: Service, options: Options) -> bool:
    spec = service.spec
    return spec is not None and spec.type == "LoadBalancer" and spec.load_balancer_class == options.lb_class


def pools(service: Service) -> bool:
    exposure = exposure_of(service)
    return isinstance(exposure, Exposure) and exposure.pooling


def rank(service: Service, place: str) -> tuple[bool, str, str]:
    """Of several claimants, the least: the one whose annotations have the place, then the oldest."""
    return place not in held(service), service.metadata.creation_timestamp or "", service.uid
