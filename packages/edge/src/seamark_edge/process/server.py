"""The edge as one process: its listeners, its state, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

from seamark_edge.edge.agents import AgentConnection
from seamark_edge.edge.authority import Authority
from seamark_edge.edge.certificates import Certificates, PairOnDisk
from seamark_edge.edge.checking import Checker
from seamark_edge.edge.credentials import KEY, TOKEN, Credentials
from seamark_edge.edge.errors import AWAY
from seamark_edge.edge.failures import Failures
from seamark_edge.edge.fairshare import FairShare
from seamark_edge.edge.http import HttpServer, open_to_all
from seamark_edge.edge.ids import digest
from seamark_edge.edge.ingress import IngressConnection
from seamark_edge.edge.limits import ConnectionLimit, Slot, within
from seamark_edge.edge.listeners import Listener, http_listener, secured_listener, server_listener, tls_listener
from seamark_edge.edge.metrics import EdgeMetrics
from seamark_edge.edge.places import LEASE, Places, TcpPorts
from seamark_edge.edge.public import PublicConnection
from seamark_edge.edge.registry import Registry
from seamark_edge.edge.routing import Router
from seamark_edge.edge.sessions import Sessions
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.rest.app import Api
from seamark_edge.rest.base import Office
from seamark_edge.rest.operators import OPERATOR, endpoint_for
from seamark_edge.rest.ranges import RangesOf
from seamark_edge.store.database import DatabaseAway
from seamark_edge.store.opening import open_database, open_file
from seamark_edge.store.record import Key, Record
from seamark_edge.store.store import Store
from seamark_edge.wire.files import allowed_files
from seamark_runtime.errors import UserError
from seamark_runtime.health import change_level

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 5.0
# Of the files that this process may have open, by kind of port; the rest is for the state and for listening.
CLIENTS_SHARE, INGRESS_SHARE, AGENTS_SHARE, API_SHARE, OPS_SHARE = 0.55, 0.15, 0.15, 0.04, 0.01


class Edge:
    """A running edge.

    - After `start` every listener that the settings name accepts, and what the state holds is online.
    - `drain` stops accepting and lets open connections end by themselves, up to the deadline; then `stop` ends all.
    - One process owns the state: a second one on the same file, or database, is refused.
    """

    @classmethod
    async def opened(cls, settings: EdgeSettings) -> Edge:
        """An edge on the store that the settings name."""
        address = settings.database
        if address is None:
            return cls(settings)
        store = await open_database(address)
        try:
            return cls(settings, store)
        except BaseException:
            await store.close()
            raise

    def __init__(self, settings: EdgeSettings, store: Store | None = None) -> None:
        """On this store; by default on the file of the settings."""
        if not settings.tcp_range:
            raise UserError(f"tcp_ports is {settings.tcp_ports!r}", hint="the range is empty")
        self.settings = settings
        self._lock = own(settings.file) if store is None else None
        self.store = open_file(settings.file) if store is None else store
        self.metrics = EdgeMetrics(CollectorRegistry())
        self.metrics.watch_store(self.store)
        self.failures = Failures(self.metrics)
        self.authority = Authority(self.store, Path(settings.given) if settings.given else None)
        self.credentials = Credentials(self.store)
        self.registry = Registry()
        self.places = Places(settings, self.store, self.registry)
        self._limits: list[ConnectionLimit] = []
        clients = self._slots("public", settings.connections_per_source, settings.connections, CLIENTS_SHARE)
        self.share = FairShare()
        self.router = Router(
            settings, self.registry, self.metrics, RangesOf(self.store), self.failures, clients, self.share
        )
        self.ports = TcpPorts(settings.bind, self._tcp_client)
        self.checker = Checker()
        self.sessions = Sessions(
            settings,
            self.credentials,
            self.registry,
            self.places,
            self.ports,
            self.failures,
            checker=self.checker,
            share=self.share,
        )
        self.office = Office(
            settings,
            self.store,
            self.registry,
            self.sessions,
            self.credentials,
            self.authority,
            self.places,
            self.ports,
            self.checker,
            self.share,
        )
        self.api = Api(self.office, self.metrics, self.failures)
        self.store.changed_elsewhere = self._changed_elsewhere
        self._certificates = Certificates(self.store, self.authority)
        self._pair = _pair(settings)
        self._listeners: list[Listener] = []
        self._servers: list[tuple[HttpServer, Listener]] = []
        self._beside: list[asyncio.Task[None]] = []
        self.ready = False

    async def start(self) -> None:
        settings = self.settings
        self.failures.watch(asyncio.get_running_loop())
        await self._restore()
        agents = self._slots("agents", settings.agent_connections_per_source, settings.agent_connections, AGENTS_SHARE)
        self._open_listener(
            secured_listener(
                self.router, lambda slot: AgentConnection(self.sessions, slot), self._agent_context, agents
            ),
            settings.agent_port,
        )
        if settings.ingress_port:
            self._open_ingress(settings.ingress_port)
        if settings.http_port:
            self._open_listener(http_listener(self.router, settings.http_port), settings.http_port)
        if settings.tls_port:
            self._open_listener(
                tls_listener(self.router, settings.tls_port, self._certificates.context), settings.tls_port
            )
        context = self._agent_context() if settings.api_tls else None
        await self._serve("api", self.api.app(), settings.api_port, context)
        if settings.ops_port:
            await self._serve("ops", self._ops(), settings.ops_port, None)
        beside = (self._sweep(), self.store.watch(), self.metrics.loop.run())
        self._beside = [asyncio.create_task(work) for work in beside]
        self.ready = True
        log.info(
            "edge started",
            agents=settings.agent_port,
            api=settings.api_port,
            state=str(settings.database or settings.state),
        )

    def _write_authority(self) -> None:
        file = self.settings.directory / "ca.pem"
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_bytes(self.authority.ca_pem)
        except OSError as error:
            raise UserError(f"{file} can't be written", hint=error.strerror or str(error)) from error

    async def _restore(self) -> None:
        """Applies what the state contains, and creates what it lacks at the first start."""
        try:
            await self.store.settle()
            self._write_authority()
            await self._first_secrets()
            await self.api.restore()
        except DatabaseAway as error:
            raise UserError("the state can't be written", hint=error.message) from error

    async def drain(self) -> None:
        """Accept nothing new, and wait until open connections have ended or the time is up."""
        self.ready = False
        self.sessions.draining = True
        for listener in self._listeners:
            listener.close()
        self.ports.close_all()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.router.idle.wait(), self.settings.drain_seconds)
        log.info("edge drained", connections_cut=len(self.router.connections))

    async def stop(self) -> None:
        self.ready = False
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        self.ports.close_all()
        for connection in list(self.router.connections):
            if connection.transport is not None:
                connection.transport.abort()
        self.sessions.close()
        for _, listener in self._servers:
            listener.close()
        await asyncio.gather(*(server.close() for server, _ in self._servers))
        await asyncio.sleep(0)  # let the transports say goodbye
        await self.sessions.settle()
        self.checker.close()
        await self.store.close()
        if self._lock is not None:
            os.close(self._lock)

    def reload(self) -> None:
        """Take up exchanged certificate files at once."""
        if self._pair is not None:
            self._pair.reload()

    async def _first_secrets(self) -> None:
        """A token for agents and a key for the API: made at the first start, kept in files that only we may read."""
        for kind, name in ((TOKEN, "agent-token"), (KEY, "api-key")):
            brought = Path(self.settings.given or self.settings.directory) / name
            path = brought if brought.exists() else self.settings.directory / name
            secret = path.read_text().strip() if path.exists() else ""
            if secret and self.store.named(kind, digest(secret)):
                continue
            if not secret and any(True for _ in self.store.all(kind)):
                continue  # it was removed on purpose: others are there
            _, made = await self.credentials.make(kind, {"description": "made at the first start"}, secret)
            if not secret:
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                    file.write(made + "\n")

    def _changed_elsewhere(self, added: list[Record], gone: list[Key]) -> None:
        """While this edge could not reach the database, another one has changed it."""
        self.places.changed_elsewhere([record for record in added if record.kind == LEASE])
        for kind, ident in gone:
            if kind == TOKEN:
                self.sessions.revoke(ident)

    def _tcp_client(self, port: int) -> PublicConnection:
        return PublicConnection(self.router, f"tcp://{self.settings.public_host}:{port}")

    def _agent_context(self) -> ssl.SSLContext:
        return self._pair.context if self._pair is not None else self.authority.context(self.settings.public_host)

    def _open_ingress(self, port: int) -> None:
        def forwarder(slot: Slot) -> IngressConnection:
            return IngressConnection(
                self.router,
                lambda mark: self.store.named(OPERATOR, mark),
                lambda operator, url: endpoint_for(self.office, operator, url),
                self.sessions.upstreams.confirm,
                slot,
            )

        host = self.settings.public_host
        slots = self._slots("ingress", self.settings.connections_per_source, self.settings.connections, INGRESS_SHARE)
        self._open_listener(
            secured_listener(self.router, forwarder, lambda: self.authority.ingress_context(host), slots), port
        )

    def _open_listener(self, listener: Listener, port: int) -> None:
        with _bind_errors(self.settings.bind, port):
            listener.open(self.settings.bind, port)
        self._listeners.append(listener)

    async def _serve(self, name: str, app: web.Application, port: int, context: ssl.SSLContext | None) -> None:
        server = HttpServer(app, self.settings, context, self.failures)
        await server.setup()
        share = API_SHARE if name == "api" else OPS_SHARE
        slots = self._slots(name, self.settings.api_connections_per_source, self.settings.api_connections, share)
        listener = server_listener(self.router, server, slots)
        self._servers.append((server, listener))
        with _bind_errors(self.settings.bind, port):
            listener.open(self.settings.bind, port)

    def _slots(self, port: str, per_source: int, total: int, share: float) -> ConnectionLimit:
        total = within(total, allowed_files(), share)
        unproven = self.settings.unproven_connections
        limit = ConnectionLimit(
            per_source, total, unproven, port=port, count=lambda outcome: self.metrics.full.labels(port, outcome).inc()
        )
        self._limits.append(limit)
        return limit

    @property
    def notes(self) -> list[str]:
        """What an administrator should know of an edge that is ready all the same."""
        away = [AWAY] if self.store.problem else []
        return away + [f"the {limit.port} connections are at their limit" for limit in self._limits if limit.reached]

    def _ops(self) -> web.Application:
        async def metrics(_: web.Request) -> web.Response:
            return web.Response(body=generate_latest(self.metrics.registry), content_type="text/plain")

        async def healthy(_: web.Request) -> web.Response:
            return web.Response(text="ok\n")

        async def ready(_: web.Request) -> web.Response:
            if not self.ready:
                return web.Response(text="draining\n", status=503)
            # Ready all the same: what is reserved is served, and would not be without this edge.
            return web.Response(text=f"ready, but {', '.join(self.notes)}\n" if self.notes else "ready\n")

        app = web.Application(middlewares=[open_to_all])
        app.router.add_get("/metrics", metrics)
        app.router.add_get("/healthz", healthy)
        app.router.add_get("/readyz", ready)
        app.router.add_put("/loglevel", change_level)
        return app

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for part in (self.sessions.close_silent, self.reload, self.places.sweep, self.router.close_overdue):
                with self.failures.contained("sweep"):
                    if (rest := part()) is not None:
                        await rest


@contextlib.contextmanager
def _bind_errors(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(f"{host}:{port} can't be bound", hint=reason) from error


def _pair(settings: EdgeSettings) -> PairOnDisk | None:
    if bool(settings.agent_cert) != bool(settings.agent_key):
        raise UserError("one of agent_cert and agent_key is given", hint="they belong together")
    if not settings.agent_cert:
        return None
    return PairOnDisk(Path(settings.agent_cert), Path(settings.agent_key))


def own(state: Path) -> int:
    """A lock on the state, held as long as the process lives: one replica, by construction."""
    import fcntl  # noqa: PLC0415  # not on every platform that the rest of the package imports on

    try:
        state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(f"{state}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(f"{state} can't be used", hint=error.strerror or str(error)) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise UserError(
            f"another edge runs on {state}", hint="an edge is one process; give this one its own --state"
        ) from error
    return handle
