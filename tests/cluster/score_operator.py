"""The Score family at work on a control plane, beside a test: in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any
from urllib.parse import urlsplit

from seamark.api.score import Workload
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import Connection, Load, connect
from seamark_runtime.controller import Declaration
from seamark_runtime.http import HttpTransport
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Transport
from tests.cluster.recorder import recorded
from tests.cluster.requests import Answer, eventually, request
from tests.cluster.rights import OPERATOR, granted, needed

SETTINGS = Settings(leader_election=False, health_address="", workers=16)
MERGE = "application/merge-patch+json"


Wrap = Callable[[Transport], Transport]


class Running:
    """An operator that works until it is stopped. `operator` is for looking, not for touching."""

    def __init__(self, load: Load, controllers: tuple[Declaration, ...], wrap: Wrap = lambda one: one) -> None:
        self._wrap = wrap
        self._ready = threading.Event()
        self._trouble: BaseException | None = None
        self.operator: Operator
        self._loop: asyncio.AbstractEventLoop
        self._work: asyncio.Task[None]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(load, controllers)), name="operator")
        self._thread.start()
        assert self._ready.wait(30)
        if self._trouble is not None:
            raise self._trouble

    async def _run(self, load: Load, controllers: tuple[Declaration, ...]) -> None:
        transport = await HttpTransport(load, limit=16).open()
        self._loop = asyncio.get_running_loop()
        self.operator = Operator(World(self._wrap(transport), SystemClock(), Random(), "test"), controllers, SETTINGS)
        self._work = self._loop.create_task(self.operator.run())
        self._ready.set()
        try:
            await self._work
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self._trouble = error
            raise
        finally:
            await transport.close()
            await asyncio.sleep(0.3)  # connections with TLS take a moment to be closed

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._work.cancel)
        self._thread.join(20)
        assert not self._thread.is_alive()
        if self._trouble is not None:
            raise self._trouble


@contextmanager
def truthful(plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Every status of the Workloads inside is checked by the rules of status, for each of the two writers."""
    with (
        recorded(plane, Workload.RESOURCE, namespace=namespace, ours=("Ready", "InputsValid", "ClaimsReady")),
        recorded(plane, Workload.RESOURCE, namespace=namespace, ours=("RuntimeReady",)),
    ):
        yield


@contextmanager
def running(plane: ControlPlane, controllers: tuple[Declaration, ...], user: str = OPERATOR) -> Iterator[Running]:
    """With exactly the rights that follow from the declarations. Another user has those that the test gives."""
    with ExitStack() as stack:
        if user == OPERATOR:
            stack.enter_context(granted(plane, user, needed(controllers)))
        yield stack.enter_context(_working(connect(str(plane.kubeconfig_of(user))), controllers))


@contextmanager
def running_as(
    plane: ControlPlane, controllers: tuple[Declaration, ...], token: str, wrap: Wrap = lambda one: one
) -> Iterator[Running]:
    """Under the identity that a token stands for."""

    async def load() -> Connection:
        return Connection(base_url=plane.url, ca_pem=plane.ca.read_text(), token=token)

    with _working(load, controllers, wrap) as at_work:
        yield at_work


@contextmanager
def _working(load: Load, controllers: tuple[Declaration, ...], wrap: Wrap = lambda one: one) -> Iterator[Running]:
    at_work = Running(load, controllers, wrap)
    try:
        yield at_work
    finally:
        at_work.stop()


def send_as(plane: ControlPlane, token: str, method: str, path: str, body: Any, content_type: str) -> Answer:
    """One request under the identity that a token stands for."""
    trust = ssl.create_default_context(cafile=str(plane.ca))
    connection = http.client.HTTPSConnection(urlsplit(plane.url).netloc, timeout=10, context=trust)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
        connection.request(method, path, json.dumps(body), headers)
        answer = connection.getresponse()
        return Answer(answer.status, json.loads(answer.read()), dict(answer.getheaders()))
    finally:
        connection.close()


class Cluster:
    """What a developer, a platform engineer and a foreign runtime do in one namespace."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace

    def path(self, plural: str, name: str = "", subresource: str = "") -> str:
        parts = [f"/apis/score.dev/v1b1/namespaces/{self.namespace}/{plural}", name, subresource]
        return "/".join(part for part in parts if part)

    def apply(self, name: str = "app", annotations: dict[str, str] | None = None, **spec: Any) -> Answer:
        body = {
            "apiVersion": "score.dev/v1b1",
            "kind": "Workload",
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"containers": {"main": {"image": "nginx"}}, **spec},
        }
        made = request(self.plane, "POST", f"{self.path('workloads')}?fieldValidation=Strict", body)
        assert made.code == 201, made.body
        return made

    def edit(self, patch: dict[str, Any], name: str = "app") -> None:
        done = request(self.plane, "PATCH", self.path("workloads", name), patch, content_type=MERGE)
        assert done.code == 200, done.body

    def delete(self, plural: str, name: str = "app") -> None:
        assert request(self.plane, "DELETE", self.path(plural, name)).code == 200

    def get(self, plural: str, name: str = "app") -> dict[str, Any]:
        answer = request(self.plane, "GET", self.path(plural, name))
        return answer.body if answer.code == 200 else {}

    def publish(self, status: dict[str, Any] | None, name: str = "app") -> None:
        """What a runtime does, and all that it may do."""
        path = self.path("workloadexposures", name, "status")
        done = request(self.plane, "PATCH", path, {"status": status}, content_type=MERGE)
        assert done.code == 200, done.body

    def endpoint(self, name: str = "app") -> str | None:
        found: str | None = (self.get("workloads", name).get("status") or {}).get("endpoint")
        return found

    def condition(self, condition: str, name: str = "app") -> dict[str, Any]:
        workload = self.get("workloads", name)
        conditions = (workload.get("status") or {}).get("conditions") or ()
        return next((one for one in conditions if one["type"] == condition), {})

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
        eventually(condition, what, seconds)

    def until_exposed(self, generation: int = 1, name: str = "app") -> dict[str, Any]:
        def asked() -> bool:
            spec = self.get("workloadexposures", name).get("spec") or {}
            return bool(spec.get("observedWorkloadGeneration") == generation)

        self.until(asked, f"a runtime is asked for generation {generation} of {name}")
        return self.get("workloadexposures", name)

    def until_endpoint(self, wanted: str | None, name: str = "app") -> None:
        self.until(lambda: self.endpoint(name) == wanted, f"the endpoint of {name} is {wanted}")

    def until_condition(
        self, condition: str, status: str, reason: str = "", name: str = "app", seconds: float = 30
    ) -> dict[str, Any]:
        def so() -> bool:
            found = self.condition(condition, name)
            current = found.get("observedGeneration") == self.get("workloads", name)["metadata"]["generation"]
            return bool(current and found["status"] == status and (not reason or found["reason"] == reason))

        try:
            self.until(so, f"{condition} of {name} is {status} ({reason})", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.get('workloads', name).get('status')}") from None
        return self.condition(condition, name)
