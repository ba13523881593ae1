"""CustomResourceDefinitions: errors, defaults, and their status when they are served."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.fidelity.arena import DEFINITIONS, Arena
from tests.fidelity.differences import differences
from tests.fidelity.masks import comparable
from tests.fidelity.operation import merged
from tests.fidelity.operations import MERGE
from tests.fidelity.samples import Json, definitions
from tests.fidelity.sides import Reply
from tests.fidelity.test_access import eventually

WIDGET = definitions()[0]
TEXT = {"type": "string"}


def definition(plural: str) -> Json:
    names = {"plural": plural, "kind": plural.title(), "singular": plural, "listKind": f"{plural.title()}List"}
    body: Json = merged(copy.deepcopy(WIDGET), {"metadata": {"name": f"{plural}.example.org"}})
    body["spec"] = {**body["spec"], "group": "example.org", "names": names}
    return body


def with_spec(**schema: Any) -> Json:
    """A definition whose spec has one field."""
    body = definition("thing")
    spec = {"type": "object", "properties": {"field": {**TEXT, **schema}}}
    body["spec"]["versions"] = [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }
    ]
    return body


def versions(**change: Any) -> Json:
    body = definition("thing")
    body["spec"]["versions"] = [{**body["spec"]["versions"][0], **change}]
    return body


CASES: dict[str, Json] = {
    "plain": definition("thing"),
    "no-names": merged(definition("thing"), {"spec": {"names": {"singular": None, "listKind": None}}}),
    "wrong-name": merged(definition("thing"), {"metadata": {"name": "other.example.org"}}),
    "no-group": merged(definition("thing"), {"spec": {"group": None}}),
    "bad-group": merged(definition("thing"), {"spec": {"group": "A B"}}),
    "bad-scope": merged(definition("thing"), {"spec": {"scope": "Nonsense"}}),
    "no-kind": merged(definition("thing"), {"spec": {"names": {"kind": None, "listKind": None}}}),
    "no-storage": versions(storage=False),
    "no-schema": versions(schema=None, selectableFields=None),
    "bad-version": versions(name="V 1"),
    "default": with_spec(default="x"),
    "enum": with_spec(enum=["a", "b"]),
    "rule": with_spec(**{"x-kubernetes-validations": [{"rule": "self != 'x'"}]}),
    "empty-rule": with_spec(**{"x-kubernetes-validations": [{"rule": " "}]}),
}


def ask(arena: Arena, method: str, path: str, body: Any = None, **query: str) -> tuple[Reply, Reply]:
    data = b"" if body is None else json.dumps(body).encode()
    media = MERGE if method == "PATCH" else "application/json"
    arena.operations += 1
    return arena.real.ask(method, path, query, data, media), arena.store.ask(method, path, query, data, media)


def different(real: Reply, store: Reply) -> list[str]:
    found = [] if real.code == store.code else [f"code: real={real.code} store={store.code}"]
    return found + differences(_bare(real), _bare(store))


def _bare(reply: Reply) -> Any:
    """Without managedFields: on the real side they depend on how far its controllers are."""
    shown = comparable(reply.code, reply.body)
    if isinstance(shown, dict) and isinstance(shown.get("metadata"), dict):
        shown["metadata"].pop("managedFields", None)
    for cause in ((shown.get("details") or {}).get("causes") or ()) if isinstance(shown, dict) else ():
        before, bracket, words = cause["message"].rpartition("]: ")
        if bracket and before.startswith("Invalid value: ["):
            cause["message"] = words  # Go quotes its own structs
    return shown


@pytest.mark.parametrize("case", CASES)
def test_a_definition_is_accepted_or_refused_alike(arena: Arena, case: str) -> None:
    real, store = ask(arena, "POST", DEFINITIONS, CASES[case], dryRun="All")
    for reply in (real, store):
        reply.body.get("status", {}) if reply.code >= 300 else reply.body.pop("status", None)
    found = different(real, store)
    assert not found, "\n".join(found)


def test_a_definition_lives(arena: Arena) -> None:
    path = f"{DEFINITIONS}/lives.example.org"
    body = definition("lives")
    ask(arena, "POST", DEFINITIONS, body)
    eventually(lambda: not different(*ask(arena, "GET", path)))
    objects = "/apis/example.org/v1/namespaces/default/lives"
    thing = {"apiVersion": "example.org/v1", "kind": "Lives", "metadata": {"name": "a"}, "spec": {"color": "red"}}
    eventually(lambda: ask(arena, "GET", objects)[0].code == 200)
    eventually(lambda: ask(arena, "POST", objects, thing)[0].code != 404)
    again = ask(arena, "POST", DEFINITIONS, body)
    assert [reply.code for reply in again] == [409, 409]
    ask(arena, "PATCH", path, {"spec": {"names": {"shortNames": ["lv"]}}})
    eventually(lambda: not different(*ask(arena, "GET", path)))
    frozen = ask(arena, "PATCH", path, {"spec": {"scope": "Cluster"}})
    assert not different(*frozen)
    ask(arena, "DELETE", path)
    eventually(lambda: not different(*ask(arena, "GET", path)))
    eventually(lambda: ask(arena, "GET", objects)[0].code == 404)
    assert ask(arena, "GET", objects)[1].code == 404
