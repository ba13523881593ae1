"""An explanation for a person in a terminal, and for a program as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from seamark.explain.model import Hop, Said, Truth, culprit

MARK = {
    Truth.TRUE: ("✓", "green"),
    Truth.FALSE: ("✗", "bold red"),
    Truth.UNKNOWN: ("?", "yellow"),
    Truth.MISSING: ("✗", "bold red"),
    Truth.HIDDEN: ("·", "dim"),
}


def tree(hop: Hop, now: datetime, *, verbose: bool = False) -> RenderableType:
    blamed = culprit(hop)
    shown = Tree(_line(hop, blamed, now, verbose=verbose), guide_style="dim")
    _branches(shown, hop, blamed, now, verbose)
    return Group(shown, Text(), verdict(hop, blamed))


def _branches(shown: Tree, hop: Hop, blamed: Hop | None, now: datetime, verbose: bool) -> None:
    for below in hop.hops:
        _branches(shown.add(_line(below, blamed, now, verbose=verbose)), below, blamed, now, verbose)


def _line(hop: Hop, blamed: Hop | None, now: datetime, *, verbose: bool) -> Text:
    if hop.again:
        return Text(f"↑ {hop}  {hop.how}, shown above", style="dim")
    mark, colour = MARK[hop.truth]
    line = Text(f"{mark} ", style=colour)
    line.append(str(hop), style="bold red reverse" if hop is blamed else "bold")
    if hop.how:
        line.append(f"  {hop.how}", style="dim")
    if hop.words:
        line.append(f"\n  {hop.words}", style=colour)
    for said in hop.said:
        if verbose or not said.good:
            line.append("\n").append(_condition(said, now))
    if verbose and hop.owners:
        owned = "; ".join(f"{name} by {owner}" for name, owner in hop.owners)
        line.append(f"\n  fields: {owned}", style="dim")
    for evidence in hop.evidence:
        line.append(f"\n  evidence: {evidence}", style="dim")
    return line


def _condition(said: Said, now: datetime) -> Text:
    about = f" of {said.about}" if said.about else ""
    line = Text(f"  {said.type}{about} = {said.status} ", style="" if said.good else "yellow")
    line.append(f"{said.reason}", style="bold")
    details = [age(said.since, now), f"by {said.writer}" if said.writer else "", "" if said.current else "older spec"]
    line.append(f" ({', '.join(detail for detail in details if detail)})", style="dim") if any(details) else None
    if said.meaning:
        line.append(f"\n    {said.meaning}", style="dim")
    return line


def verdict(hop: Hop, blamed: Hop | None) -> Text:
    if blamed is None:
        hidden = sum(1 for one in hop.walk() if one.truth is Truth.HIDDEN)
        beyond = f" in what you may read ({hidden} hidden)" if hidden else ""
        return Text(f"Nothing is broken{beyond}.", style="green")
    line = Text("The first broken hop is ", style="").append(str(blamed), style="bold red").append(f": {blamed.words}")
    if blamed.fix:
        line.append(f"\nWhat may help: {blamed.fix}")
    return line


def age(since: str, now: datetime) -> str:
    """As kubectl shows it; empty for a time that is not set."""
    try:
        seconds = (now - datetime.fromisoformat(since)).total_seconds()
    except ValueError:
        return ""
    if seconds > 40 * 365 * 86400:  # the first statement of a CRD, made before anybody had looked
        return "from the start"
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size * 2:
            return f"{int(seconds // size)}{letter}"
    return f"{max(0, int(seconds))}s"


def plain(hop: Hop) -> dict[str, Any]:
    """The same for a program: the tree, and which of its hops is the cause."""
    blamed = culprit(hop)
    return {"tree": _plain(hop), "broken": None if blamed is None else {**_identity(blamed), "words": blamed.words}}


def _identity(hop: Hop) -> dict[str, str]:
    return {
        "apiVersion": hop.resource.api_version,
        "kind": hop.resource.kind,
        "namespace": hop.key.namespace,
        "name": hop.key.name,
    }


def _plain(hop: Hop) -> dict[str, Any]:
    made: dict[str, Any] = {
        **_identity(hop),
        "how": hop.how,
        "truth": hop.truth.value,
        "words": hop.words,
        "fix": hop.fix,
    }
    said = [
        {
            "type": one.type,
            "status": one.status,
            "reason": one.reason,
            "message": one.message,
            "lastTransitionTime": one.since,
            "about": one.about,
            "writer": one.writer,
            "good": one.good,
            "current": one.current,
            "meaning": one.meaning,
        }
        for one in hop.said
    ]
    made["owners"] = dict(hop.owners)
    return {**made, "conditions": said, "evidence": list(hop.evidence), "hops": [_plain(one) for one in hop.hops]}


def now() -> datetime:
    return datetime.now(UTC)
