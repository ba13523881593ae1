"""What one tenant can do, and what nobody is told."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "untrusted input"
FIRST = ("tenants/0/calm/",)

BUGS = (
    Bug(
        "a child by its labels alone",
        KIND,
        "what names an owner in its labels is a child, in whatever namespace: a tenant can forge children of others",
        (
            Change("seamark_runtime.ownership", "[(child.metadata.namespace, owner) for", '[("", owner) for'),
            Change("seamark_runtime.ownership", "return (self.place(owner, kind), ", 'return ("", '),
        ),
        FIRST,
    ),
    Bug(
        "one object stops its family",
        KIND,
        "while one object is overwritten by another controller, no object of its kind is reconciled",
        (
            Change(
                "seamark_runtime.competing",
                "self.facts.put(token, ",
                "self.facts.put(token[0], ",
            ),
            Change("seamark_runtime.competing", "for one in (token, *keys)", "for one in (token[0], *keys)"),
        ),
        FIRST,
    ),
    Bug(
        "writes again for ever",
        KIND,
        "a status that another controller overwrites is written again each time",
        (Change("seamark_runtime.competing", "            if times >= UNDONE:\n", "            if False:\n"),),
        FIRST,
    ),
    Bug(
        "refused delete ends the reconcile",
        KIND,
        "a refused delete raises before the status is judged, and nobody is told",
        (
            Change(
                "seamark_runtime.apply",
                "            except (Refused, Retry) as error:\n                if isinstance(error, Retry):\n",
                "            except (Refused, Retry) as error:\n"
                "                if isinstance(error, Refused):\n"
                "                    raise\n"
                "                if isinstance(error, Retry):\n",
            ),
        ),
        FIRST,
    ),
)
