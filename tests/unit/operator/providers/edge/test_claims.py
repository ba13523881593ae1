"""Which namespace a place belongs to: the same for every order of the same objects, and one namespace at the most."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import msgspec
import pytest

from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.claims import claim_of, foreign, foreign_binding, judged_at, owner, owner_of_host, refused, reserved

PLACE = "tcp://edge.example.test:20001"
TAKEN = {"type": "EndpointCreated", "status": "False", "reason": "Taken", "message": "", "lastTransitionTime": "x"}
OLD, NEW = "2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z"


def endpoint(namespace: str, url: str = PLACE, **fields: Any) -> AgentEndpoint:
    """`fields`: created, assigned, conditions, deleted, bindings, name."""
    meta = {"name": fields.get("name", "web"), "namespace": namespace, "creationTimestamp": fields.get("created", OLD)}
    if fields.get("deleted"):
        meta["deletionTimestamp"] = NEW
    spec = {"url": url, "upstream": {"url": "tcp://web:80"}, "bindings": fields.get("bindings")}
    status = {"assignedURL": fields.get("assigned", ""), "conditions": fields.get("conditions", [])}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, AgentEndpoint)


def winner(*endpoints: AgentEndpoint | CloudEndpoint) -> str | None:
    found = [claim_of(one) for one in endpoints]
    claims = [one[1] for one in found if one is not None]
    winners = {owner(order) for order in permutations(claims)}
    assert len(winners) == 1
    return winners.pop()


@pytest.mark.parametrize(
    "url",
    [PLACE, "TCP://EDGE.example.TEST:20001", "tcp://edge.example.test.:20001", "tcp://Edge.Example.Test.:020001/"],
)
def test_every_spelling_of_a_url_claims_the_same_place(url: str) -> None:
    """Places rule 2."""
    one, two = claim_of(endpoint("a", PLACE)), claim_of(endpoint("b", url))
    assert one is not None
    assert two is not None
    assert one[0] == two[0]


@pytest.mark.parametrize("url", ["https://shop.example.test", "tls://shop.example.test", "http://Shop.example.test:80"])
def test_a_host_name_is_one_place_in_all_schemes(url: str) -> None:
    """Places rule 1."""
    found = claim_of(endpoint("a", url))
    assert found is not None
    assert found[0] == "shop.example.test"


def test_of_two_that_nobody_has_judged_the_older_one_has_the_place() -> None:
    """Places rule 3."""
    assert winner(endpoint("a", created=NEW), endpoint("b", created=OLD)) == "b"
    assert winner(endpoint("a"), endpoint("b")) == "a"  # then by namespace


def test_an_old_endpoint_that_is_edited_to_the_url_of_another_namespace_loses() -> None:
    """Places rule 3."""
    edited = endpoint("a", created=OLD, assigned="tcp://edge.example.test:20009")
    assert winner(edited, endpoint("b", created=NEW, assigned=PLACE)) == "b"


def test_an_endpoint_for_which_the_edge_chose_the_place_comes_before_those_that_name_it() -> None:
    assert winner(endpoint("a", assigned=PLACE), endpoint("b", "tcp://", created=NEW, assigned=PLACE)) == "b"


def test_who_was_refused_comes_last_whatever_else_speaks_for_it() -> None:
    """Places rule 3."""
    refusal = [{**TAKEN, "observedGeneration": 1}]
    assert winner(endpoint("a", assigned=PLACE, conditions=refusal), endpoint("b", created=NEW)) == "b"
    assert winner(endpoint("a", conditions=refusal)) == "a"  # no other holder: the operator takes it back
    assert refused(endpoint("a", conditions=refusal))
    assert not refused(endpoint("a", conditions=[{**TAKEN, "reason": "NoAgent"}]))


def test_a_place_that_is_reserved_at_the_edge_belongs_to_whom_it_is_reserved_for() -> None:
    """Places rule 3."""
    squatter = claim_of(endpoint("a", assigned=PLACE))
    assert squatter is not None
    assert owner((squatter[1], reserved("b"))) == "b"
    assert owner((reserved("b"), squatter[1])) == "b"
    assert owner(()) is None


@pytest.mark.parametrize(
    "one",
    [
        endpoint("a", deleted=True),
        endpoint("a", "tcp://"),
        endpoint("a", "no url at all"),
        endpoint("a", "tcp://db.b:5432", bindings=["kubernetes"]),
    ],
)
def test_what_claims_no_place(one: AgentEndpoint) -> None:
    """Places rule 5."""
    assert claim_of(one) is None


def test_a_cloud_endpoint_claims_a_place_as_an_agent_endpoint_does() -> None:
    meta = {"name": "front", "namespace": "b", "creationTimestamp": OLD}
    cloud = msgspec.convert({"metadata": meta, "spec": {"url": PLACE}}, CloudEndpoint)
    assert winner(endpoint("a", created=NEW), cloud) == "b"


def test_a_host_below_a_wildcard_is_judged_with_it_and_a_wildcard_alone() -> None:
    """Places rule 4."""
    assert judged_at(endpoint("a", "https://pay.b.example.test")) == ("pay.b.example.test", "*.b.example.test")
    assert judged_at(endpoint("a", "tls://*.b.example.test")) == ("*.b.example.test",)
    assert judged_at(endpoint("a", PLACE)) == (PLACE,)
    assert judged_at(endpoint("a", "tcp://db.internal:5432")) == ("tcp://db.internal:5432",)
    assert judged_at(endpoint("a", "tcp://")) == ()


def test_a_wildcard_keeps_a_host_only_if_the_edge_has_the_wildcard() -> None:
    """Places rule 4."""
    wildcard = "https://*.b.example.test"
    host = claim_of(endpoint("a", "https://pay.b.example.test", created=NEW))
    named, assigned = claim_of(endpoint("b", wildcard)), claim_of(endpoint("b", wildcard, assigned=wildcard))
    refusal = claim_of(endpoint("b", wildcard, assigned=wildcard, conditions=[TAKEN]))
    assert host is not None
    assert named is not None
    assert assigned is not None
    assert refusal is not None
    assert [owner_of_host(host[1], above) for above in (None, named[1], refusal[1])] == ["a", "a", "a"]
    assert [owner_of_host(host[1], above) for above in (assigned[1], reserved("b"))] == ["b", "b"]
    assert owner_of_host(reserved("a", OLD), reserved("b", NEW)) == "a"
    assert owner_of_host(reserved("a", NEW), reserved("b", OLD)) == "b"
    assert owner_of_host(None, named[1]) is None


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("tcp://db.a:5432", True),
        ("https://DB.A.", True),
        ("tcp://db.b:5432", False),
        ("https://web.a.svc", False),
        ("tcp://a:5432", False),
    ],
)
def test_an_endpoint_is_bound_into_its_own_namespace(url: str, allowed: bool) -> None:
    """Places rule 8."""
    bound = endpoint("a", url, bindings=["kubernetes"])
    assert (foreign_binding(bound) == "", claim_of(bound) is not None) == (allowed, allowed)
    assert claim_of(bound, any_binding=True) is not None
    assert foreign_binding(endpoint("a", url)) == ""  # not bound into the cluster


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("tcp://36246c6c.a.internal:8080", True),
        ("tcp://36246c6c.b.internal:8080", False),
        ("https://36246C6C.B.Internal.", False),
        ("tcp://db.b.internal:5432", True),
        ("tcp://36246c6c.x.b.internal:8080", True),
    ],
)
def test_internal_hosts_of_services_are_those_of_their_namespace(url: str, allowed: bool) -> None:
    """Places rule 8."""
    named = endpoint("a", url, bindings=["internal"])
    assert (foreign(named, any_binding=True) == "", claim_of(named, any_binding=True) is not None) == (allowed, allowed)


def test_whatever_the_objects_are_every_order_gives_the_same_one_namespace() -> None:
    random = Random(20260101)
    for _ in range(300):
        objects = [
            endpoint(
                random.choice("abc"),
                random.choice((PLACE, "tcp://")),
                name=random.choice(("web", "shop")),
                created=random.choice((OLD, NEW)),
                assigned=random.choice(("", PLACE, "tcp://edge.example.test:20009")),
                conditions=random.choice(([], [TAKEN])),
                deleted=random.random() < 0.1,
            )
            for _ in range(random.randrange(5))
        ]
        found = [claim for one in objects if (claim := claim_of(one)) is not None and claim[0] == PLACE]
        claims = [claim for _, claim in found] + [reserved("c")] * (random.random() < 0.2)
        winners = {owner(order) for order in permutations(claims)}
        assert len(winners) == 1
        first = winners.pop()
        assert (first is None) == (not claims)
        unrefused = {claim.namespace for claim in claims if not claim.refused}
        assert not unrefused or first in unrefused
