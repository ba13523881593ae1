"""The kubelet's own API, as far as the API server needs it: containers' logs, and commands in them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from seamark_cluster.kubelet import sessions
from seamark_cluster.kubelet.container import ContainerWorker
from seamark_cluster.kubelet.logs import LogQuery, read
from seamark_cluster.kubelet.status import Waiting
from seamark_cluster.kubelet.worker import PodWorker
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import Clock
from seamark_runtime.errors import UserError
from seamark_runtime.guardedhttp import GuardedServer


class KubeletServer:
    """Serves logs, `exec` and `attach` over HTTPS until closed.

    Clients need a certificate of `client_ca`. Without a `client_ca`, any client may read logs, and none may run
    commands.
    """

    def __init__(self, workers: Mapping[Key, PodWorker], clock: Clock) -> None:
        self._workers = workers
        self._clock = clock
        self._http: GuardedServer | None = None
        self._authority_loaded = False  # the client's authority

    async def start(self, host: str, port: int, certificate: tuple[Path, Path], client_ca: Path | None = None) -> int:
        """Starts listening, and returns the port (0: any)."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*certificate)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
            self._authority_loaded = True
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._logs)
        app.router.add_get("/exec/{namespace}/{pod}/{container}", self._exec)
        app.router.add_get("/attach/{namespace}/{pod}/{container}", self._attach)
        self._http = GuardedServer(app, shutdown_timeout=0.5)
        try:
            return await self._http.start(host, port, context)
        except OSError as error:
            await self.close()
            raise UserError(
                f"the kubelet can't listen on {host}:{port} ({error.strerror})", hint="choose another --port"
            ) from None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        found = self._running(request)
        return found if isinstance(found, web.Response) else await sessions.execute(request, found[0])

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        found = self._running(request)
        return found if isinstance(found, web.Response) else await sessions.attach(request, *found)

    def _running(self, request: web.Request) -> tuple[ContainerWorker, Path] | web.Response:
        """A running container and its log, or an error response."""
        if not self._authority_loaded:
            return web.Response(status=403, text="no CA was given to authenticate clients\n")
        where = request.match_info
        worker, name = self._workers.get(Key(where["namespace"], where["pod"])), where["container"]
        container = None if worker is None else worker.containers.get(name)
        if worker is None or container is None or container.running is None:
            return web.Response(status=404, text=f"container {name} does not run on this node\n")
        return container, worker.directory / "logs" / name / f"{container.facts.restarts}.log"

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        where = request.match_info
        worker = self._workers.get(Key(where["namespace"], where["pod"]))
        container = where["container"]
        facts = None if worker is None else worker.facts.containers.get(container)
        if worker is None or facts is None:
            return web.Response(status=404, text=f"container {container} does not run on this node\n")
        if isinstance(facts.state, Waiting) and not facts.restarts:
            message = f'container "{container}" in pod "{where["pod"]}" is waiting to start: {waits(facts.state)}'
            return web.Response(status=400, text=f"{message}\n")
        restarts = facts.restarts
        if request.query.get("previous") == "true":
            restarts -= 1
        path = worker.directory / "logs" / container / f"{restarts}.log"
        if not path.exists():
            message = f'container "{container}" in pod "{where["pod"]}" has no log'
            missing = "previous terminated " if request.query.get("previous") == "true" else ""
            return web.Response(status=400, text=f"{missing}{message}\n")
        try:
            query = LogQuery.parse(dict(request.query), self._clock.wall())
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        running = worker.containers.get(container)
        async for piece in read(path, query, None if running is None else running.over):
            await answer.write(piece)
        await answer.write_eof()
        return answer


def waits(state: Waiting) -> str:
    """Why a container does not run, in the kubelet's words."""
    return PULLING if state.reason in ("ErrImagePull", "ImagePullBackOff") else state.reason


PULLING = "trying and failing to pull image"
