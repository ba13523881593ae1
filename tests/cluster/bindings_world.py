"""The bindings family at work on a real API server: the edge is in memory, the cluster's network is a fake."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from seamark.families.bindings.family import CRDS, controllers
from seamark.families.bindings.model.certificates import Certificates, Life
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.targets import parse
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark_cluster.real.plane import ControlPlane
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from tests.cluster.recorder import recorded
from tests.cluster.requests import Answer, eventually, install, request
from tests.cluster.score_operator import Running, running

MERGE = "application/merge-patch+json"
OURS = ("ServicesCreated", "ConnectivityVerified", "Ready")
Json = dict[str, Any]


class FakeNetwork:
    """What is behind the upstream Services, by the port of the target. `dialled` has those that were tried."""

    def __init__(self) -> None:
        self.refuses: set[int] = set()
        self.hangs: set[int] = set()
        self.dialled: list[tuple[str, int]] = []

    async def dial(self, address: str, port: int) -> None:
        self.dialled.append((address, port))
        if port in self.hangs:
            await asyncio.sleep(3600)
        if port in self.refuses:
            raise ConnectionRefusedError(111, "Connection refused")


class Bindings:
    """One installation: its own namespace, its own edge, and what people do and see."""

    def __init__(self, plane: ControlPlane, options: Options, users: str) -> None:
        self.plane = plane
        self.options = options
        self.users = users  # a namespace of users
        self.edge: MemoryCalls = MemoryCalls()
        self.network = FakeNetwork()

    @property
    def home(self) -> str:
        return self.options.namespace

    @contextmanager
    def operating(
        self, user: str = "operator", certificates: Certificates | None = None, **options: Any
    ) -> Iterator[Running]:
        """From here to the end of the block the operator works, with what it knows from the API server alone."""
        declared = controllers(
            replace(self.options, **options),
            memory_edge(self.edge, reachable=True),
            certificates=certificates or PlainCertificates(),
            dial=self.network.dial,
        )
        with running(self.plane, declared, user) as operator:
            yield operator

    def install(self, policy: str = "Delete", **binding: Any) -> None:
        spec = {"binding": {"endpointSelectors": ["true"], **binding}, "drain": {"policy": policy}}
        body = {"metadata": {"name": "seamark"}, "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1"}
        path = KubernetesOperator.RESOURCE.path(self.home)
        made = request(self.plane, "POST", path, {**body, "kind": "KubernetesOperator", "spec": spec})
        assert made.code == 201, made.body

    @property
    def operator_path(self) -> str:
        return KubernetesOperator.RESOURCE.path(self.home, "seamark")

    def installed(self, kind: str) -> Json:
        """A condition of the KubernetesOperator."""
        found = (self.get(self.operator_path).get("status") or {}).get("conditions", [])
        return next((dict(one) for one in found if one["type"] == kind), {})

    def until_installed(self, kind: str = "Ready", status: str = "True", reason: str = "") -> Json:
        def so() -> bool:
            found = self.installed(kind)
            return found.get("status") == status and reason in ("", found.get("reason"))

        eventually(so, f"{kind} of the installation is {status} {reason}", 60)
        return self.installed(kind)

    def another_second(self) -> None:
        """Ages have whole seconds: who comes after this is younger."""
        now = int(time.time())
        eventually(lambda: time.time() > now + 1.05, "another second")

    # ---- agents

    def agent(self, url: str) -> str:
        """An agent holds this URL; gives the endpoint's id."""
        return self.edge.agent_holds(url, bindings=("kubernetes",))

    def leaves(self, ident: str) -> None:
        self.edge.endpoint_goes(ident)

    # ---- objects

    def path(self, name: str = "", subresource: str = "") -> str:
        return BoundEndpoint.RESOURCE.path(self.home, name or None, subresource)

    def bind(self, name: str, url: str, port: int) -> Answer:
        """What a person does with kubectl: a BoundEndpoint by hand."""
        target = parse(url)
        spec = {
            "endpointURL": url,
            "scheme": target.scheme,
            "port": port,
            "target": {"service": target.service, "namespace": target.namespace, "port": target.port},
        }
        body = {"apiVersion": BoundEndpoint.RESOURCE.api_version, "kind": "BoundEndpoint", "metadata": {"name": name}}
        return request(self.plane, "POST", self.path(), {**body, "spec": spec})

    def get(self, path: str) -> Json:
        answer = request(self.plane, "GET", path)
        return answer.body if answer.code == 200 else {}

    def bound(self, url: str) -> Json:
        return self.get(self.path(parse(url).name))

    def all_bound(self) -> list[Json]:
        found: list[Json] = self.get(self.path())["items"]
        return found

    def get_managed(self, name: str) -> list[Json]:
        found: list[Json] = self.get(self.path(name))["metadata"]["managedFields"]
        return found

    def service(self, namespace: str, name: str) -> Json:
        return self.get(f"/api/v1/namespaces/{namespace}/services/{name}")

    def upstream(self, url: str) -> Json:
        return self.service(self.home, parse(url).name)

    def target(self, url: str) -> Json:
        return self.service(parse(url).namespace, parse(url).service)

    def delete(self, path: str) -> None:
        assert request(self.plane, "DELETE", path).code in (200, 202, 404)

    def delete_service(self, service: Json) -> None:
        meta = service["metadata"]
        self.delete(f"/api/v1/namespaces/{meta['namespace']}/services/{meta['name']}")

    def patch(self, path: str, body: Json) -> Json:
        answer = request(self.plane, "PATCH", path, body, content_type=MERGE)
        assert answer.code == 200, answer.body
        return answer.body

    # ---- what is seen

    def condition(self, name: str, kind: str) -> Json:
        """As it stands for the present generation; empty while it speaks of an older one."""
        obj = self.get(self.path(name))
        for one in (obj.get("status") or {}).get("conditions", []):
            if one["type"] == kind and one.get("observedGeneration") == obj["metadata"]["generation"]:
                return dict(one)
        return {}

    def until_condition(self, name: str, kind: str, status: str, reason: str = "", seconds: float = 40) -> Json:
        def so() -> bool:
            found = self.condition(name, kind)
            return found.get("status") == status and reason in ("", found.get("reason"))

        try:
            eventually(so, f"{kind} of {name} is {status} {reason}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {json.dumps(self.get(self.path(name)).get('status'), indent=1)}") from None
        return self.condition(name, kind)

    def until_ready(self, url: str) -> Json:
        self.until_condition(parse(url).name, "Ready", "True", "BoundEndpointReady")
        return self.bound(url)

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 40) -> None:
        eventually(condition, what, seconds)

    def until_gone(self, path: str, what: str) -> None:
        self.until(lambda: request(self.plane, "GET", path).code == 404, what)

    def kubectl_rows(self, *options: str) -> list[list[str]]:
        """What `kubectl get boundendpoints` prints, by columns; two blanks and more are between two of them."""
        shown = self.plane.kubectl("get", "boundendpoints", "-n", self.home, *options)
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in shown.splitlines()]

    def events(self) -> list[Json]:
        found: list[Json] = self.get(f"/apis/events.k8s.io/v1/namespaces/{self.home}/events")["items"]
        return found

    def told(self, reason: str, words: str = "") -> bool:
        return any(one["reason"] == reason and words in one["note"] for one in self.events())


class PlainCertificates:
    """Certificates as the fake edge signs them: plain text, with a long validity."""

    def request(self) -> tuple[str, str]:
        return "a signing request", "a key"

    def life(self, certificate: bytes, key: bytes) -> Life | None:
        good = certificate.startswith(b"certificate ") and key == b"a key"
        return Life(datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)) if good else None


@contextmanager
def installation(
    plane: ControlPlane, home: str, users: str, *, judged: bool = True, **options: Any
) -> Iterator[Bindings]:
    """An installation on this plane; every state that a BoundEndpoint had must keep the rules of status.

    Without `judged`, for tests in which another writer breaks the rules.
    """
    for crd in CRDS:
        install(plane, crd)
    fast = Options(namespace=home, poll=0.2, probe_every=1.0, probe_limit=3.0, shelf_life=60.0, gone_grace=0.0)
    world = Bindings(plane, replace(fast, **options), users)
    if not judged:
        yield world
        return
    with recorded(plane, BoundEndpoint.RESOURCE, namespace=home, ours=OURS):
        yield world
