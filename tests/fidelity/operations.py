"""The operations: every verb with every option of the table, on a sample of a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fidelity.operation import Operation, merged
from tests.fidelity.samples import Json, Sample, meta_mistakes

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
NAMES = ("a", "b")


class Operations:
    """All operations of one sample, on the names `a` and `b`. `$ns` and `$n-` in paths and bodies are placeholders."""

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

    def operation(  # an operation has this many parts
        self,
        verb: str,
        option: str,
        method: str,
        path: str,
        body: Any = None,
        media: str = "application/json",
        **query: str,
    ) -> Operation:
        query = {key.rstrip("_"): value for key, value in query.items()}
        of = path.split("/status", maxsplit=1)[0]
        return Operation((repr(self.sample), verb, option), method, path, body, media, query, of)

    # --- the operations by verb

    def creates(self, name: str) -> list[Operation]:
        def create(option: str, body: Any, **query: str) -> Operation:
            return self.operation("create", option, "POST", self.collection, body, **query)

        operations = [
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
            operations.append(create("wrong-namespace", self.body(name, namespace="elsewhere")))
            operations.append(create("own-namespace", self.body(name, namespace="$ns")))
        else:
            operations.append(create("given-namespace", self.body(name, namespace="default")))
        if self.sample.kind == "Service":
            # The API server allocates an address before it validates the name, and reports that first.
            operations = [operation for operation in operations if operation.row[2] not in ("no-name", "bad-name")]
        operations += [
            create(f"change-{label}", self.body(name, patch)) for label, patch in self.sample.changes.items()
        ]
        mistakes = {**self.sample.mistakes, **meta_mistakes()}
        operations += [create(f"mistake-{label}", self.body(name, patch)) for label, patch in mistakes.items()]
        return operations

    def reads(self, name: str) -> list[Operation]:
        def look(option: str, **query: str) -> Operation:
            return self.operation("list", option, "GET", self.collection, **query)

        operations = [
            self.operation("get", "plain", "GET", self.path(name)),
            self.operation("get", "missing", "GET", self.path("missing")),
        ]
        if not self.sample.namespaced:
            return [*operations, look("selector-name", fieldSelector="metadata.name=$n-a")]
        operations += [
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
        operations += [
            look(f"field-{key}", fieldSelector=f"{key}={value}") for key, value in self.sample.fields.items()
        ]
        return operations

    def updates(self, name: str) -> list[Operation]:
        path = self.path(name)

        def update(option: str, body: Any, **query: str) -> Operation:
            return self.operation("update", option, "PUT", path, body, **query)

        fresh = {"resourceVersion": "$rv"}
        operations = [
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
        operations += [
            update(f"change-{label}", self.body(name, patch, **fresh)) for label, patch in self.sample.changes.items()
        ]
        mistakes = {**self.sample.mistakes, **meta_mistakes()}
        operations += [update(f"mistake-{label}", self.body(name, patch, **fresh)) for label, patch in mistakes.items()]
        return operations

    def patches(self, name: str) -> list[Operation]:
        path = self.path(name)

        def patch(verb: str, option: str, body: Any, media: str, **query: str) -> Operation:
            return self.operation(verb, option, "PATCH", path, body, media, **query)

        operations = [
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
        for label, change in self.sample.changes.items():
            operations.append(patch("merge", f"change-{label}", change, MERGE))
            operations.append(patch("strategic", f"change-{label}", change, STRATEGIC))
        operations += [
            patch("merge", f"mistake-{label}", change, MERGE) for label, change in self.sample.mistakes.items()
        ]
        return operations

    def applies(self, name: str) -> list[Operation]:
        path = self.path(name)
        kind = {"apiVersion": self.sample.api_version, "kind": self.sample.kind}

        def apply(option: str, body: Any, manager: str = "one", **query: str) -> Operation:
            return self.operation("apply", option, "PATCH", path, body, APPLY, fieldManager=manager, **query)

        operations = [
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
            self.operation("apply", "no-manager", "PATCH", path, self.body(name), APPLY),
        ]
        for label, change in self.sample.changes.items():
            operations.append(apply(f"change-{label}", self.body(name, change)))
            operations.append(apply(f"force-{label}", self.body(name, change), "two", force="true"))
        operations += [
            apply(f"mistake-{label}", self.body(name, change), force="true")
            for label, change in self.sample.mistakes.items()
        ]
        return operations

    def statuses(self, name: str) -> list[Operation]:
        path = self.path(name, "status")
        kind = {"apiVersion": self.sample.api_version, "kind": self.sample.kind}
        status = self.sample.status
        if status is None:
            return [self.operation("status", "none", "GET", path)]

        def operation(
            option: str, method: str, body: Any = None, media: str = "application/json", **query: str
        ) -> Operation:
            return self.operation("status", option, method, path, body, media, **query)

        fresh = {"resourceVersion": "$rv"}
        operations = [
            operation("get", "GET"),
            operation("update", "PUT", {**self.body(name, **fresh), "status": status}),
            operation("update-stale", "PUT", {**self.body(name, resourceVersion="1"), "status": status}),
            operation("update-label", "PUT", {**self.body(name, **fresh, labels={"by": "status"}), "status": status}),
            operation("merge", "PATCH", {"status": status}, MERGE),
            operation(
                "merge-spec",
                "PATCH",
                {"spec": {"nonsense": 1}, "metadata": {"labels": {"m": "1"}}, "status": status},
                MERGE,
            ),
            operation("merge-wrong-uid", "PATCH", {"metadata": {"uid": "wrong"}, "status": status}, MERGE),
            operation("merge-stale", "PATCH", {"metadata": {"resourceVersion": "1"}, "status": status}, MERGE),
            operation("merge-none", "PATCH", {"status": None}, MERGE),
            operation("json-test", "PATCH", [{"op": "test", "path": "/metadata/uid", "value": "wrong"}], JSON_PATCH),
            operation("apply", "PATCH", {**kind, "status": status}, APPLY, fieldManager="one"),
            operation("apply-two", "PATCH", {**kind, "status": status}, APPLY, fieldManager="two"),
            operation("apply-force", "PATCH", {**kind, "status": status}, APPLY, fieldManager="two", force="true"),
            operation(
                "apply-stale",
                "PATCH",
                {**kind, "metadata": {"resourceVersion": "1"}, "status": status},
                APPLY,
                fieldManager="one",
            ),
            operation(
                "apply-version",
                "PATCH",
                {**kind, "metadata": fresh, "status": status},
                APPLY,
                fieldManager="one",
                force="true",
            ),
            operation(
                "apply-wrong-uid",
                "PATCH",
                {**kind, "metadata": {"uid": "wrong"}, "status": status},
                APPLY,
                fieldManager="one",
                force="true",
            ),
            operation("apply-empty", "PATCH", {**kind, "status": {}}, APPLY, fieldManager="one"),
            operation("delete", "DELETE"),
        ]
        if self.sample.bad_status is not None:
            operations.append(operation("merge-bad", "PATCH", {"status": self.sample.bad_status}, MERGE))
        return operations

    def deletes(self, name: str) -> list[Operation]:
        path = self.path(name)

        def delete(option: str, body: Any = None, **query: str) -> Operation:
            return self.operation("delete", option, "DELETE", path, body, **query)

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
            self.operation(
                "delete",
                "collection",
                "DELETE",
                self.collection,
                None,
                labelSelector="app=x" if self.sample.namespaced else "app=$n",
            ),
        ]

    def all(self, name: str) -> list[Operation]:
        groups: list[Callable[[str], list[Operation]]] = [
            self.creates,
            self.reads,
            self.updates,
            self.patches,
            self.applies,
            self.statuses,
            self.deletes,
        ]
        return [operation for group in groups for operation in group(name)]
