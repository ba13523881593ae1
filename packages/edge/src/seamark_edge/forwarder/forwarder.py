"""A forwarder: what it follows, what it serves, and how it stops."""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from random import Random

import structlog

from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.api.podaddress import PodAddress
from seamark_edge.forwarder.halves import EdgeHalf, PodHalf
from seamark_edge.forwarder.identity import BY_ADDRESS, identify
from seamark_edge.forwarder.link import Credentials, ResumingContext, context_of, place
from seamark_edge.forwarder.listeners import Listeners
from seamark_edge.forwarder.metrics import ForwarderMetrics
from seamark_edge.forwarder.routes import Route, routes
from seamark_edge.forwarder.settings import ForwarderSettings
from seamark_edge.wire.bindings import FORWARDER_ERROR, PROBED, ConnRequest, ConnResponse, frame
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.follow import Follower
from seamark_runtime.rbac import FOLLOW, SINGLE, Grant, on
from seamark_runtime.source import Fresh, Informer
from seamark_runtime.transport import Transport
from seamark_runtime.watch import Watch

log = structlog.get_logger(__name__)


class Refused(ConnectionError):
    """The edge did not take a connection, with its own message."""


def forwarder_grants(namespace: str, secret: str) -> set[Grant]:
    """What a forwarder may do: follow its installation, read its one Secret, and find the Pod of an address."""
    here = on(BoundEndpoint, FOLLOW, namespace=namespace) | on(KubernetesOperator, FOLLOW, namespace=namespace)
    return here | on(Secret, SINGLE, namespace=namespace, name=secret) | on(PodAddress, FOLLOW)


