"""seamark agent: hold endpoints at an edge and bring their connections to services."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer
import uvloop
from prometheus_client import CollectorRegistry

from seamark_edge.agent import Agent, AgentSettings, Tunnel
from seamark_edge.agent.cluster import ClusterEndpoints, cluster_uid
from seamark_edge.agent.endpoints import Endpoints, FixedEndpoints, read_manifests
from seamark_edge.agent.metrics import AgentMetrics
from seamark_edge.agent.model import Holder, Problem
from seamark_edge.agent.sdk import SdkAgent
from seamark_edge.wire.files import allow_many_files
from seamark_edge.wire.memory import keep_buffers
from seamark_runtime import log
from seamark_runtime.client import Client
from seamark_runtime.connection import connect
from seamark_runtime.errors import SeamarkError, UserError
from seamark_runtime.garbage import spare_program
from seamark_runtime.health import HealthServer
from seamark_runtime.http import HttpTransport
from seamark_runtime.loopwatch import LoopWatch
from seamark_runtime.signals import on_stop
from seamark_runtime.upstreams import CLUSTER_DOMAIN, UpstreamRules

PREFIX = "SEAMARK_AGENT_"
TOKEN_VARIABLE = f"{PREFIX}TOKEN"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where AgentEndpoints are followed."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    rules: UpstreamRules = field(default_factory=UpstreamRules)


def option(help_text: str, variable: str = "") -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(help=help_text, envvar=f"{PREFIX}{variable}" if variable else None)
    return found


def command(  # noqa: PLR0913, PLR0917  # one parameter a flag
    server: Annotated[str, option("The edge's address for agents, HOST:PORT.", "SERVER")] = "",
    ca: Annotated[str, option("The edge's CA file; the system's roots if empty.", "CA")] = "",
    token_file: Annotated[str, option(f"File with the authtoken; else ${TOKEN_VARIABLE}.", "TOKEN_FILE")] = "",
    forward: Annotated[list[str] | None, option("URL=SERVICE, as tcp://=127.0.0.1:8080.")] = None,
    endpoints: Annotated[str, option("File of manifests with AgentEndpoints.", "ENDPOINTS")] = "",
    cluster: Annotated[bool, option("Follow the AgentEndpoints of the cluster.", "CLUSTER")] = False,
    kubeconfig: Annotated[str, option("Which kubeconfig; inside a pod none is needed.", "KUBECONFIG")] = "",
    context: Annotated[str, option("Which context of the kubeconfig.", "CONTEXT")] = "",
    namespace: Annotated[str, option("Only the AgentEndpoints of this namespace.", "NAMESPACE")] = "",
    cross_namespace_upstreams: Annotated[
        bool,
        option(
            "AgentEndpoints may name Services and forward to endpoints of any namespace.", "CROSS_NAMESPACE_UPSTREAMS"
        ),
    ] = False,
    cross_namespace_bindings: Annotated[
        bool, option("AgentEndpoints may be bound into any namespace.", "CROSS_NAMESPACE_BINDINGS")
    ] = False,
    cluster_domain: Annotated[
        str, option("The suffix of service.namespace in the cluster's DNS names.", "CLUSTER_DOMAIN")
    ] = CLUSTER_DOMAIN,
    pooling: Annotated[bool, option("Share the URLs of --forward with other agents.")] = False,
    metadata: Annotated[str, option("What the edge's API says about this agent.", "METADATA")] = "",
    upstream_ca: Annotated[str, option("CA file for services with TLS, beside the system's.", "UPSTREAM_CA")] = "",
    resolver: Annotated[str, option("Name server for the services' names, ADDRESS:PORT.", "RESOLVER")] = "",
    provider: Annotated[str, option("seamark, or ngrok: the cloud, by the official SDK.", "PROVIDER")] = "seamark",
    health_address: Annotated[str, option("Where health and metrics are served.", "HEALTH_ADDRESS")] = "",
    log_level: Annotated[str, option("debug, info, warning or error.", "LOG_LEVEL")] = "info",
) -> None:
    """Hold endpoints at an edge and bring their connections to services. Each URL is printed when it goes online."""
    if not server and provider == "seamark":
        raise UserError("there is no edge", hint="give its address for agents with --server HOST:PORT")
    known = metadata or identity(followed=cluster)
    settings = AgentSettings(server, token(token_file), ca, known, resolver=resolver)
    fixed = {str(number): parse_forward(text, pooling=pooling) for number, text in enumerate(forward or ())}
    fixed |= read_manifests(Path(endpoints)) if endpoints else {}
    if not fixed and not cluster:
        raise UserError("there is nothing to hold", hint="give --forward URL=SERVICE, --endpoints FILE or --cluster")
    running = holder(provider, settings, upstream_ca)
    log.configure(log_level)
    keep_buffers()
    allow_many_files()
    rules = UpstreamRules(cluster_domain, cross_namespace_upstreams, cross_namespace_bindings)
    followed = Cluster(kubeconfig, context, namespace, rules) if cluster else None
    uvloop.run(serve(running, fixed, followed, health_address))


def holder(provider: str, settings: AgentSettings, roots: str) -> Agent | SdkAgent:
    def changed(name: str) -> None:
        held = running.held.get(name)
        if held is not None:
            typer.echo(f"{held.url} -> {held.tunnel.upstream}" if held.url else f"{held.tunnel.url}: {held.error}")

    if provider not in ("seamark", "ngrok"):
        raise UserError(f"{provider!r} is no provider", hint="there are seamark and ngrok")
    if roots and not Path(roots).exists():
        raise UserError(f"the CA file {roots} does not exist")
    running = SdkAgent(settings, changed) if provider == "ngrok" else Agent(settings, changed, roots)
    return running


async def serve(
    running: Agent | SdkAgent, fixed: dict[str, Tunnel], followed: Cluster | None, health_address: str
) -> None:
    """Hold what is wanted until a signal says stop."""
    sources: list[Endpoints] = [FixedEndpoints(fixed)] if fixed else []
    transport: HttpTransport | None = None
    if followed is not None:
        transport = await HttpTransport(connect(followed.kubeconfig, followed.context), limit=16).open()
        try:
            sources.append(await _cluster(transport, followed))
        except BaseException:
            await transport.close()  # an open one would hold the loop's end up
            raise
    registry = _registry(running)
    watch, health = LoopWatch(registry), HealthServer(registry, lambda: _missing(running, sources))
    on_stop(running.stop)
    wanted: Holder = running if isinstance(running, Agent) else Alone(running)
    followers = [asyncio.ensure_future(source.run(wanted)) for source in sources]
    spare_program()
    try:
        if health_address:
            await health.start(health_address)
        async with watch.running():
            await _until_stopped(running, followers)
    finally:
        for task in followers:
            task.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        await health.close()
        if transport is not None:
            await transport.close()


class Alone:
    """The official SDK for Python can't pool: an agent on it holds its endpoints alone. Run one replica of it."""

    def __init__(self, agent: SdkAgent) -> None:
        self._agent = agent

    async def hold(self, name: str, wanted: Tunnel) -> object:
        return await self._agent.hold(name, replace(wanted, pooling=False))

    async def release(self, name: str) -> None:
        await self._agent.release(name)

    def report(self, name: str, problem: Problem | None) -> None:
        """Nothing: the SDK has no such reports. The agent's log has the problem."""


