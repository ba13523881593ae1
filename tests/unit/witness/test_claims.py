"""What True means, compared: each condition of the specification pages is a claim of the witness, or has its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from tests.sources import ROOT
from tests.unit.test_what_true_means import PLACES, named, rows
from tests.witness.claims import CLAIMS, Claim, claims_of

NO_CLIENT = ("none", "`kubectl`", "`kubectl get")
PAGE = (ROOT / "docs" / "witness.md").read_text()


def with_a_client() -> Iterator[tuple[str, str]]:
    for kind, place in PLACES.items():
        for cell, client, *_ in rows(place.page)[2:]:
            if not client.startswith(NO_CLIENT):
                of_another = not place.prefix and set(re.findall(r"\w+", cell)) & set(PLACES)
                yield from () if of_another else ((kind, name) for name in named(cell, place.prefix))


def reasons() -> set[tuple[str, str]]:
    """The conditions in the second table of the page: kinds first, then their conditions."""
    _, _, section = PAGE.partition("| condition | why |\n|---|---|\n")
    found = set()
    for line in section.partition("\n\n")[0].splitlines():
        kinds, tick, conditions = line.strip("| ").partition("|")[0].partition("`")
        found |= set(product(re.findall(r"\w+", kinds), re.findall(r"`([^`]+)`", tick + conditions)))
    return found


@pytest.mark.parametrize(("kind", "condition"), sorted(set(with_a_client())))
def test_a_condition_that_a_client_can_check_is_compared_or_has_a_reason(kind: str, condition: str) -> None:
    compared = {(claim.kind, claim.condition.removeprefix("listener ")) for claim in CLAIMS}
    assert (kind, condition) in compared | reasons()


def test_no_condition_with_a_reason_is_compared() -> None:
    assert not reasons() & {(claim.kind, claim.condition) for claim in CLAIMS}


SHORTENED = {"DNSEndpoint"}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.kind} {claim.condition}")
def test_a_claim_has_the_shelf_life_that_its_specification_declares(claim: Claim) -> None:
    place = PLACES[claim.kind]
    prefix = "listener" if claim.condition.startswith("listener ") else place.prefix
    name = claim.condition.removeprefix("listener ")
    declared = [row[4] for row in rows(place.page)[2:] if name in named(row[0], prefix)]
    assert declared
    seconds = {float(found[1]) for cell in declared if (found := re.match(r"(\d+) s", cell))}
    assert claim.kind in SHORTENED or seconds <= {claim.shelf}


def test_the_page_names_every_claim() -> None:
    table = PAGE.partition("## Faults")[0]
    for claim in CLAIMS:
        assert re.search(rf"{claim.kind}\b[^|]*`{re.escape(claim.condition.removeprefix('listener '))}`", table), claim


def test_endpoints_inside_or_behind_a_policy_claim_nothing_outside() -> None:
    def names(**spec: object) -> set[str]:
        upstream = {"upstream": {"url": "http://example.com."}}
        return {claim.condition for claim in claims_of({"kind": "AgentEndpoint", "spec": {**upstream, **spec}})}

    assert names(url="https://a.example.com") == {"Ready", "EndpointCreated"}
    assert names(url="https://a.internal") == names(url="tcp://a.internal:80") == set()
    assert names(url="tcp://a:1", bindings=["kubernetes"]) == set()
    assert "Ready" not in names(url="https://a.example.com", trafficPolicy={"inline": {}})
