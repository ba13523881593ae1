"""Every right that a Score controller has is used: the audit log tells (docs/guides/score.md, "For the platform").

All four parts run, each under its own account, and a hard life (`hardship`): what is done only in need is done, too.
What the contract of the Score kinds grants is granted whether or not it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.score.authority.roles import CONTRACT, documents, needed
from seamark.families.score.family import CRDS, SCORE
from seamark.families.score.model.ownership import OWNER, PART_OF
from seamark.families.score.model.runtime import MANAGER, NAMESPACE_LABEL, WORKLOAD_LABEL
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime import events
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import Gateway, HTTPRoute, ListenerSet, ReferenceGrant
from tests.cluster.hardship import hard_running
from tests.cluster.requests import install, request
from tests.cluster.rights import refused, used
from tests.cluster.score_kubernetes import Kubernetes
from tests.cluster.score_operator import MERGE
from tests.cluster.test_score_authority import PATHS, SYSTEM, name, token

CONFIG = """
spec:
  profiles: [{name: kube, backends: [{backendId: k, runtimeClass: kubernetes}]}]
  defaults: {profile: kube}
  provisioners: [{type: greeting, values: {word: "%s {{.params.who}}"}}]
"""
APPROVED = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/3328"}
GATEWAY_API = (Gateway, HTTPRoute, ListenerSet, ReferenceGrant)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """One of its own: its audit log is about this alone."""
    with ControlPlane() as plane:
        gateway_api = (CRD(kind=kind, annotations=APPROVED) for kind in GATEWAY_API)
        for crd in (*CRDS, *gateway_api, DNS_ENDPOINT):
            install(plane, crd)
        assert request(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": SYSTEM}}).code == 201
        for document in documents(SCORE, SYSTEM):
            made = request(plane, "POST", f"{PATHS[document['kind']]}?fieldValidation=Strict", document)
            assert made.code == 201, made.body
        yield plane


def configure(plane: ControlPlane, word: str) -> None:
    path = f"/api/v1/namespaces/{SYSTEM}/configmaps"
    body = {"metadata": {"name": "orchestrator-config"}, "data": {"config.yaml": CONFIG % word}}
    made = request(plane, "POST", path, body)
    if made.code == 409:
        made = request(plane, "PATCH", f"{path}/orchestrator-config", {"data": body["data"]}, content_type=MERGE)
    assert made.code in (200, 201), made.body


FULL: dict[str, Any] = {
    "containers": {
        "main": {
            "image": "nginx",
            "variables": {"WORD": "${resources.hello.word}"},
            "files": [{"target": "/etc/a", "content": "one"}],
            "volumes": [{"target": "/data", "source": "${resources.disk}"}],
        }
    },
    "service": {"ports": [{"name": "web", "port": 80}]},
    "resources": {
        "hello": {"type": "greeting", "params": {"who": "you"}},
        "keys": {"type": "secret", "params": {"name": "words"}},
        "disk": {"type": "volume", "params": {"size": "1Gi"}},
        "way": {"type": "route", "params": {"host": "a.example.com", "port": "80"}},
    },
}


class Life(Kubernetes):
    """The life of one Workload in which everything happens that can."""

    def rendered(self, kind: str, path: str = "", *, there: bool = True) -> None:
        self.until(
            lambda: bool(self.object(path or f"{kind}/app")) == there, f"{kind} is {'' if there else 'not '}there"
        )

    def generation_is_rendered(self, kind: str = "deployments") -> None:
        def so() -> bool:
            wanted = str(self.get("workloads")["metadata"]["generation"])
            annotations = (self.object(f"apps:{kind}/app").get("metadata") or {}).get("annotations") or {}
            return annotations.get("score.dev/workload-generation") == wanted

        self.until(so, "the present generation is rendered")

    def stray(self, path: str, body: dict[str, Any], labels: dict[str, str]) -> None:
        """An object with our marks that has no owner is deleted."""
        metadata = {**body.get("metadata", {}), "name": "stray", "labels": {**PART_OF, **labels}}
        self.make(path, {**body, "metadata": metadata})
        self.until(lambda: not self.object(f"{path}/stray"), f"the stray of {path} is gone")


def test_every_right_is_used(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "WINDOW", 0.0)
    life = Life(plane, "default")
    configure(plane, "hello")
    life.make("core:secrets", {"metadata": {"name": "words"}, "stringData": {"word": "x"}})
    with ExitStack() as stack:
        for part in SCORE:
            stack.enter_context(hard_running(plane, part.controllers(), token(plane, part.name)))
        live(plane, life)
        for part in SCORE:
            entries = plane.audit.entries()
            left = needed(part) - used(entries, name(part.name)) - CONTRACT.get(part.name, set())
            assert not left, (part.name, sorted(left))
            assert refused(entries, name(part.name)) == []


def live(plane: ControlPlane, life: Life) -> None:
    life.apply(**FULL)
    life.generation_is_rendered()
    life.rendered("routes", "gateway.networking.k8s.io:httproutes/app.way")
    life.pods_are("True")
    life.until_condition("ClaimsReady", "True")
    configure(plane, "good day")  # the outputs change, and the copy of the configuration
    outputs = "core:configmaps/app.hello.outputs"
    life.until(lambda: life.object(outputs)["data"]["word"] == "good day you", "other outputs")
    main = {"image": "nginx:2", "files": [{"target": "/etc/a", "content": "two"}]}
    others = {"disk": {"params": {"size": "2Gi"}}, "way": {"params": {"host": "b.example.com", "port": "web"}}}
    ports = [{"name": "web", "port": 8080}]
    life.edit({"spec": {"containers": {"main": main}, "service": {"ports": ports}, "resources": others}})
    life.generation_is_rendered()
    life.edit({"metadata": {"annotations": {"k8s.score.dev/kind": "StatefulSet"}}, "spec": {"profile": "kube"}})
    life.generation_is_rendered("statefulsets")
    life.rendered("deployments", "apps:deployments/app", there=False)
    life.edit({"spec": {"containers": {"main": {"image": "nginx:3"}}}})
    life.generation_is_rendered("statefulsets")
    life.edit({"metadata": {"annotations": {"k8s.score.dev/kind": None}}, "spec": {"profile": ""}})
    life.generation_is_rendered()
    life.rendered("statefulsets", "apps:statefulsets/app", there=False)
    bare = {"files": None, "volumes": None, "variables": None}
    life.edit({"spec": {"containers": {"main": bare}, "service": None, "resources": None}})
    for path in ("core:services/app", "core:configmaps/app.main.files", "gateway.networking.k8s.io:httproutes/app.way"):
        life.rendered(path, path, there=False)
    strays(plane, life)


def strays(plane: ControlPlane, life: Life) -> None:
    uid = life.get("workloads")["metadata"]["uid"]
    life.apply("claims", resources={"one": {"type": "dns"}})
    life.until(lambda: bool(life.get("resourceclaims", "claims.one")), "a claim")
    claim = life.get("resourceclaims", "claims.one")["metadata"]["uid"]
    ref = {"name": "app", "uid": uid}
    plan = {"workloadRef": ref, "observedWorkloadGeneration": 1, "runtimeClass": "none"}
    kind = {"apiVersion": "score.dev/v1b1", "kind": "WorkloadPlan", "spec": plan}
    life.stray("score.dev/v1b1:workloadplans", kind, {OWNER: uid})
    life.stray("core:configmaps", {}, {OWNER: claim})
    theirs = {"app.kubernetes.io/managed-by": MANAGER, WORKLOAD_LABEL: "app", NAMESPACE_LABEL: "default"}
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    life.stray("core:persistentvolumeclaims", {"spec": storage}, theirs)
    config = request(plane, "GET", f"/api/v1/namespaces/{SYSTEM}/configmaps/orchestrator-config").body["metadata"][
        "uid"
    ]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "orchestrator-config", "uid": config}
    Life(plane, SYSTEM).stray("core:configmaps", {"metadata": {"ownerReferences": [owner]}}, {})