async def _until_stopped(running: Agent | SdkAgent, followers: Sequence[asyncio.Future[None]]) -> None:
    """A source that fails ends the agent with its error."""
    agent = asyncio.ensure_future(running.run())
    try:
        done, _ = await asyncio.wait([agent, *followers], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        running.stop()
        await asyncio.gather(agent, return_exceptions=True)


async def _cluster(transport: HttpTransport, followed: Cluster) -> ClusterEndpoints:
    client = Client(transport, manager="seamark-agent")
    try:
        cluster = await cluster_uid(client)
    except SeamarkError as error:
        hint = "the API server must answer, and let this agent read the namespace kube-system"
        raise UserError(f"the cluster can't be identified ({error.message})", hint=hint) from None
    return ClusterEndpoints(client, Random(), cluster, followed.namespace, followed.rules)


def _registry(running: Agent | SdkAgent) -> CollectorRegistry:
    def states() -> tuple[int, int, bool]:
        held = running.held.values()
        return sum(bool(h.url) for h in held), sum(bool(h.error) for h in held), running.connected.is_set()

    registry = CollectorRegistry()
    registry.register(AgentMetrics(states))
    return registry


def _missing(running: Agent | SdkAgent, sources: list[Endpoints]) -> list[str]:
    missing = [entry for source in sources for entry in source.missing()]
    return missing if running.connected.is_set() else [*missing, "not connected to the edge"]


def identity(*, followed: bool) -> str:
    """What the edge's API says of a replica that follows a cluster: which one it is."""
    if not followed:
        return ""
    pod = os.environ.get("POD_NAME") or socket.gethostname()
    return msgspec.json.encode({"owned-by": "seamark", "agent": pod}).decode()


def token(file: str) -> str:
    try:
        found = Path(file).read_text().strip() if file else os.environ.get(TOKEN_VARIABLE, "")
    except OSError as error:
        raise UserError(f"token file {file}: {error.strerror}") from None
    if not found:
        raise UserError("there is no authtoken", hint=f"give --token-file, or set {TOKEN_VARIABLE}")
    return found


def parse_forward(text: str, *, pooling: bool) -> Tunnel:
    url, equals, upstream = text.partition("=")
    if not equals or "://" not in url:
        raise UserError(f"{text!r} is no forward", hint="write URL=SERVICE, as tcp://=127.0.0.1:8080")
    return Tunnel(url, upstream, pooling)


app = typer.Typer(add_completion=False)
app.command("agent")(command)
