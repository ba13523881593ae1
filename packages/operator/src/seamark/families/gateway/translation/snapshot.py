"""A gateway and the routes attached to it, as a snapshot for the data plane. Pure.

- Routes of a listener are served under its names only, and a name belongs to the most specific listener of its port.
- Virtual hosts of unchanged routes are taken from the previous translation: a change costs what it affects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from seamark.families.gateway.model.gateways import ListenerView
from seamark.families.gateway.model.routes import AttachedRoute, Backend, RouteView
from seamark.families.gateway.translation.state import (
    NO_POLICY,
    AppliedPolicy,
    Hosts,
    RulePolicies,
    TranslationInput,
)
from seamark.gatewayapi.hostnames import covering, specificity
from seamark.gatewayapi.listeners import ListenerId
from seamark_edge.dataplane import model
from seamark_edge.dataplane.filters import Service, ServiceFilter
from seamark_edge.dataplane.model import Chain, Entry, Origin, Snapshot, VirtualHost

ANY = "*"
MISDIRECTED = Origin("Gateway", "", "")


class Translated(NamedTuple):
    """A snapshot, and its virtual hosts with what they were built from."""

    snapshot: Snapshot
    hosts: Hosts


def translate(given: TranslationInput, previous: Hosts) -> Translated:
    """`previous` are the hosts of an earlier translation."""
    hosts: dict[tuple[str, str], tuple[object, VirtualHost]] = {}
    listeners: dict[str, model.Listener] = {}
    tables: dict[str, model.RouteTable] = {}
    secrets: dict[str, model.Secret] = {}
    ports: dict[int, list[ListenerView]] = {}
    for listener in given.gateway.listeners:
        if not listener.refusal:
            ports.setdefault(listener.spec.port, []).append(listener)
            secrets.update((secret.name, secret) for secret in listener.tls.certificates)
    for port, views in ports.items():
        built = Port(given, port, views, previous)
        chains = built.chains()
        tables.update((table.name, table) for table in built.tables)
        hosts.update(built.hosts)
        listeners[str(port)] = model.Listener(
            name=str(port),
            addresses=given.gateway.listens,
            port=port,
            chains=chains,
            inspect=any(view.spec.protocol in ("HTTPS", "TLS") for view in views),
            users=tuple(str(view.spec.id) for view in views),
        )
    clusters, endpoints = backends(given)
    certificate = given.gateway.backend_certificate
    if certificate is not None and any(each.tls is not None and each.tls.certificate for each in clusters.values()):
        secrets[certificate.name] = certificate
    return Translated(Snapshot(listeners, tables, clusters, endpoints, secrets, given.gateway.uid), hosts)


def used_backends(attached: Iterable[AttachedRoute], policies: RulePolicies) -> dict[str, Backend]:
    """The backends of these routes and policies, each once, by the name of their cluster."""
    found: dict[str, Backend] = {}
    for route in attached:
        found.update(route.route.backends)
    for applied in policies.values():
        found.update(applied.backends)
    return found


def used_services(policies: RulePolicies) -> tuple[Service, ...]:
    """The services that filters of these policies use, each once, always in the same order."""
    found = {
        setting.service: repr(setting.service)
        for applied in policies.values()
        for setting in applied.extras.filters
        if isinstance(setting, ServiceFilter)
    }
    return tuple(sorted(found, key=lambda service: found[service]))


def backends(given: TranslationInput) -> tuple[dict[str, model.Cluster], dict[str, model.Endpoints]]:
    clusters: dict[str, model.Cluster] = {}
    endpoints: dict[str, model.Endpoints] = {}
    for name, backend in used_backends(given.attached, given.policies).items():
        tls = given.tls.get(backend)
        refused = backend in given.tls and tls is None
        clusters[name] = model.Cluster(name, backend.protocol, tls)
        usable = () if refused else given.endpoints.get(backend, ())
        endpoints[name] = model.Endpoints(name, usable, host_of(backend))
    return clusters, endpoints


def host_of(backend: Backend) -> str:
    return f"{backend.service.name}.{backend.service.namespace}.svc.cluster.local"


class Port:
    """Everything that is served at one port."""

    def __init__(
        self,
        given: TranslationInput,
        port: int,
        views: list[ListenerView],
        previous: Hosts,
    ) -> None:
        self._policies = given.policies
        self._services = used_services(given.policies)
        self._previous = previous
        self._port = port
        self._views = views
        self._attached = given.attached
        self._covered: dict[str, list[str]] | None = None
        self.tables: list[model.RouteTable] = []
        self.hosts: dict[tuple[str, str], tuple[object, VirtualHost]] = {}  # all that are used, old and new

    def chains(self) -> tuple[Chain, ...]:
        made: list[Chain] = []
        plain = [view for view in self._views if view.spec.protocol == "HTTP"]
        if plain:
            name = f"http-{self._port}"
            made.append(Chain(name, table=self._table(name, self._hosts(plain)), services=self._services))
        for view in self._views:
            match view.spec.protocol:
                case "HTTPS":
                    made.append(self._secure(view))
                case "TLS":
                    made += self._streams(view)
                case "TCP":
                    made.append(Chain(f"tcp-{self._port}", targets=self._first_targets(view)))
        return tuple(unique(made)) or (Chain(f"nothing-{self._port}"),)

    def _table(self, name: str, hosts: dict[str, VirtualHost]) -> str:
        self.tables.append(model.RouteTable(name, tuple(hosts[domain] for domain in sorted(hosts))))
        return name

    # ---- HTTP

    def _hosts(self, views: list[ListenerView]) -> dict[str, VirtualHost]:
        """By domain. Each listener's own name is there even without routes, so that no other listener answers for
        it."""
        specs = {view.spec.id: view.spec for view in views}
        alone = len(views) == 1
        known = {spec.hostname for spec in specs.values() if spec.hostname}
        routes: dict[str, list[tuple[RouteView, ListenerId]]] = {spec.hostname or ANY: [] for spec in specs.values()}
        for attached in self._attached:
            served: set[str] = set()  # a route that comes through several listeners is there once
            for listener, names in attached.through:
                spec = specs.get(listener)
                if spec is None:
                    continue
                for name in names:
                    if alone or not (name in served or elsewhere(spec.hostname, name, known)):
                        served.add(name)
                        routes.setdefault(name or ANY, []).append((attached.route, listener))
        scope = f"{self._port} " + "+".join(str(listener) for listener in specs)
        return {domain: self._host(scope, domain, tuple(found)) for domain, found in routes.items()}

    def _host(self, scope: str, domain: str, found: tuple[tuple[RouteView, ListenerId], ...]) -> VirtualHost:
        policies = self._policies
        applied = policies and tuple(
            policies.get((route.origin, number, listener), NO_POLICY)
            for route, listener in found
            for number in range(len(route.rules))
        )
        made_of = (found, applied)
        known = self._previous.get((scope, domain))
        if known is None or known[0] != made_of:
            entries = ordered(found, policies)
            known = (made_of, VirtualHost((domain,), tuple(self._redirected(entry) for entry in entries)))
        self.hosts[(scope, domain)] = known
        return known[1]

    def _redirected(self, entry: Entry) -> Entry:
        """A redirect that names neither scheme nor port stays at the listener's own port."""
        action = entry.action
        usual = 443 if any(view.spec.protocol == "HTTPS" for view in self._views) else 80
        if isinstance(action, model.Redirect) and not action.port and not action.scheme and self._port != usual:
            return replace(entry, action=replace(action, port=self._port))
        return entry

    def _secure(self, view: ListenerView) -> Chain:
        spec = view.spec
        name = f"https-{self._port}-{spec.id}"
        hosts = self._hosts([view])
        for domain in self._others().get(spec.hostname, ()):
            hosts[domain] = misdirected(domain)
        if spec.hostname:
            hosts[ANY] = misdirected(ANY)
        tls = model.ServerTls(certificate_names(view), view.tls.validation, versions=view.tls.versions)
        names = (spec.hostname,) if spec.hostname else ()
        return Chain(name, names, tls, table=self._table(name, hosts), services=self._services)

    def _others(self) -> dict[str, list[str]]:
        """By the hostname of an HTTPS listener: the names that it covers and other such listeners have."""
        if self._covered is None:
            names = [view.spec.hostname for view in self._views if view.spec.protocol == "HTTPS"]
            self._covered = {name: [] for name in names}
            for name in filter(None, names):
                for pattern in ("", *covering(name)):
                    if pattern != name and pattern in self._covered:
                        self._covered[pattern].append(name)
        return self._covered

    # ---- connections

    def _streams(self, view: ListenerView) -> list[Chain]:
        spec, tls = view.spec, None
        if not spec.passthrough:
            certificates, versions = certificate_names(view), view.tls.versions
            tls = model.ServerTls(certificates, view.tls.validation, http=False, versions=versions)
        made = []
        for attached in self._attached:
            route = attached.route
            for listener, names in attached.through:
                if listener == spec.id:
                    known = tuple(name for name in names if name)
                    made.append(Chain(f"tls-{spec.id}-{route.origin}", known, tls, targets=targets_of(route)))
        names = (spec.hostname,) if spec.hostname else ()
        return [*made, Chain(f"tls-{spec.id}", names, tls)]

    def _first_targets(self, view: ListenerView) -> tuple[model.Target, ...]:
        for attached in self._attached:
            if any(listener == view.spec.id for listener, _ in attached.through):
                return targets_of(attached.route)
        return ()


