"""The wiring of the bindings family: KubernetesOperator → list → BoundEndpoints → Services → probes → status."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from seamark.families.bindings import groups, installation, polling
from seamark.families.bindings.certificates import Certificates, EcCertificates, Held, Validity, held
from seamark.families.bindings.edgework import EdgeWork
from seamark.families.bindings.installation import SeenInstallation
from seamark.families.bindings.ownership import OfProjection, OfTarget, OfUpstream
from seamark.families.bindings.polling import (
    Grouped,
    Listing,
    Plan,
    Polled,
    Projection,
    SeenPoll,
    SeenProjection,
    about,
)
from seamark.families.bindings.ports import Ports
from seamark.families.bindings.probes import Dial, Prober
from seamark.families.bindings.reconcile import desire, judge
from seamark.families.bindings.services import upstream_key
from seamark.families.bindings.state import (
    BY_PORT,
    CONDITIONS,
    FINALIZER,
    FORMER_FINALIZER,
    GROUP_MEMBERS,
    IN_NAMESPACE,
    GroupReport,
    Installed,
    Seen,
    Settings,
    group_of,
)
from seamark.families.bindings.targets import target_of
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.api.bindings import BindingEndpoint, BoundEndpoint
from seamark_edge.api.kubernetesoperator import RETAIN, KubernetesOperator
from seamark_runtime.access import Right
from seamark_runtime.api.core import Namespace, Secret, Service
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Answers, left_to_others
from seamark_runtime.calls import Results
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import CollectionController, Controller, Declaration, Wanted, guarded
from seamark_runtime.events import Notice
from seamark_runtime.follow import Unreadable
from seamark_runtime.scope import Scope
from seamark_runtime.source import Collection, Fresh, NotYet
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

MANAGER, POLLER = "seamark-bindings", "seamark-bindings-poller"
SPACING = 0.25  # seconds between two looks at the whole of an installation
LINGER = 3.0  # a first statement waits so long for its probe


@dataclass(frozen=True)
class Means:
    """The remote systems; each can be a fake."""

    edge: EdgeProvider
    clock: Clock = field(default_factory=SystemClock)
    certificates: Certificates = field(default_factory=EcCertificates)
    dial: Dial | None = None


class Wiring:
    """What the keys of the family share: settings, facts from the edge, reports, and the ports that were given."""

    def __init__(self, settings: Settings, means: Means) -> None:
        self.settings = settings
        self.clock = means.clock
        self.certificates = means.certificates
        self.prober = Prober(means.clock, settings.probe_limit, means.dial)
        self.work = EdgeWork(means.edge, means.certificates)
        self.ports = Ports(settings.first_port, settings.last_port)
        self.upstream = OfUpstream(settings.namespace)
        self.target = OfTarget(settings.namespace)
        self.projection = OfProjection(settings.key)
        self.groups: Collection[GroupReport] = Collection("binding groups")
        self.plans: Collection[Plan] = Collection("what the edge binds here")
        self.refusals: Collection[str] = Collection("refused bindings")
        self._told: tuple[Notice, ...] = ()
        self._grouped: tuple[Listing, Grouped] | None = None  # the last list, read once
        self._forgotten = (0, "")  # how often the edge has forgotten us, and the certificate that went with it

    @property
    def scopes(self) -> dict[type[Object], Scope]:
        """All but Services and Namespaces is followed in the installation's own namespace, and its rights end there."""
        return dict.fromkeys((BoundEndpoint, KubernetesOperator, Secret), Scope(self.settings.namespace))

    def ours(self, endpoint: BoundEndpoint) -> bool:
        return endpoint.metadata.namespace == self.settings.namespace

    # ---- a service.namespace

    def group_keys(self, endpoint: BoundEndpoint) -> tuple[Key, ...]:
        return (group_of(endpoint),) if self.ours(endpoint) else ()

    def observe_group(self, view: View, key: Key, _results: Results) -> groups.SeenGroup:
        view.get(Namespace, Key("", key.namespace))  # its coming is the moment to try again
        found = [one for one in view.by(GROUP_MEMBERS, key) if self.ours(one)]
        endpoints = [one for one in found if not one.deleting]
        displaced = {one.key for one in endpoints if self._port_held_by(view, one) is not None}
        leaving = tuple(one.key for one in found if one.deleting)
        return groups.SeenGroup(key, groups.members_of(endpoints, displaced), self.settings, leaving)

    # ---- a BoundEndpoint

    def observe(self, view: View, endpoint: BoundEndpoint, results: Results) -> Seen | None:
        if not self.ours(endpoint):
            return None
        key, told = endpoint.key, view.reports(self.groups, endpoint.key).get(group_of(endpoint))
        service = view.get(Service, upstream_key(endpoint, self.settings))
        mine = service is not None and key in self.upstream.owners(service)
        if endpoint.deleting:
            self.prober.forget(key)
        return Seen(
            endpoint=endpoint,
            group=told,
            results=results,
            settings=self.settings,
            upstream=service if mine else None,
            installed=self.installed(view),
            projected=self.projection.projected(endpoint),
            port_held_by=self._port_held_by(view, endpoint),
            target_left=endpoint.deleting and self._target_left(view, endpoint),
            forbidden=self._forbidden(view, endpoint, told),
            last_verified=self.prober.last_verified(key),
        )

    def installed(self, view: View) -> Installed:
        operator = view.intent(KubernetesOperator, self.settings.key)
        if operator is None:
            return Installed.ABSENT
        if not operator.deleting:
            return Installed.PRESENT
        drain = operator.spec.drain
        return Installed.RETAINING if drain is None or drain.policy == RETAIN else Installed.DELETING

    def _port_held_by(self, view: View, endpoint: BoundEndpoint) -> Key | None:
        here = (endpoint.metadata.namespace, endpoint.spec.port)
        oldest = groups.by_age(one for one in view.by(BY_PORT, here) if not one.deleting)
        return oldest[0].key if oldest and oldest[0].key != endpoint.key and not endpoint.deleting else None

    def _target_left(self, view: View, endpoint: BoundEndpoint) -> bool:
        """Whether the group's target must still be deleted, and all who use it are being deleted."""
        group = group_of(endpoint)
        target = view.get(Service, group)
        if target is None or group not in self.target.owners(target) or left_to_others(target, FINALIZER):
            return False
        return all(one.deleting for one in view.by(GROUP_MEMBERS, group) if self.ours(one))

    def _forbidden(self, view: View, endpoint: BoundEndpoint, told: GroupReport | None) -> tuple[str, ...]:
        """Asked only where something was refused for want of a right."""
        asked = []
        if told is not None and told.refusal is not None and told.refusal.reason == "Forbidden":
            asked.append(endpoint.spec.target.namespace)
        stands = endpoint.status.conditions if endpoint.status is not None else ()
        if any(one.reason == "UpstreamServiceCreationFailed" for one in stands):
            asked.append(self.settings.namespace)
        answers = {namespace: view.may(Right(namespace, "create", "services")) for namespace in asked}
        return tuple(name for name, fact in answers.items() if isinstance(fact, Fresh) and not fact.value)

    # ---- the poll

    def observe_poll(self, view: View, key: Key, _results: Results) -> SeenPoll | None:
        if key != self.settings.key:
            return None
        fact = view.fact(self.work.listings, key)
        here = self.installed(view)
        found = view.by(IN_NAMESPACE, key.namespace, intent=True)
        if here is Installed.DELETING:
            return SeenPoll(key, {}, {})
        if here is not Installed.PRESENT or not isinstance(fact, Fresh):
            return SeenPoll(key, None, {})
        if self._grouped is None or self._grouped[0] is not fact.value:
            self._grouped = (fact.value, polling.grouped(fact.value))
        targets, problems = self._grouped[1]
        ports = self.ports.assign((target.name for target in targets), *polling.holders(found), view.now)
        return SeenPoll(key, targets, ports, problems)

    def projection_keys(self, endpoint: BoundEndpoint) -> tuple[Key, ...]:
        return (endpoint.key,) if self.projection.projected(endpoint) else ()

    def observe_projection(self, view: View, key: Key, _results: Results) -> SeenProjection | None:
        polled = self.polled(view)
        plan = view.reports(self.plans, key).get(self.settings.key)
        existing = view.intent(BoundEndpoint, key)
        if polled is None or not polled.known:
            return None
        return SeenProjection(key, self.settings.key, plan if isinstance(plan, Projection) else None, existing)

    def polled(self, view: View) -> Polled | None:
        plan = view.reports(self.plans, about(self.settings.key)).get(self.settings.key)
        return plan if isinstance(plan, Polled) else None

    def observe_endpoints(
        self, view: View, endpoint: BoundEndpoint, _results: Results
    ) -> tuple[BoundEndpoint, tuple[BindingEndpoint, ...]] | None:
        if not self.ours(endpoint) or endpoint.deleting:
            return None
        polled = self.polled(view)
        name = Key(endpoint.metadata.namespace, target_of(endpoint.spec).name)
        plan = view.reports(self.plans, name).get(self.settings.key)
        if polled is None or not polled.known:
            return None
        found = plan.endpoints if isinstance(plan, Projection) else ()
        if not found and self.projection.projected(endpoint):
            return None  # it goes
        return endpoint, found

    # ---- the installation

    def observe_installation(
        self, view: View, operator: KubernetesOperator, results: Results
    ) -> SeenInstallation | None:
        if operator.key != self.settings.key:
            return None
        system = view.intent(Namespace, Key("", "kube-system"))
        attempts = view.fact(self.work.attempts, operator.key)
        attempt = attempts.value if isinstance(attempts, Fresh) else 0
        certificate, trouble = self._certificate(view, operator, attempt)
        polled = self.polled(view)
        problems = polled.problems if polled is not None else ()
        return SeenInstallation(
            operator=operator,
            cluster=system.uid if system is not None else "",
            certificate=certificate,
            secret_trouble=trouble,
            attempt=attempt,
            results=results,
            settings=self.settings,
            left=self._left(view) if operator.deleting else 0,
            problems=(*problems, *sorted(view.reports(self.refusals, operator.key).values())),
        )

    def announce(self, seen: SeenInstallation, answers: Answers) -> tuple[Notice, ...]:
        """Each once while it lasts: a repeated event would be a write at rest."""
        now = tuple(installation.announce(seen, answers))
        fresh = tuple(notice for notice in now if notice not in self._told)
        self._told = now
        return fresh

    def _certificate(self, view: View, operator: KubernetesOperator, attempt: int) -> tuple[Held | None, str]:
        """What the Secret holds. With a registration that the edge has forgotten, its certificate is worth nothing."""
        binding = operator.spec.binding
        if binding is None or operator.deleting:
            return None, ""
        match view.one(Secret, Key(operator.metadata.namespace, binding.tls_secret_name)):
            case NotYet():
                return None, ""
            case Unreadable(message=words):
                return None, words
            case fact:
                found = held(fact.value if isinstance(fact, Fresh) else None, self.certificates, self.clock.wall())
                view.requeue_at = min(view.requeue_at, view.now + found.again)
                if attempt > self._forgotten[0]:
                    self._forgotten = (attempt, found.mark)
                worthless = bool(found.mark) and found.mark == self._forgotten[1]
                return (replace(found, validity=Validity.MISSING) if worthless else found), ""

    def _left(self, view: View) -> int:
        """Objects that go with the installation and are still there, and others that we still hold."""
        retains = self.installed(view) is Installed.RETAINING
        found = view.by(IN_NAMESPACE, self.settings.namespace)
        return sum(
            (self.projection.projected(one) and not retains) or FINALIZER in (one.metadata.finalizers or ())
            for one in found
        )


