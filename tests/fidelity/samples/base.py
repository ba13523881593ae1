"""What a sample is, and the errors that any kind may have in its metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """What the fidelity tests do with a kind."""

    api_version: str
    kind: str
    plural: str
    good: Json
    changes: dict[str, Json] = field(default_factory=dict)
    mistakes: dict[str, Json] = field(default_factory=dict)
    status: Json | None = None
    bad_status: Json | None = None
    namespaced: bool = True
    fields: dict[str, str] = field(default_factory=dict)
    row: str = ""
    """How the table calls the kind, where another group has one of the same name."""

    def __repr__(self) -> str:
        return self.row or self.kind

    @property
    def root(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    def collection(self, namespace: str) -> str:
        scope = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{self.root}{scope}/{self.plural}"


def meta_mistakes() -> dict[str, Json]:
    """Possible errors in the metadata of any kind."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}
    return {
        "bad-label-key": {"metadata": {"labels": {"a b": "c"}}},
        "bad-label-value": {"metadata": {"labels": {"a": "-c-"}}},
        "bad-annotation": {"metadata": {"annotations": {"/x": "c"}}},
        "bad-finalizer": {"metadata": {"finalizers": ["a/b/c"]}},
        "bad-owner": {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]}},
        "two-controllers": {
            "metadata": {"ownerReferences": [{**owner, "controller": True}, {**owner, "uid": "2", "controller": True}]}
        },
        "wrong-label-type": {"metadata": {"labels": {"a": 1}}},
    }
