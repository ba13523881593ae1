"""A gateway and the routes attached to it, as a snapshot for the data plane. Pure.

- Routes of a listener are served under its names only, and a name belongs to the most specific listener of its port.
- What was built of unchanged routes is taken from memory: a change costs what it touches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from seamark.families.gateway.names import covering, specificity
from seamark.families.gateway.shapes import Attached, Backend, GatewayView, ListenerId, ListenerView, RouteView
from seamark_edge.dataplane import model
from seamark_edge.dataplane.model import Chain, Entry, Origin, Snapshot, VirtualHost

ANY = "*"
SPARE = 100  # hosts that are remembered and not used now
MISDIRECTED = Origin("Gateway", "", "")


@dataclass(frozen=True)
class Picture:
    """All that a gateway's translation may use."""

    gateway: GatewayView
    attached: tuple[Attached, ...]  # the oldest first
    endpoints: Mapping[Backend, tuple[tuple[str, int], ...]]
    tls: Mapping[Backend, model.ClientTls | None] = field(default_factory=dict)  # None: it must not be spoken to
    extras: Mapping[tuple[Origin, int, ListenerId], Applied] = field(default_factory=dict)  # by a rule's place


@dataclass(frozen=True, slots=True)
class Applied:
    """What policies come to for one rule behind one listener."""

    extras: model.Extras = model.NO_EXTRAS
    timeout: float | None = None
    idle: float | None = None
    retry: model.Retry | None = None
    unresolved: bool = False  # a policy that the rule names as an extension is not known, or can't be used


@dataclass
class Memory:
    """Virtual hosts as they were made last, with what they were made of. Those of names that are gone are forgotten."""

    hosts: dict[tuple[str, str], tuple[object, VirtualHost]] = field(default_factory=dict)

    def sweep(self, tables: Iterable[model.RouteTable]) -> None:
        """When many unused ones are remembered, only those of these tables are kept."""
        served = {id(host) for table in tables for host in table.hosts}
        if len(self.hosts) > 2 * len(served) + SPARE:
            self.hosts = {place: known for place, known in self.hosts.items() if id(known[1]) in served}


def translate(picture: Picture, memory: Memory, without: frozenset[Origin] = frozenset()) -> Snapshot:
    """The snapshot; of the routes in `without` nothing is served."""
    attached = [one for one in picture.attached if one.route.origin not in without]
    listeners: dict[str, model.Listener] = {}
    tables: dict[str, model.RouteTable] = {}
    secrets: dict[str, model.Secret] = {}
    ports: dict[int, list[ListenerView]] = {}
    for one in picture.gateway.listeners:
        if not one.refusal:
            ports.setdefault(one.door.port, []).append(one)
            secrets.update((secret.name, secret) for secret in one.lock.certificates)
    for port, views in ports.items():
        built = Port(picture, memory, port, views, attached)
        chains = built.chains()
        tables.update((table.name, table) for table in built.tables)
        listeners[str(port)] = model.Listener(
            name=str(port),
            addresses=picture.gateway.listens,
            port=port,
            chains=chains,
            inspect=any(view.door.protocol in ("HTTPS", "TLS") for view in views),
            users=tuple(str(view.door.id) for view in views),
        )
    memory.sweep(tables.values())
    clusters, endpoints = backends(picture, attached)
    certificate = picture.gateway.backend_certificate
    if certificate is not None and any(one.tls is not None and one.tls.certificate for one in clusters.values()):
        secrets[certificate.name] = certificate
    return Snapshot(listeners, tables, clusters, endpoints, secrets, picture.gateway.uid)


def used(attached: Iterable[Attached]) -> dict[str, Backend]:
    """The backends of these routes, each once, by the name of their cluster."""
    found: dict[str, Backend] = {}
    for one in attached:
        found.update(one.route.backends)
    return found


def backends(
    picture: Picture, attached: Iterable[Attached]
) -> tuple[dict[str, model.Cluster], dict[str, model.Endpoints]]:
    clusters: dict[str, model.Cluster] = {}
    endpoints: dict[str, model.Endpoints] = {}
    for name, backend in used(attached).items():
        tls = picture.tls.get(backend)
        refused = backend in picture.tls and tls is None
        clusters[name] = model.Cluster(name, backend.protocol, tls)
        endpoints[name] = model.Endpoints(name, () if refused else picture.endpoints.get(backend, ()))
    return clusters, endpoints


