"""A gateway and its routes as a snapshot: which name belongs to whom, what goes first, what is remembered."""

from __future__ import annotations

from dataclasses import replace

from seamark.families.gateway.model.gateways import ListenerView
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.translation.snapshot import translate
from seamark.families.gateway.translation.state import Hosts, TranslationInput
from seamark_edge.dataplane.model import Match, Redirect, Respond, Secret, Snapshot
from seamark_runtime.api.meta import Key
from tests.unit.operator.families.gateway.given import GATEWAY, LISTENER, given, route, snapshot_of


def listener(name: str, hostname: str = "", protocol: str = "HTTP", port: int = 80) -> ListenerView:
    plain = given().gateway.listeners[0]
    spec = replace(plain.spec, id=LISTENER._replace(name=name), hostname=hostname, protocol=protocol, port=port)
    secret = Secret("default/cert", b"chain", b"key")
    tls = replace(plain.tls, certificates=(secret,)) if protocol in ("HTTPS", "TLS") else plain.tls
    return replace(plain, spec=spec, tls=tls)


def at(one: AttachedRoute, *places: tuple[str, str]) -> AttachedRoute:
    """AttachedRoute through these listeners, under these names."""
    return replace(one, through=tuple((LISTENER._replace(name=name), (hostname,)) for name, hostname in places))


def scene(listeners: tuple[ListenerView, ...], *routes: AttachedRoute) -> TranslationInput:
    return replace(given(*routes), gateway=replace(given().gateway, listeners=listeners))


def hosts(snapshot: Snapshot, table: str) -> dict[str, list[str]]:
    return {host.domains[0]: [entry.origin.name for entry in host.entries] for host in snapshot.tables[table].hosts}


def test_a_name_belongs_to_the_most_specific_listener_of_its_port() -> None:
    """Routes rule 9."""
    listeners = (listener("all"), listener("wild", "*.example.com"), listener("one", "a.example.com"))
    attached = at(route("everywhere"), ("all", "a.example.com"), ("wild", "b.example.com"), ("all", "c.other.com"))
    snapshot = snapshot_of(scene(listeners, attached))
    assert hosts(snapshot, "http-80") == {
        "*": [],
        "*.example.com": [],
        "a.example.com": [],
        "b.example.com": ["everywhere"],
        "c.other.com": ["everywhere"],
    }


def test_requests_for_another_listeners_name_are_misdirected() -> None:
    listeners = (listener("one", "a.example.com", "HTTPS", 443), listener("two", "b.example.com", "HTTPS", 443))
    snapshot = snapshot_of(scene(listeners, at(route("r"), ("one", "a.example.com"))))
    chain = snapshot.listeners["443"].chains[0]
    assert chain.server_names == ("a.example.com",)
    answers = {host.domains[0]: [entry.action for entry in host.entries] for host in snapshot.tables[chain.table].hosts}
    assert "b.example.com" not in answers  # so that the answer for every other name is for it, too
    assert answers["*"] == [Respond(421)]
    assert len(answers["a.example.com"]) == 1


def test_a_name_of_another_listener_that_a_wildcard_covers_is_misdirected_by_itself() -> None:
    names = ("*.example.com", "a.example.com", "*.b.example.com", "other.com", "")
    listeners = tuple(listener(str(number), name, "HTTPS", 443) for number, name in enumerate(names))
    snapshot = snapshot_of(scene(listeners))
    told = {
        chain.server_names[:1] or ("",): {
            host.domains[0] for host in snapshot.tables[chain.table].hosts if host.entries
        }
        for chain in snapshot.listeners["443"].chains
    }
    assert told == {
        ("*.example.com",): {"a.example.com", "*.b.example.com", "*"},
        ("a.example.com",): {"*"},
        ("*.b.example.com",): {"*"},
        ("other.com",): {"*"},
        ("",): {"*.example.com", "a.example.com", "*.b.example.com", "other.com"},
    }


def test_a_thousand_listeners_of_a_port_cost_what_they_are() -> None:
    listeners = tuple(listener(str(number), f"*.{number}.example.com", "HTTPS", 443) for number in range(1000))
    snapshot = snapshot_of(scene(listeners))
    assert sum(len(table.hosts) for table in snapshot.tables.values()) == 2000