def controllers(settings: Settings, means: Means) -> tuple[Declaration, ...]:
    wiring = Wiring(settings, means)
    here = wiring.scopes
    return guarded(
        CompetingControllers("KubernetesOperator", str(settings.key)),
        CollectionController(
            name="binding-groups",
            scopes=here,
            keyed={BoundEndpoint: wiring.group_keys, Service: wiring.target.owners},  # type: ignore[dict-item]  # keys they are
            reads=(Namespace,),
            indexes=(GROUP_MEMBERS, BY_PORT),
            observe=wiring.observe_group,
            desire=groups.desire,
            report=groups.report,
            reports=wiring.groups,
            children=(Service,),
            ownership=wiring.target,
        ),
        Controller(
            name="boundendpoints",
            scopes=here,
            kind=BoundEndpoint,
            reads=(KubernetesOperator,),
            indexes=(GROUP_MEMBERS, BY_PORT),
            sources=(wiring.groups,),
            observe=wiring.observe,
            desire=desire,
            judge=judge,
            status=ByManager(
                manager=MANAGER, conditions=CONDITIONS, fields=("target_service_ref", "upstream_service_ref")
            ),
            children=(Service,),
            ownership=wiring.upstream,
            finalizer=FINALIZER,
            former=(FORMER_FINALIZER,),
            perform=wiring.prober.perform,
            reviews=True,
            shelf_life=settings.shelf_life,
            linger=LINGER,
            collectors=(wiring.prober,),
        ),
        *pollers(wiring),
        installations(wiring),
    )


