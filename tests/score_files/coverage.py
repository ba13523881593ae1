"""The tables of README.md, made from features.yaml and the folders: what each covers, which decisions it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.score_files.corpus import ROOT, Case

README = ROOT / "README.md"
PART = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def declared() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "features.yaml").read_text(encoding="utf-8"))
    return document


def sections() -> dict[str, dict[str, str]]:
    """Section → identifier → what it is."""
    found: dict[str, dict[str, str]] = declared()["features"]
    return found


def features() -> set[str]:
    return {name for section in sections().values() for name in section}


def decisions() -> dict[str, str]:
    found: dict[str, str] = declared()["decisions"]
    return found


def covering(cases: list[Case], feature: str) -> list[str]:
    return [case.name for case in cases if feature in case.expectation.covers]


def readme(cases: list[Case], text: str) -> str:
    """README.md with its generated parts as they should be now."""
    parts = {
        "counts": _counts(cases),
        "coverage": "\n".join(_coverage(cases)),
        "decisions": "\n".join(_decisions(cases)),
        "disagreements": "\n".join(_disagreements(cases)),
    }
    return PART.sub(lambda part: part[1] + parts[part[2]] + "\n" + part[3], text)


def _counts(cases: list[Case]) -> str:
    valid = [case for case in cases if case.valid]
    steps = sum(len(case.expectation.then) for case in cases)
    requests = sum(len(expect.requests) for case in cases for expect in case.expects)
    return (
        f"{len(cases)} folders: {len(valid)} with valid files, {len(cases) - len(valid)} with broken ones; "
        f"{steps} further steps and {requests} requests."
    )


def _coverage(cases: list[Case]) -> Iterator[str]:
    for section, names in sections().items():
        yield from ("", f"### {section}", "", "| feature | what it is | folders |", "|---|---|---|")
        for name, text in names.items():
            yield f"| {name} | {text} | {', '.join(covering(cases, name))} |"
    yield ""


def _decisions(cases: list[Case]) -> Iterator[str]:
    yield from ("", "| decision | rule | folders |", "|---|---|---|")
    for name, text in decisions().items():
        users = [case.name for case in cases if name in case.expectation.decisions]
        yield f"| {name} | {text} | {', '.join(users)} |"
    yield ""


def _disagreements(cases: list[Case]) -> Iterator[str]:
    """Folders of which schema, score-go and score-k8s do not all have the opinion of the corpus."""
    yield from ("", "| folder | corpus | schema | score-go | score-k8s |", "|---|---|---|---|---|")
    for case in cases:
        expectation = case.expectation
        opinions = [expectation.schema, expectation.score_go, expectation.score_k8s]
        words = [opinion.partition(":")[0] for opinion in opinions]
        ours = "accepted" if case.valid else "refused"
        if set(words) != {ours}:
            yield f"| {case.name} | {ours} | {' | '.join(words)} |"
    yield ""