class Port:
    """Everything that is served at one port."""

    def __init__(
        self, picture: Picture, memory: Memory, port: int, views: list[ListenerView], attached: list[Attached]
    ) -> None:
        self._picture = picture
        self._memory = memory
        self._port = port
        self._views = views
        self._attached = attached
        self._covered: dict[str, list[str]] | None = None
        self.tables: list[model.RouteTable] = []

    def chains(self) -> tuple[Chain, ...]:
        made: list[Chain] = []
        plain = [view for view in self._views if view.door.protocol == "HTTP"]
        if plain:
            made.append(Chain(f"http-{self._port}", table=self._table(f"http-{self._port}", self._hosts(plain))))
        for view in self._views:
            match view.door.protocol:
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
        doors = {view.door.id: view.door for view in views}
        alone = len(views) == 1
        known = {door.hostname for door in doors.values() if door.hostname}
        routes: dict[str, list[tuple[RouteView, ListenerId]]] = {door.hostname or ANY: [] for door in doors.values()}
        for one in self._attached:
            served: set[str] = set()  # a route that comes through several listeners is there once
            for listener, names in one.through:
                door = doors.get(listener)
                if door is None:
                    continue
                for name in names:
                    if alone or not (name in served or elsewhere(door.hostname, name, known)):
                        served.add(name)
                        routes.setdefault(name or ANY, []).append((one.route, listener))
        scope = f"{self._port} " + "+".join(str(listener) for listener in doors)
        return {domain: self._host(scope, domain, tuple(found)) for domain, found in routes.items()}

    def _host(self, scope: str, domain: str, found: tuple[tuple[RouteView, ListenerId], ...]) -> VirtualHost:
        extras = self._picture.extras
        applied = extras and tuple(
            extras.get((route.origin, place, listener), NOTHING)
            for route, listener in found
            for place in range(len(route.rules))
        )
        made_of = (found, applied)
        known = self._memory.hosts.get((scope, domain))
        if known is not None and known[0] == made_of:
            return known[1]
        entries = ordered(found, extras)
        host = VirtualHost((domain,), tuple(self._redirected(entry) for entry in entries))
        self._memory.hosts[(scope, domain)] = (made_of, host)
        return host

    def _redirected(self, entry: Entry) -> Entry:
        """A redirect that names neither scheme nor port stays at the listener's own port."""
        action = entry.action
        usual = 443 if any(view.door.protocol == "HTTPS" for view in self._views) else 80
        if isinstance(action, model.Redirect) and not action.port and not action.scheme and self._port != usual:
            return replace(entry, action=replace(action, port=self._port))
        return entry

    def _secure(self, view: ListenerView) -> Chain:
        door = view.door
        name = f"https-{self._port}-{door.id}"
        hosts = self._hosts([view])
        for domain in self._others().get(door.hostname, ()):
            hosts[domain] = MISDIRECTED_TO[domain] if domain in MISDIRECTED_TO else misdirected(domain)
        if door.hostname:
            hosts[ANY] = misdirected(ANY)
        tls = model.ServerTls(tuple(one.name for one in view.lock.certificates), view.lock.validation)
        names = (door.hostname,) if door.hostname else ()
        return Chain(name, names, tls, table=self._table(name, hosts))

    def _others(self) -> dict[str, list[str]]:
        """By the hostname of an HTTPS listener: the names that it covers and other such listeners have."""
        if self._covered is None:
            names = [view.door.hostname for view in self._views if view.door.protocol == "HTTPS"]
            self._covered = {name: [] for name in names}
            for name in filter(None, names):
                for pattern in ("", *covering(name)):
                    if pattern != name and pattern in self._covered:
                        self._covered[pattern].append(name)
        return self._covered

    # ---- connections

    def _streams(self, view: ListenerView) -> list[Chain]:
        door, lock = view.door, view.lock
        tls = None
        if not door.passthrough:
            tls = model.ServerTls(tuple(one.name for one in lock.certificates), lock.validation, http=False)
        made = []
        for one in self._attached:
            for listener, names in one.through:
                if listener == door.id:
                    known = tuple(name for name in names if name)
                    made.append(Chain(f"tls-{door.id}-{one.route.origin}", known, tls, targets=targets_of(one.route)))
        names = (door.hostname,) if door.hostname else ()
        return [*made, Chain(f"tls-{door.id}", names, tls)]

    def _first_targets(self, view: ListenerView) -> tuple[model.Target, ...]:
        for one in self._attached:
            if any(listener == view.door.id for listener, _ in one.through):
                return targets_of(one.route)
        return ()


def elsewhere(hostname: str, name: str, known: Collection[str]) -> bool:
    """Whether a more specific listener than the one of this hostname has that name for itself."""
    best = next((pattern for pattern in covering(name) if pattern in known), "") if name else ""
    return bool(best) and specificity(best) > specificity(hostname)


NOTHING = Applied()
MISDIRECTED_TO: dict[str, VirtualHost] = {}


def misdirected(domain: str) -> VirtualHost:
    """Requests for a name that another listener serves: the client has to ask anew, over a connection of its own."""
    if len(MISDIRECTED_TO) > 10_000:
        MISDIRECTED_TO.clear()
    entry = Entry(model.Match(), model.Respond(421), MISDIRECTED)
    return MISDIRECTED_TO.setdefault(domain, VirtualHost((domain,), (entry,)))


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
    return Chain(chain.name, tuple(filter(None, names)), chain.tls, chain.table, chain.targets)


def ordered(
    found: tuple[tuple[RouteView, ListenerId], ...], extras: Mapping[tuple[Origin, int, ListenerId], Applied]
) -> tuple[Entry, ...]:
    """All entries of a host: the more specific first, of equals the older route's."""
    lines = []
    for route, listener in found:
        for place, rule in enumerate(route.rules):
            applied = extras.get((route.origin, place, listener), NOTHING)
            for number, (entry, order) in enumerate(zip(rule.entries, rule.order, strict=True)):
                lines.append(((*order, *route.age, place, number), with_policy(entry, applied, rule.built_in)))
    lines.sort(key=lambda line: line[0])
    return tuple(entry for _, entry in lines)


def with_policy(entry: Entry, applied: Applied, built_in: frozenset[str]) -> Entry:
    if applied == NOTHING:
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
        )
    return replace(entry, extras=extras, action=action)
