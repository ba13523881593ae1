"""The wiring of Services."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.edge import Work
from seamark.families.loadbalancer.endpoints import named_policy
from seamark.families.loadbalancer.names import FINALIZER, MADE_FROM
from seamark.families.loadbalancer.service.holders import Holders
from seamark.families.loadbalancer.service.notices import announce
from seamark.families.loadbalancer.service.reconcile import ANNOTATIONS, desire
from seamark.families.loadbalancer.service.state import CONDITIONS, Options, Seen
from seamark.families.loadbalancer.service.status import judge
from seamark.families.loadbalancer.service.wish import Wish, claims, held, wish
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
from seamark_runtime.ownership import ByReference, within
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


class Wiring:
    """What the keys of Services read."""

    def __init__(self, work: Work, options: Options) -> None:
        self._work = work
        self._options = options
        self._claims = Index(Service, self._places, "services by the places that they claim")
        self._agents = Index(AgentEndpoint, _owners, "agent endpoints of a service")
        self._clouds = Index(CloudEndpoint, _owners, "cloud endpoints of a service")
        self._holders = Holders()

    def ours(self, service: Service) -> bool:
        spec = service.spec
        return spec is not None and spec.type == "LoadBalancer" and spec.load_balancer_class == self._options.lb_class

    def _places(self, service: Service) -> Iterable[str]:
        return claims(service) if self.ours(service) else ()

    def observe(self, view: View, service: Service, results: Results) -> Seen | None:
        ours = self.ours(service)
        token = within(service, service.uid)
        agents, clouds = view.by(self._agents, token), view.by(self._clouds, token)
        if not ours and not touched(service) and not any(map(made_by_us, (*agents, *clouds))):
            return None
        drained = bool(self._options.drain)
        if drained and FINALIZER not in (service.metadata.finalizers or ()):
            return None
        wanted = wish(service) if ours and not service.deleting and not drained else None
        self._holders.keep(service.uid, () if wanted is None else claims(service))
        seen = Seen(
            service,
            wanted,
            results,
            agents=agents,
            clouds=clouds,
            options=self._options,
            timing=self._work.timing,
        )
        return self._with(view, seen, wanted) if isinstance(wanted, Wish) else seen

    def _with(self, view: View, seen: Seen, wanted: Wish) -> Seen:
        namespace = seen.service.metadata.namespace
        return Seen(
            seen.service,
            wanted,
            seen.results,
            agents=seen.agents,
            clouds=seen.clouds,
            policy=named_policy(view, namespace, wanted.policy, self._work.policy_refusal) if wanted.policy else None,
            rival=self._rival(view, seen.service, wanted),
            domain=domain_of(view, seen) if wanted.place.scheme == "tls" else None,
            options=seen.options,
            timing=seen.timing,
        )

    def _rival(self, view: View, service: Service, wanted: Wish) -> Service | None:
        """The Service that has the place of this one. The first keeps it; pooling ones share it."""
        if not wanted.place.fixed:
            return None
        key = wanted.place.key
        others = [one for one in view.by(self._claims, key) if one.uid != service.uid]
        if wanted.pooling:
            others = [one for one in others if not _pools(one)]
        first = self._holders.first(key, (*others, service), lambda one: _rank(one, key))
        return next((one for one in others if one.uid == first), None)

    def controller(self) -> Controller[Seen]:
        return Controller(
            name="services",
            kind=Service,
            reads=(NgrokTrafficPolicy, Domain),
            indexes=(self._claims, self._agents, self._clouds),
            children=(AgentEndpoint, CloudEndpoint),
            observe=self.observe,
            desire=desire,
            judge=judge,
            announce=announce,
            status=ByManager(
                manager="seamark-loadbalancer",
                conditions=CONDITIONS,
                fields=("load_balancer",),
                fence=f"object.spec.?loadBalancerClass.orValue('') == '{self._options.lb_class}'",
            ),
            finalizer=FINALIZER,
            annotations=ANNOTATIONS,
            perform=self._work.perform,
            shelf_life=self._work.timing.shelf_life,
            linger=self._work.timing.linger,
        )


def touched(service: Service) -> bool:
    """Whether anything of ours is on it."""
    types = {condition.name for condition in CONDITIONS}
    said = service.status is not None and any(one.type in types for one in service.status.conditions or ())
    return said or FINALIZER in (service.metadata.finalizers or ()) or any(map(service.annotation, ANNOTATIONS))


def made_by_us(child: Object) -> bool:
    return bool(child.annotation(MADE_FROM))


def domain_of(view: View, seen: Seen) -> Domain | None:
    """The Domain that the endpoint's own status refers to; the one that the edge keeps comes first."""
    for child in seen.endpoints:
        status = child.status
        if status is None or status.domain_ref is None or status.observed_generation != child.metadata.generation:
            continue
        found = view.get(Domain, Key(child.metadata.namespace, status.domain_ref.name))
        if found is not None:
            return found
    return None


def _owners(child: Object) -> Iterable[Hashable]:
    return ByReference().owners(child)


def _pools(service: Service) -> bool:
    other = wish(service)
    return isinstance(other, Wish) and other.pooling


def _rank(service: Service, key: str) -> tuple[bool, str, str]:
    return key not in held(service), service.metadata.creation_timestamp or "", service.uid
