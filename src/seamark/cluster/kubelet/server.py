"""The kubelet's own API, as far as the API server needs it: containers' logs, and commands in them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from seamark.api.meta import Key
from seamark.cluster.kubelet import sessions
from seamark.cluster.kubelet.container import ContainerLife
from seamark.cluster.kubelet.life import Life
from seamark.cluster.kubelet.logs import LogQuery, read
from seamark.cluster.kubelet.status import Waiting
from seamark.core.clock import Clock
from seamark.core.errors import UserError


class KubeletServer:
    """Serves logs, `exec` and `attach` over HTTPS until closed.

    Whoever asks shows a certificate of `client_ca`. Without one, anybody may read logs, and nobody run commands.
    """

    def __init__(self, lives: Mapping[Key, Life], clock: Clock) -> None:
        self._lives = lives
        self._clock = clock
        self._runner: web.AppRunner | None = None
        self._knows = False  # who asks

    async def start(self, host: str, port: int, certificate: tuple[Path, Path], client_ca: Path | None = None) -> int:
        """Listens, and says on which port (0: any)."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*certificate)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
            self._knows = True
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._logs)
        app.router.add_get("/exec/{namespace}/{pod}/{container}", self._exec)
        app.router.add_get("/attach/{namespace}/{pod}/{container}", self._attach)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            await self.close()
            raise UserError(
                f"the kubelet can't listen on {host}:{port} ({error.strerror})", hint="choose another --port"
            ) from None
        bound: int = self._runner.addresses[0][1]
        return bound

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        found = self._running(request)
        return found if isinstance(found, web.Response) else await sessions.execute(request, found[0])

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        found = self._running(request)
        return found if isinstance(found, web.Response) else await sessions.attach(request, *found)

    def _running(self, request: web.Request) -> tuple[ContainerLife, Path] | web.Response:
        """A container that runs, and its log; or the answer that there is none."""
        if not self._knows:
            return web.Response(status=403, text="no authority was given by which it could be known who asks\n")
        where = request.match_info
        life, name = self._lives.get(Key(where["namespace"], where["pod"])), where["container"]
        container = None if life is None else life.containers.get(name)
        if life is None or container is None or container.running is None:
            return web.Response(status=404, text=f"container {name} does not run on this node\n")
        return container, life.directory / "logs" / name / f"{container.facts.restarts}.log"

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        where = request.match_info
        life = self._lives.get(Key(where["namespace"], where["pod"]))
        container = where["container"]
        facts = None if life is None else life.facts.containers.get(container)
        if life is None or facts is None:
            return web.Response(status=404, text=f"container {container} does not run on this node\n")
        if isinstance(facts.state, Waiting) and not facts.restarts:
            words = f'container "{container}" in pod "{where["pod"]}" is waiting to start: {waits(facts.state)}'
            return web.Response(status=400, text=f"{words}\n")
        restarts = facts.restarts
        if request.query.get("previous") == "true":
            restarts -= 1
        path = life.directory / "logs" / container / f"{restarts}.log"
        if not path.exists():
            words = f'container "{container}" in pod "{where["pod"]}" has no log'
            missing = "previous terminated " if request.query.get("previous") == "true" else ""
            return web.Response(status=400, text=f"{missing}{words}\n")
        try:
            query = LogQuery.parse(dict(request.query), self._clock.wall())
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        worker = life.containers.get(container)
        async for piece in read(path, query, None if worker is None else worker.over):
            await answer.write(piece)
        await answer.write_eof()
        return answer


def waits(state: Waiting) -> str:
    """Why a container does not run, as a kubelet says it."""
    return PULLING if state.reason in ("ErrImagePull", "ImagePullBackOff") else state.reason


PULLING = "trying and failing to pull image"