def pollers(wiring: Wiring) -> tuple[Declaration, ...]:
    return (
        CollectionController(
            name="binding-polls",
            scopes=wiring.scopes,
            keyed={KubernetesOperator: lambda operator: (operator.key,)},
            reads=(BoundEndpoint,),
            indexes=(IN_NAMESPACE,),
            sources=(wiring.work.listings,),
            observe=wiring.observe_poll,
            desire=lambda _seen: Wanted(),
            report=polling.report_poll,
            reports=wiring.plans,
            spacing=SPACING,
        ),
        CollectionController(
            name="binding-projections",
            scopes=wiring.scopes,
            keyed={BoundEndpoint: wiring.projection_keys},
            subjects=(wiring.plans,),
            observe=wiring.observe_projection,
            desire=polling.desire,
            report=polling.report,
            reports=wiring.refusals,
            children=(BoundEndpoint,),
            ownership=wiring.projection,
        ),
        Controller(
            name="binding-endpoints",
            scopes=wiring.scopes,
            kind=BoundEndpoint,
            sources=(wiring.plans,),
            observe=wiring.observe_endpoints,
            desire=lambda _seen: Wanted(),
            judge=polling.say,
            status=ByManager(manager=POLLER, conditions=(), fields=("endpoints", "endpoints_summary", "hashed_name")),
        ),
    )


def installations(wiring: Wiring) -> Declaration:
    return Controller(
        name="kubernetesoperators",
        scopes=wiring.scopes,
        kind=KubernetesOperator,
        reads=(Namespace, BoundEndpoint),
        kept=(Secret,),
        indexes=(IN_NAMESPACE,),
        sources=(wiring.work.attempts, wiring.plans, wiring.refusals),
        observe=wiring.observe_installation,
        desire=installation.desire,
        judge=installation.judge,
        announce=wiring.announce,
        status=ByManager(
            manager=MANAGER,
            conditions=installation.CONDITIONS,
            fields=("id", "uri", "enabled_features", "bindings_ingress_endpoint", "drain_total", "drain_done"),
        ),
        finalizer=installation.FINALIZER,
        former=(FORMER_FINALIZER,),
        perform=wiring.work.perform,
        spacing=SPACING,
        shelf_life=wiring.settings.shelf_life,
        linger=LINGER,
    )
