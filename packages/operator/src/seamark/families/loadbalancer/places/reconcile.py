"""The claims on a place → the first of them, from which endpoints judge whether they may have the place."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.loadbalancer.places.state import Seen
from seamark_edge.claims import Claim
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def report(seen: Seen, _answers: Answers) -> Mapping[str, Claim]:
    return {seen.where: min(seen.claims)} if seen.claims else {}