def elsewhere(hostname: str, name: str, known: Collection[str]) -> bool:
    """Whether a listener with a more specific hostname than this one serves that name."""
    best = next((pattern for pattern in covering(name) if pattern in known), "") if name else ""
    return bool(best) and specificity(best) > specificity(hostname)


def certificate_names(view: ListenerView) -> tuple[str, ...]:
    return tuple(certificate.name for certificate in view.tls.certificates)


@lru_cache(maxsize=10_000)
def misdirected(domain: str) -> VirtualHost:
    """Requests for a name that another listener serves: the client has to repeat them over another connection."""
    entry = Entry(model.Match(), model.Respond(421), MISDIRECTED)
    return VirtualHost((domain,), (entry,))


def targets_of(route: RouteView) -> tuple[model.Target, ...]:
    for rule in route.rules:
        for entry in rule.entries:
            if isinstance(entry.action, model.Forward):
                return entry.action.targets
    return ()


def unique(chains: Iterable[Chain]) -> list[Chain]:
    """A name leads to one chain only: to the first that has it."""
    taken: set[str] = set()
    found = []
    for chain in chains:
        names = chain.server_names or ("",)
        left = tuple(name for name in names if name not in taken)
        if left:
            taken.update(left)
            found.append(chain if left == names else _renamed(chain, left))
    return found