class Forwarder:
    """Serves every BoundEndpoint of one installation.

    - Nothing is concluded from lists that are not there: ports open when the first list is complete.
    - A probe of an operator is answered with what the edge's ingress reports of the far upstream.
    - A connection waits for the edge for a bounded time; what the edge refuses is reset.
    - `missing` names what stands between it and being ready.
    """

    def __init__(self, transport: Transport, settings: ForwarderSettings, random: Random | None = None) -> None:
        self.settings = settings
        self.metrics = ForwarderMetrics()
        random = random or Random()
        client = Client(transport, manager="seamark-forwarder")
        here = settings.bindings_namespace
        self.endpoints = Informer(Watch(client, BoundEndpoint, random, namespace=here))
        self.operators = Informer(Watch(client, KubernetesOperator, random, namespace=here))
        self.pods = Informer(Watch(client, PodAddress, random), (BY_ADDRESS,))
        self.secrets = Follower(client, Secret, random, settings.forwarder_secret_reads)
        self.listeners = Listeners(settings.forwarder_bind, self._serve, random)
        self._operator = Key(here, settings.bindings_operator)
        self._secret: Key | None = None
        self._context: tuple[Credentials, ResumingContext] | None = None
        self._trouble = "waiting for the certificate"
        self._open: set[PodHalf] = set()
        self.endpoints.on_change(lambda _informer, _change: self._changed())
        self.endpoints.on_progress(lambda _informer: self._changed())

    @property
    def open_connections(self) -> int:
        return len(self._open)

    def missing(self) -> list[str]:
        informers = (self.endpoints, self.operators, self.pods)
        waiting = [informer.trouble or f"waiting for {informer.name}" for informer in informers if not informer.synced]
        if not waiting and not self._ingress:
            waiting.append("waiting for the edge's ingress: the KubernetesOperator names none yet")
        if not waiting and self._credentials() is None:
            waiting.append(self._trouble)
        return waiting

    async def run(self) -> None:
        """Until cancelled: then no port is listened on any more, and open connections may end by themselves."""
        informers: tuple[Informer[BoundEndpoint] | Informer[KubernetesOperator] | Informer[PodAddress], ...]
        informers = (self.endpoints, self.operators, self.pods)
        tasks = [asyncio.ensure_future(informer.watch.run(informer.handle)) for informer in informers]
        serving = asyncio.ensure_future(self.listeners.run())
        try:
            await asyncio.gather(serving, *tasks)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            await self._drain()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.secrets.stop()

    async def _drain(self) -> None:
        deadline = asyncio.get_running_loop().time() + self.settings.forwarder_drain_seconds
        while self._open and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110  they end one by one
            await asyncio.sleep(0.05)
        for half in list(self._open):
            half.cut()

    def _changed(self) -> None:
        if self.endpoints.synced:
            wanted = routes(self.endpoints.cache)
            self.listeners.want(wanted)
            self.metrics.listening.set(len(wanted))

    # ---- one connection

    def _serve(self, route: Route) -> PodHalf:
        return PodHalf(partial(self._opened, route), self._closed, partial(self._probed, route))

    def _opened(self, route: Route, pod: PodHalf) -> None:
        self._open.add(pod)
        self.metrics.open.set(len(self._open))
        pod.connecting = asyncio.get_running_loop().create_task(self._bring(route, pod))

    def _closed(self, pod: PodHalf) -> None:
        self._open.discard(pod)
        self.metrics.open.set(len(self._open))

    async def _bring(self, route: Route, pod: PodHalf) -> None:
        edge: EdgeHalf | None = None
        try:
            async with asyncio.timeout(self.settings.forwarder_connect_seconds):
                edge = await self._dial()
                await self._introduce(route, pod, edge)
        except (OSError, TimeoutError, ssl.SSLError) as error:
            message = "the edge did not answer in time" if isinstance(error, TimeoutError) else str(error)
            log.info("connection refused", endpoint=route.name, error=message[:500])
            self.metrics.connections.labels("refused").inc()
            pod.cut()
            if edge is not None:
                edge.cut()
        except asyncio.CancelledError:
            if edge is not None:
                edge.cut()
            raise
        except Exception:
            log.exception("connection failed: this is a bug in Seamark", endpoint=route.name)
            self.metrics.connections.labels("failed").inc()
            pod.cut()
            if edge is not None:
                edge.cut()
        else:
            self.metrics.connections.labels("joined").inc()
            pod.connecting = None
            pod.join(edge)

    def _probed(self, route: Route, pod: PodHalf) -> None:
        if pod.connecting is not None:
            pod.connecting.cancel()
        other, pod.other = pod.other, None
        if other is not None:  # the bytes of the probe came after the connection was joined
            other.other = None
            other.cut()
        pod.connecting = asyncio.get_running_loop().create_task(self._probe(route, pod))

    async def _probe(self, route: Route, pod: PodHalf) -> None:
        edge: EdgeHalf | None = None
        try:
            async with asyncio.timeout(self.settings.forwarder_connect_seconds):
                edge = await self._dial()
                assert edge.transport is not None
                edge.transport.write(frame(ConnRequest(route.host, route.port, probe=True)))
                answer = await edge.answer
            self._keep_session(edge)
        except (OSError, TimeoutError, ssl.SSLError) as error:
            message = "the edge did not answer in time" if isinstance(error, TimeoutError) else str(error)
            answer = ConnResponse(error_code=FORWARDER_ERROR, error_message=message[:500])
        finally:
            if edge is not None:
                edge.cut()
        self.metrics.connections.labels("probed").inc()
        pod.connecting = None
        if pod.transport is not None:
            pod.transport.write(PROBED + frame(answer))
            pod.transport.close()

    async def _dial(self) -> EdgeHalf:
        context, ingress = self._credentials(), self._ingress
        if context is None or not ingress:
            raise Refused(", ".join(self.missing()) or "the edge is not known yet")
        host, port = place(ingress)
        _, edge = await asyncio.get_running_loop().create_connection(
            EdgeHalf, host, port, ssl=context, server_hostname=host
        )
        return edge

    async def _introduce(self, route: Route, pod: PodHalf, edge: EdgeHalf) -> None:
        """The preamble: destination and source of the connection."""
        assert edge.transport is not None
        peer = pod.transport.get_extra_info("peername") if pod.transport is not None else None
        identity = identify(self.pods, peer[0].removeprefix("::ffff:") if peer else "")
        if not identity.uid:
            self.metrics.unidentified.inc()
        edge.transport.write(frame(ConnRequest(route.host, route.port, identity)))
        answer = await edge.answer
        self._keep_session(edge)
        if answer.error_code:
            raise Refused(f"{answer.error_code}: {answer.error_message}")

    def _keep_session(self, edge: EdgeHalf) -> None:
        context = self._context[1] if self._context is not None else None
        if context is not None and edge.transport is not None:
            resumed = context.keep(edge.transport.get_extra_info("ssl_object"))
            self.metrics.resumed.inc(resumed)

    # ---- the way to the edge

    @property
    def _ingress(self) -> str:
        operator = self.operators.cache.get(self._operator)
        if operator is None:
            return ""
        wanted = operator.spec.binding.ingress_endpoint if operator.spec.binding is not None else ""
        reported = operator.status.bindings_ingress_endpoint if operator.status is not None else ""
        return wanted or reported or ""

    def _credentials(self) -> ResumingContext | None:
        """A context with the certificate that the Secret holds now; None while there is none that can be used."""
        operator = self.operators.cache.get(self._operator)
        if operator is None or operator.spec.binding is None:
            return None
        key = Key(self._operator.namespace, operator.spec.binding.tls_secret_name)
        if self._secret is not None and self._secret != key:
            self.secrets.release(self._secret)
        self._secret = key
        fact = self.secrets.get(key)
        if not isinstance(fact, Fresh):
            return self._context[1] if self._context is not None else None
        data = fact.value.data or {}
        found = Credentials(data.get("tls.crt", b""), data.get("tls.key", b""), data.get("ca.crt", b""))
        if self._context is None or self._context[0] != found:
            try:
                self._context = (found, context_of(found, self.settings.bindings_edge_ca))
            except (ssl.SSLError, OSError, ValueError) as error:
                self._trouble = f"the certificate in Secret {key} can't be used: {error}"
                return None
        return self._context[1]
