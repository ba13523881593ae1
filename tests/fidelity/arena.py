"""Runs the same operations on both sides, compares every response and every event, and counts every row."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from seamark_cluster.embedded import User
from seamark_cluster.real.plane import ControlPlane
from tests.fidelity.differences import compare, differences
from tests.fidelity.masks import masked
from tests.fidelity.operation import Operation
from tests.fidelity.operations import Operations
from tests.fidelity.samples import Json, Sample, definitions
from tests.fidelity.sides import Embedded, Real, Reply, Runner, Side

TABLE = Path(__file__).with_name("table.tsv")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FEWEST_REMEMBERED = 100  # events of a kind that a real API server keeps for late watches, whatever their age
USERS = {"admin": User("admin", ("system:masters",), "admin"), "alice": User("alice", ("developers",), "alice")}

Row = tuple[str, str, str, str]
"""Kind, verb, option, and what came of it: a code, and a reason where there is one."""


def table() -> set[Row]:
    rows = set()
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            kind, verb, option, outcome = line.split("\t")
            rows.add((kind, verb, option, outcome))
    return rows


def record(rows: Iterable[Row]) -> None:
    """Writes the table again from the operations that ran. Review the difference before you commit it."""
    lines = ["# What the real API server does: kind, verb, option, answer. Every row is run on both sides."]
    TABLE.write_text("\n".join([*lines, *("\t".join(row) for row in sorted(rows))]) + "\n")


class Arena:
    """A store and a real API server with the same kinds installed."""

    def __init__(self, plane: ControlPlane) -> None:
        self.real = Real(plane)
        self.store = Embedded(USERS)
        self.sides: tuple[Side, Side] = (self.real, self.store)
        self.rows: Counter[Row] = Counter()
        self.operations = 0
        self._numbers = itertools.count()
        for definition in definitions():
            self.ask_both("POST", DEFINITIONS, definition)
        for kind in ("widgets", "gadgets"):
            while self.real.ask("GET", f"/apis/example.com/v1/{kind}", {}, b"", "").code != 200:
                pass  # a definition is served within a second; the test's own timeout bounds this

    def ask_both(self, method: str, path: str, body: Json | None = None, **query: str) -> tuple[Reply, Reply]:
        data = b"" if body is None else json.dumps(body).encode()
        real = self.real.ask(method, path, query, data, "application/json")
        return real, self.store.ask(method, path, query, data, "application/json")

    def session(self) -> Session:
        return Session(self, f"session-{next(self._numbers)}")


class Session:
    """One sequence of operations in a namespace of its own."""

    def __init__(self, arena: Arena, namespace: str) -> None:
        self._arena = arena
        self.namespace = namespace
        arena.ask_both("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        self._runners = (Runner(arena.real, namespace), Runner(arena.store, namespace))
        self._starts = self._revisions()
        self._unseen = 0  # requests since then that may have made an event
        self.mismatches: list[str] = []

    def _revisions(self) -> tuple[str, ...]:
        """The current resourceVersion of each side: that of a list of any kind."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        replies = [runner.side.ask("GET", path, {"limit": "1"}, b"", "") for runner in self._runners]
        return tuple(reply.body["metadata"]["resourceVersion"] for reply in replies)

    def run(self, *operations: Operation, user: str = "admin") -> None:
        for operation in operations:
            real, store = (runner.run(operation, user) for runner in self._runners)
            reason = real.body.get("reason", "") if isinstance(real.body, dict) and real.code >= 400 else ""
            self._arena.rows[(*operation.row, f"{real.code} {reason}".strip())] += 1
            self._arena.operations += 1
            self._unseen += 1
            found = compare(real, store)
            if found:
                self.mismatches.append("\n    ".join([repr(operation), *found]))

    def clean(self, operations: Operations, name: str) -> None:
        """Deletes, on both sides, what would block the next operation."""
        release = {"metadata": {"finalizers": None}}
        self._unseen += 2
        for runner in self._runners:
            path = operations.path(name).replace("$ns", self.namespace).replace("$n", self.namespace)
            media = "application/merge-patch+json"
            runner.side.ask("PATCH", path, {}, json.dumps(release).encode(), media)
            runner.side.ask("DELETE", path, {}, b'{"gracePeriodSeconds": 0}', "application/json")
            if operations.sample.kind == "Namespace":  # no controller finalizes it here
                body = json.dumps({"metadata": {"name": path.rpartition("/")[2]}}).encode()
                runner.side.ask("PUT", f"{path}/finalize", {}, body, "application/json")

    def compare_events_in_time(self, sample: Sample) -> None:
        """Compares events before the real API server may have dropped the first of them."""
        if self._unseen > FEWEST_REMEMBERED // 2:
            self.compare_events([sample])

    def compare_events(self, samples: Iterable[Sample]) -> None:
        """Every event since the start, or since the last comparison, up to an object created for that."""
        for sample in samples:
            operations = Operations(sample)
            self.run(next(operation for operation in operations.creates("zz-last") if operation.row[2] == "plain"))
            last = operations.name("zz-last").replace("$n", self.namespace)
            streams = []
            for runner, start in zip(self._runners, self._starts, strict=True):
                path = sample.collection(self.namespace)
                events = runner.side.follow(path, {"resourceVersion": start}, last)
                ours = [entry for entry in events if _about(entry, self.namespace, sample)]
                streams.append([masked(item) for item in ours])
            found = first_difference(*streams)
            if found:
                self.mismatches.append("\n    ".join([f"events of {sample.kind}", *found]))
            self.clean(operations, "zz-last")
        self._starts = self._revisions()
        self._unseen = 0

    def check(self) -> None:
        assert not self.mismatches, f"{len(self.mismatches)} answers differ\n" + "\n".join(self.mismatches[:20])


def first_difference(real: list[Json], store: list[Json]) -> list[str]:
    """Where two streams differ, with the events before it: everything after that is noise."""
    for index, (item, other) in enumerate(zip(real, store, strict=False)):
        found = differences(item, other)
        if found:
            before = json.dumps(real[index - 1])[:600] if index else "nothing"
            return [f"event {index} of {len(real)} and {len(store)}, after {before}", *found]
    return [] if len(real) == len(store) else [f"{len(real)} events in the real one, {len(store)} in the store"]


def _about(event: Json, namespace: str, sample: Sample) -> bool:
    """Cluster-scoped kinds are shared by all sequences: only names of this one count."""
    return sample.namespaced or event["object"]["metadata"]["name"].startswith(f"{namespace}-")
