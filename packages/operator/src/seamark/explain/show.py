"""An explanation for a person in a terminal, and for a program as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from seamark.explain.model import Hop, ObservedCondition, Truth, root_cause
from seamark_runtime.conditions import NEVER

MARK = {
    Truth.TRUE: ("✓", "green"),
    Truth.FALSE: ("✗", "bold red"),
    Truth.UNKNOWN: ("?", "yellow"),
    Truth.MISSING: ("✗", "bold red"),
    Truth.HIDDEN: ("·", "dim"),
}


def tree(hop: Hop, now: datetime, *, verbose: bool = False, unknown: str = "") -> RenderableType:
    """`unknown`: why it is not known whether an operator leads."""
    cause = root_cause(hop)
    shown = Tree(_line(hop, cause, now, verbose=verbose), guide_style="dim")
    _branches(shown, hop, cause, now, verbose)
    return Group(shown, Text(), conclusion(hop, cause, unknown))


def _branches(shown: Tree, hop: Hop, cause: Hop | None, now: datetime, verbose: bool) -> None:
    for below in hop.hops:
        _branches(shown.add(_line(below, cause, now, verbose=verbose)), below, cause, now, verbose)


def _line(hop: Hop, cause: Hop | None, now: datetime, *, verbose: bool) -> Text:
    if hop.repeated:
        return Text(f"↑ {hop}  {hop.how}, shown above", style="dim")
    mark, colour = MARK[hop.truth]
    line = Text(f"{mark} ", style=colour)
    line.append(str(hop), style="bold red reverse" if hop is cause else "bold")
    if hop.how:
        line.append(f"  {hop.how}", style="dim")
    if hop.as_of:
        line.append(f"  as of {hop.as_of}", style="yellow")
    if hop.message:
        line.append(f"\n  {hop.message}", style=colour)
    for condition in hop.conditions:
        if verbose or not condition.good:
            line.append("\n").append(_condition(condition, now))
    if verbose and hop.owners:
        owned = "; ".join(f"{name} by {owner}" for name, owner in hop.owners)
        line.append(f"\n  fields: {owned}", style="dim")
    for evidence in hop.evidence:
        line.append(f"\n  evidence: {evidence}", style="dim")
    return line


def _condition(condition: ObservedCondition, now: datetime) -> Text:
    about = f" of {condition.about}" if condition.about else ""
    line = Text(f"  {condition.type}{about} = {condition.status} ", style="" if condition.good else "yellow")
    line.append(f"{condition.reason}", style="bold")
    details = [
        age(condition.since, now),
        f"by {condition.writer}" if condition.writer else "",
        "" if condition.current else "older spec",
    ]
    line.append(f" ({', '.join(detail for detail in details if detail)})", style="dim") if any(details) else None
    if condition.meaning:
        line.append(f"\n    {condition.meaning}", style="dim")
    return line


def conclusion(hop: Hop, cause: Hop | None, unknown: str = "") -> Text:
    if cause is None:
        if as_of := min((below.as_of for below in hop.walk() if below.as_of), default=""):
            return Text(f"No status shows a problem as of {as_of}; since then no operator leads.", style="yellow")
        hidden = sum(1 for below in hop.walk() if below.truth is Truth.HIDDEN)
        beyond = f" in what you may read ({hidden} hidden)" if hidden else ""
        if unknown:
            text = f"No status shows a problem{beyond}. Whether an operator keeps them up to date is not known."
            return Text(text, style="yellow")
        return Text(f"Nothing is broken{beyond}.", style="green")
    line = Text("The first broken hop is ", style="").append(str(cause), style="bold red").append(f": {cause.message}")
    if cause.fix:
        line.append(f"\nWhat may help: {cause.fix}")
    return line


def age(since: str, now: datetime) -> str:
    """As kubectl shows it; empty for a time that is not set."""
    if since == NEVER:
        return "default, not yet judged"
    try:
        seconds = (now - datetime.fromisoformat(since)).total_seconds()
    except ValueError:
        return ""
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size * 2:
            return f"{int(seconds // size)}{letter}"
    return f"{max(0, int(seconds))}s"


def plain(hop: Hop) -> dict[str, Any]:
    """The same for a program: the tree, and which of its hops is the cause."""
    cause = root_cause(hop)
    return {"tree": _plain(hop), "broken": None if cause is None else {**_identity(cause), "words": cause.message}}


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
        "asOf": hop.as_of,
        "words": hop.message,
        "fix": hop.fix,
    }
    conditions = [
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": condition.since,
            "about": condition.about,
            "writer": condition.writer,
            "good": condition.good,
            "current": condition.current,
            "meaning": condition.meaning,
        }
        for condition in hop.conditions
    ]
    made["owners"] = dict(hop.owners)
    return {
        **made,
        "conditions": conditions,
        "evidence": list(hop.evidence),
        "hops": [_plain(condition) for condition in hop.hops],
    }


def now() -> datetime:
    return datetime.now(UTC)
