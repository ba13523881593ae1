"""The moves: every verb with every option that the table knows, over a sample of a kind.

A move is data. What it needs from the state of a server (an object's uid, its resourceVersion, a continue token) stands
in it as a placeholder, and each side fills in its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fidelity.move import Move, merged
from tests.fidelity.samples import Json, Sample, meta_mistakes

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
NAMES = ("a", "b")


class Moves:
    """All moves of one sample, over the names `a` and `b`. `$ns` and `$n-` in paths and bodies are filled in later."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.collection = sample.collection("$ns")

    def name(self, name: str) -> str:
        return name if self.sample.namespaced else f"$n-{name}"

    def path(self, name: str, subresource: str = "") -> str:
        return f"{self.collection}/{self.name(name)}" + (f"/{subresource}" if subresource else "")

    def body(self, name: str, patch: Any = None, **meta: Any) -> Json:
        sample = self.sample
        body = {
            "apiVersion": sample.api_version,
            "kind": sample.kind,
            "metadata": {"name": self.name(name), **meta},
            **sample.good,
        }
        return merged(body, patch) if patch else body

    def move(  # a move has this many parts
        self,
        verb: str,
        option: str,
        method: str,
        path: str,
        body: Any = None,
        media: str = "application/json",
        **query: str,
    ) -> Move:
        query = {key.rstrip("_"): value for key, value in query.items()}
        of = path.split("/status", maxsplit=1)[0]
        return Move((repr(self.sample), verb, option), method, path, body, media, query, of)

    # --- the moves by verb

    def creates(self, name: str) -> list[Move]:
        def create(option: str, body: Any, **query: str) -> Move:
            return self.move("create", option, "POST", self.collection, body, **query)

        moves = [
            create("plain", self.body(name)),
            create("finalizer", self.body(name, finalizers=["example.com/hold"])),
            create("labels", self.body(name, labels={"app": "x"}, annotations={"note": "y"})),
            create("dry-run", self.body(name), dryRun="All"),
            create("field-manager", self.body(name), fieldManager="maker"),
            create("unknown-warn", {**self.body(name), "nonsense": 1}),
            create("unknown-strict", {**self.body(name), "nonsense": 1}, fieldValidation="Strict"),
            create("unknown-ignore", {**self.body(name), "nonsense": 1}, fieldValidation="Ignore"),
            create(
                "generate-name",
                merged(self.body(name), {"metadata": {"name": None, "generateName": "gen-"}}),
                dryRun="All",
            ),
            create("no-name", merged(self.body(name), {"metadata": {"name": None}})),
            create("bad-name", merged(self.body(name), {"metadata": {"name": "Bad Name/%"}})),
            create("wrong-kind", {**self.body(name), "kind": "Nonsense"}),
            create("wrong-version", {**self.body(name), "apiVersion": "example.com/v9"}),
            create("no-kind", {key: value for key, value in self.body(name).items() if key != "kind"}),
            create("with-version", self.body(name, resourceVersion="1")),
            create(
                "system-fields", self.body(name, uid="mine", generation=7, creationTimestamp="2020-01-01T00:00:00Z")
            ),
            create("deletion-timestamp", self.body(name, deletionTimestamp="2020-01-01T00:00:00Z")),
        ]
        if self.sample.namespaced:
            moves.append(create("wrong-namespace", self.body(name, namespace="elsewhere")))
            moves.append(create("own-namespace", self.body(name, namespace="$ns")))
        else:
            moves.append(create("given-namespace", self.body(name, namespace="default")))
        if self.sample.kind == "Service":
            # The API server allocates an address before it looks at the name, and complains about that.
            moves = [move for move in moves if move.row[2] not in ("no-name", "bad-name")]
        moves += [create(f"change-{word}", self.body(name, patch)) for word, patch in self.sample.changes.items()]
        mistakes = {**self.sample.mistakes, **meta_mistakes()}
        moves += [create(f"mistake-{word}", self.body(name, patch)) for word, patch in mistakes.items()]
        return moves

    def reads(self, name: str) -> list[Move]:
        def look(option: str, **query: str) -> Move:
            return self.move("list", option, "GET", self.collection, **query)

        moves = [
            self.move("get", "plain", "GET", self.path(name)),
            self.move("get", "missing", "GET", self.path("missing")),
        ]
        if not self.sample.namespaced:
            return [*moves, look("selector-name", fieldSelector="metadata.name=$n-a")]
        moves += [
            look("plain"),
            look("labels", labelSelector="app=x"),
            look("labels-not", labelSelector="app!=x"),
            look("labels-in", labelSelector="app in (x,y),!other"),
            look("labels-exists", labelSelector="app"),
            look("labels-bad", labelSelector="a b c"),
            look("field-name", fieldSelector=f"metadata.name={name}"),
            look("field-not-name", fieldSelector=f"metadata.name!={name}"),
            look("field-unknown", fieldSelector="spec.nonsense=1"),
            look("limit", limit="1"),
            look("continue", limit="1", continue_="$continue"),
            look("continue-bad", continue_="nonsense"),
            look("exact-now", resourceVersion="$listversion", resourceVersionMatch="Exact"),
            look("match-alone", resourceVersionMatch="Exact"),
            look("match-bad", resourceVersion="1", resourceVersionMatch="Nonsense"),
            look("exact-0", resourceVersion="0", resourceVersionMatch="Exact"),
            look("initial-events", sendInitialEvents="true"),
            look("version-bad", resourceVersion="nonsense"),
        ]
        moves += [look(f"field-{key}", fieldSelector=f"{key}={value}") for key, value in self.sample.fields.items()]
        return moves

    def updates(self, name: str) -> list[Move]:
        path = self.path(name)

        def update(option: str, body: Any, **query: str) -> Move:
            return self.move("update", option, "PUT", path, body, **query)

        fresh = {"resourceVersion": "$rv"}
        moves = [
            update("fresh", self.body(name, **fresh, labels={"app": "x"})),
            update("same", "$object"),
            update("stale", self.body(name, resourceVersion="1")),
            update("unconditional", self.body(name, labels={"app": "y"})),
            update("bad-version", self.body(name, resourceVersion="nonsense")),
            update("own-uid", self.body(name, **fresh, uid="$uid")),
            update("wrong-uid", self.body(name, **fresh, uid="wrong")),
            update("wrong-name", self.body("other", **fresh)),
            update("no-name", merged(self.body(name, **fresh), {"metadata": {"name": None}})),
            update("dry-run", self.body(name, **fresh, labels={"dry": "run"}), dryRun="All"),
            update("finalizers", self.body(name, **fresh, finalizers=["example.com/hold", "example.com/more"])),
            update("release", self.body(name, **fresh)),
            update("reset-managed", self.body(name, **fresh, managedFields=[{}])),
            update("unknown-strict", {**self.body(name, **fresh), "nonsense": 1}, fieldValidation="Strict"),
            update("wrong-kind", {**self.body(name, **fresh), "kind": "Nonsense"}),
        ]
        moves += [
            update(f"change-{word}", self.body(name, patch, **fresh)) for word, patch in self.sample.changes.items()
        ]
        mistakes = {**self.sample.mistakes, **meta_mistakes()}
        moves += [update(f"mistake-{word}", self.body(name, patch, **fresh)) for word, patch in mistakes.items()]
        return moves

    def patches(self, name: str) -> list[Move]:
        path = self.path(name)

        def patch(verb: str, option: str, body: Any, media: str, **query: str) -> Move:
            return self.move(verb, option, "PATCH", path, body, media, **query)

        moves = [
            patch("merge", "label", {"metadata": {"labels": {"app": "x"}}}, MERGE),
            patch("merge", "no-labels", {"metadata": {"labels": None}}, MERGE),
            patch("merge", "nothing", {}, MERGE),
            patch("merge", "own-version", {"metadata": {"resourceVersion": "$rv", "labels": {"v": "1"}}}, MERGE),
            patch("merge", "stale", {"metadata": {"resourceVersion": "1", "labels": {"v": "2"}}}, MERGE),
            patch("merge", "wrong-uid", {"metadata": {"uid": "wrong"}}, MERGE),
            patch("merge", "rename", {"metadata": {"name": "other"}}, MERGE),
            patch("merge", "release", {"metadata": {"finalizers": None}}, MERGE),
            patch("merge", "dry-run", {"metadata": {"labels": {"dry": "run"}}}, MERGE, dryRun="All"),
            patch("merge", "manager", {"metadata": {"annotations": {"by": "me"}}}, MERGE, fieldManager="merger"),
            patch("merge", "unknown-strict", {"nonsense": 1}, MERGE, fieldValidation="Strict"),
            patch("merge", "unknown-warn", {"nonsense": 1}, MERGE),
            patch("merge", "force", {"metadata": {"labels": {"app": "x"}}}, MERGE, force="true"),
            patch("merge", "no-object", [], MERGE),
            patch("merge", "generation", {"metadata": {"generation": 77}}, MERGE),
            patch("json", "add", [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}], JSON_PATCH),
            patch("json", "remove", [{"op": "remove", "path": "/metadata/labels"}], JSON_PATCH),
            patch("json", "test-uid", [{"op": "test", "path": "/metadata/uid", "value": "$uid"}], JSON_PATCH),
            patch("json", "test-wrong", [{"op": "test", "path": "/metadata/uid", "value": "wrong"}], JSON_PATCH),
            patch("json", "missing-path", [{"op": "replace", "path": "/metadata/nonsense/x", "value": 1}], JSON_PATCH),
            patch("json", "bad-op", [{"op": "nonsense", "path": "/metadata/labels"}], JSON_PATCH),
            patch("json", "no-list", {"op": "add"}, JSON_PATCH),
            patch(
                "json",
                "copy",
                [{"op": "copy", "from": "/metadata/name", "path": "/metadata/annotations/name"}],
                JSON_PATCH,
            ),
            patch("strategic", "label", {"metadata": {"labels": {"s": "1"}}}, STRATEGIC),
            patch("strategic", "replace", {"metadata": {"labels": {"$patch": "replace", "only": "1"}}}, STRATEGIC),
            patch("strategic", "finalizer", {"metadata": {"finalizers": ["example.com/hold"]}}, STRATEGIC),
            patch(
                "strategic",
                "delete-finalizer",
                {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"]}},
                STRATEGIC,
            ),
            patch("patch", "bad-media", {}, "application/nonsense"),
        ]
        for word, change in self.sample.changes.items():
            moves.append(patch("merge", f"change-{word}", change, MERGE))
            moves.append(patch("strategic", f"change-{word}", change, STRATEGIC))
        moves += [patch("merge", f"mistake-{word}", change, MERGE) for word, change in self.sample.mistakes.items()]
        return moves

    def applies(self, name: str) -> list[Move]:
        path = self.path(name)
        kind = {"apiVersion": self.sample.api_version, "kind": self.sample.kind}

        def apply(option: str, body: Any, manager: str = "one", **query: str) -> Move:
            return self.move("apply", option, "PATCH", path, body, APPLY, fieldManager=manager, **query)

        moves = [
            apply("good", self.body(name)),
            apply("good-two", self.body(name), "two"),
            apply("labels", self.body(name, labels={"app": "x"})),
            apply("labels-two", self.body(name, labels={"app": "y"}), "two"),
            apply("labels-force", self.body(name, labels={"app": "z"}), "two", force="true"),
            apply("finalizer", self.body(name, finalizers=["example.com/hold"]), "three"),
            apply("metadata-only", {**kind, "metadata": {"name": self.name(name)}}, "three"),
            apply("no-metadata", {**kind}, "three"),
            apply("own-version", self.body(name, resourceVersion="$rv")),
            apply("stale", self.body(name, resourceVersion="1")),
            apply("own-uid", self.body(name, uid="$uid"), force="true"),
            apply("wrong-uid", self.body(name, uid="wrong"), force="true"),
            apply("wrong-name", self.body("other")),
            apply("managed", self.body(name, managedFields=[{"manager": "x"}])),
            apply("dry-run", self.body(name, labels={"dry": "run"}), "two", dryRun="All", force="true"),
            apply("wrong-kind", {**self.body(name), "kind": "Nonsense"}),
            apply("unknown-strict", {**self.body(name), "nonsense": 1}, fieldValidation="Strict"),
            apply("no-kind", {"metadata": {"name": self.name(name)}}),
            self.move("apply", "no-manager", "PATCH", path, self.body(name), APPLY),
        ]
        for word, change in self.sample.changes.items():
            moves.append(apply(f"change-{word}", self.body(name, change)))
            moves.append(apply(f"force-{word}", self.body(name, change), "two", force="true"))
        moves += [
            apply(f"mistake-{word}", self.body(name, change), force="true")
            for word, change in self.sample.mistakes.items()
        ]
        return moves

    def statuses(self, name: str) -> list[Move]:
        path = self.path(name, "status")
        kind = {"apiVersion": self.sample.api_version, "kind": self.sample.kind}
        status = self.sample.status
        if status is None:
            return [self.move("status", "none", "GET", path)]

        def move(option: str, method: str, body: Any = None, media: str = "application/json", **query: str) -> Move:
            return self.move("status", option, method, path, body, media, **query)

        fresh = {"resourceVersion": "$rv"}
        moves = [
            move("get", "GET"),
            move("update", "PUT", {**self.body(name, **fresh), "status": status}),
            move("update-stale", "PUT", {**self.body(name, resourceVersion="1"), "status": status}),
            move("update-label", "PUT", {**self.body(name, **fresh, labels={"by": "status"}), "status": status}),
            move("merge", "PATCH", {"status": status}, MERGE),
            move(
                "merge-spec",
                "PATCH",
                {"spec": {"nonsense": 1}, "metadata": {"labels": {"m": "1"}}, "status": status},
                MERGE,
            ),
            move("merge-wrong-uid", "PATCH", {"metadata": {"uid": "wrong"}, "status": status}, MERGE),
            move("merge-stale", "PATCH", {"metadata": {"resourceVersion": "1"}, "status": status}, MERGE),
            move("merge-none", "PATCH", {"status": None}, MERGE),
            move("json-test", "PATCH", [{"op": "test", "path": "/metadata/uid", "value": "wrong"}], JSON_PATCH),
            move("apply", "PATCH", {**kind, "status": status}, APPLY, fieldManager="one"),
            move("apply-two", "PATCH", {**kind, "status": status}, APPLY, fieldManager="two"),
            move("apply-force", "PATCH", {**kind, "status": status}, APPLY, fieldManager="two", force="true"),
            move(
                "apply-stale",
                "PATCH",
                {**kind, "metadata": {"resourceVersion": "1"}, "status": status},
                APPLY,
                fieldManager="one",
            ),
            move(
                "apply-version",
                "PATCH",
                {**kind, "metadata": fresh, "status": status},
                APPLY,
                fieldManager="one",
                force="true",
            ),
            move(
                "apply-wrong-uid",
                "PATCH",
                {**kind, "metadata": {"uid": "wrong"}, "status": status},
                APPLY,
                fieldManager="one",
                force="true",
            ),
            move("apply-empty", "PATCH", {**kind, "status": {}}, APPLY, fieldManager="one"),
            move("delete", "DELETE"),
        ]
        if self.sample.bad_status is not None:
            moves.append(move("merge-bad", "PATCH", {"status": self.sample.bad_status}, MERGE))
        return moves

    def deletes(self, name: str) -> list[Move]:
        path = self.path(name)

        def delete(option: str, body: Any = None, **query: str) -> Move:
            return self.move("delete", option, "DELETE", path, body, **query)

        return [
            delete("plain"),
            delete("background", {"propagationPolicy": "Background"}),
            delete("foreground", {"propagationPolicy": "Foreground"}),
            delete("orphan", {"propagationPolicy": "Orphan"}),
            delete("query-policy", propagationPolicy="Foreground"),
            delete("bad-policy", {"propagationPolicy": "Nonsense"}),
            delete("orphan-and-policy", {"propagationPolicy": "Orphan", "orphanDependents": True}),
            delete("own-uid", {"preconditions": {"uid": "$uid"}}),
            delete("wrong-uid", {"preconditions": {"uid": "wrong"}}),
            delete("own-version", {"preconditions": {"resourceVersion": "$rv"}}),
            delete("wrong-version", {"preconditions": {"resourceVersion": "1"}}),
            delete("dry-run", dryRun="All"),
            delete("grace-0", {"gracePeriodSeconds": 0}),
            delete("grace-5", {"gracePeriodSeconds": 5}),
            self.move(
                "delete",
                "collection",
                "DELETE",
                self.collection,
                None,
                labelSelector="app=x" if self.sample.namespaced else "app=$n",
            ),
        ]

    def all(self, name: str) -> list[Move]:
        groups: list[Callable[[str], list[Move]]] = [
            self.creates,
            self.reads,
            self.updates,
            self.patches,
            self.applies,
            self.statuses,
            self.deletes,
        ]
        return [move for group in groups for move in group(name)]