def _renamed(chain: Chain, names: tuple[str, ...]) -> Chain:
    return replace(chain, server_names=tuple(filter(None, names)))


def ordered(found: tuple[tuple[RouteView, ListenerId], ...], policies: RulePolicies) -> tuple[Entry, ...]:
    """All entries of a host: the more specific first, of equals the older route's."""
    lines = []
    for route, listener in found:
        for position, rule in enumerate(route.rules):
            applied = policies.get((route.origin, position, listener), NO_POLICY)
            for number, (entry, order) in enumerate(zip(rule.entries, rule.order, strict=True)):
                lines.append(((*order, *route.age, position, number), with_policy(entry, applied, rule.built_in)))
    lines.sort(key=lambda line: line[0])
    return tuple(entry for _, entry in lines)


def with_policy(entry: Entry, applied: AppliedPolicy, built_in: frozenset[str]) -> Entry:
    if applied == NO_POLICY:
        return entry
    if applied.unresolved:
        return replace(entry, action=model.Respond(500))
    extras = applied.extras
    if "cors" in built_in:
        extras = replace(extras, cors=entry.extras.cors)
    action = entry.action
    if isinstance(action, model.Forward):
        action = replace(
            action,
            timeout=action.timeout if action.timeout is not None else applied.timeout,
            idle=applied.idle,
            retry=action.retry or applied.retry,
            rewrite=action.rewrite or applied.rewrite,
            backend_host=applied.backend_host,
        )
    return replace(entry, extras=extras, action=action)