def test_the_more_specific_match_goes_first_then_the_older_route() -> None:
    """Routes rule 10."""

    def with_match(name: str, age: str, match: Match, order: tuple[object, ...]) -> AttachedRoute:
        one = at(route(name), ("http", ""))
        rule = one.route.rules[0]
        entry = replace(rule.entries[0], match=match)
        return replace(
            one, route=replace(one.route, age=(age, name), rules=(replace(rule, entries=(entry,), order=(order,)),))
        )

    prefix, exact = (2, -2, True, 0, 0), (0, -2, True, 0, 0)
    routes = (
        with_match("young", "2026", Match("/a"), prefix),
        with_match("old", "2025", Match("/a"), prefix),
        with_match("exact", "2026", Match("/a", "exact"), exact),
        with_match("long", "2026", Match("/a/long"), (2, -7, True, 0, 0)),
    )
    snapshot = snapshot_of(scene((listener("http"),), *routes))
    assert hosts(snapshot, "http-80")["*"] == ["exact", "long", "old", "young"]


def test_a_change_of_one_route_leaves_the_hosts_of_the_others_as_they_are() -> None:
    """Routes rule 6."""
    one, two = at(route("one"), ("http", "one.example.com")), at(route("two"), ("http", "two.example.com"))
    first = translate(scene((listener("http"),), one, two), {})
    changed = at(route("two", "/new"), ("http", "two.example.com"))
    second = translate(scene((listener("http"),), one, changed), first.hosts)
    before, after = first.snapshot.tables["http-80"], second.snapshot.tables["http-80"]
    same = {host.domains[0]: host is other for host, other in zip(before.hosts, after.hosts, strict=True)}
    assert same == {"*": True, "one.example.com": True, "two.example.com": False}


def test_a_redirect_without_a_port_stays_at_the_listeners() -> None:
    one = at(route("r"), ("http", ""))
    rule = one.route.rules[0]
    entry = replace(rule.entries[0], action=Redirect(302))
    redirecting = replace(one, route=replace(one.route, rules=(replace(rule, entries=(entry,)),)))
    ports = {}
    for port in (80, 8080):
        snapshot = snapshot_of(scene((listener("http", port=port),), redirecting))
        action = snapshot.tables[f"http-{port}"].hosts[0].entries[0].action
        assert isinstance(action, Redirect)
        ports[port] = action.port
    assert ports == {80: 0, 8080: 8080}


def test_of_several_tcp_routes_the_oldest_is_served() -> None:
    """Routes rule 11."""
    young, old = at(route("young"), ("tcp", "")), at(route("old"), ("tcp", ""))
    snapshot = snapshot_of(scene((listener("tcp", protocol="TCP"),), old, young))
    [chain] = snapshot.listeners["80"].chains
    assert chain.targets == old.route.rules[0].entries[0].action.targets  # type: ignore[union-attr]  # it forwards


def test_a_listener_without_routes_still_listens() -> None:
    snapshot = snapshot_of(scene((listener("tls", "a.example.com", "TLS", 443),)))
    [chain] = snapshot.listeners["443"].chains
    assert (chain.server_names, chain.targets) == (("a.example.com",), ())


def test_what_is_refused_is_not_served() -> None:
    refused = replace(listener("bad", port=81), refusal="Invalid")
    snapshot = snapshot_of(scene((listener("http"), refused)))
    assert set(snapshot.listeners) == {"80"}
    assert Key("default", "gateway") == GATEWAY


def test_hosts_of_names_that_are_gone_are_forgotten() -> None:
    previous: Hosts = {}
    for number in range(500):
        passing = at(route("passing"), ("http", f"{number}.example.com"))
        staying = at(route("staying"), ("http", "stays.example.com"))
        snapshot, previous = translate(scene((listener("http"),), staying, passing), previous)
    assert {domain for _, domain in previous} == {"*", "stays.example.com", "499.example.com"}
    again = translate(scene((listener("http"),), staying, passing), previous).snapshot
    assert all(one is two for one, two in zip(hosts_of(snapshot), hosts_of(again), strict=True))


def hosts_of(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.tables["http-80"].hosts
