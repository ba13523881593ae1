"""seamark agent: hold endpoints at an edge and bring their connections to services."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
import yaml

from seamark.core import log
from seamark.core.errors import UserError
from seamark.providers.edge.agent import Agent, AgentSettings, Tunnel
from seamark.wire.memory import keep_buffers

TOKEN_VARIABLE = "SEAMARK_AGENT_TOKEN"  # noqa: S105  # the variable's name


def command(  # noqa: PLR0913, PLR0917  # one parameter a flag
    server: Annotated[str, typer.Option(help="The edge's address for agents, HOST:PORT.")],
    ca: Annotated[str, typer.Option(help="The edge's CA file; the system's roots if empty.")] = "",
    token_file: Annotated[str, typer.Option(help=f"File with the authtoken; else ${TOKEN_VARIABLE}.")] = "",
    forward: Annotated[list[str] | None, typer.Option(help="URL=SERVICE, as tcp://=127.0.0.1:8080.")] = None,
    endpoints: Annotated[str, typer.Option(help="File of manifests with AgentEndpoints.")] = "",
    pooling: Annotated[bool, typer.Option(help="Share the URLs of --forward with other agents.")] = False,
    metadata: Annotated[str, typer.Option(help="What the edge's API says about this agent.")] = "",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Hold endpoints at an edge and bring their connections to services. Each URL is printed when it goes online."""
    settings = AgentSettings(server, token(token_file), ca, metadata)
    wanted = [parse_forward(text, pooling=pooling) for text in forward or ()]
    wanted += read_endpoints(Path(endpoints)) if endpoints else []
    if not wanted:
        raise UserError("there is nothing to hold", hint="give --forward URL=SERVICE or --endpoints FILE")
    log.configure(log_level)
    keep_buffers()
    uvloop.run(hold(settings, wanted))


async def hold(settings: AgentSettings, wanted: list[Tunnel]) -> None:
    def changed(name: str) -> None:
        held = running.held[name]
        typer.echo(f"{held.url} -> {held.tunnel.upstream}" if held.url else f"{held.tunnel.url}: {held.error}")

    running = Agent(settings, changed)
    for number, tunnel in enumerate(wanted):
        await running.hold(str(number), tunnel)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.stop)
    await running.run()


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


def read_endpoints(path: Path) -> list[Tunnel]:
    """The AgentEndpoints of a file of manifests; other kinds in it are passed over."""
    try:
        documents = [document for document in yaml.safe_load_all(path.read_text()) if document]
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} can't be read", hint=" ".join(str(error).split())) from None
    return [from_manifest(document, path) for document in documents if _kind(document) == "AgentEndpoint"]


def from_manifest(document: dict[str, Any], path: Path) -> Tunnel:
    """What an AgentEndpoint wants. What this agent can't do is told, not left out."""
    try:
        name, spec = document["metadata"]["name"], document["spec"]
        upstream, policy = spec["upstream"], spec.get("trafficPolicy") or {}
        beyond = [field for field in ("clientCertificateRefs", "tlsTermination") if spec.get(field)]
        beyond += ["trafficPolicy.targetRef"] if policy.get("targetRef") else []
        if beyond:
            raise UserError(f"{path}: AgentEndpoint {name} has {', '.join(beyond)}", hint="give the policy inline")
        metadata = spec.get("metadata") or ""
        return Tunnel(
            spec["url"],
            upstream["url"],
            pooling=True,  # replicas of an agent share the URLs of their AgentEndpoints
            metadata=metadata if isinstance(metadata, str) else json.dumps(metadata),
            description=spec.get("description") or "",
            bindings=tuple(spec.get("bindings") or ()),
            policy=json.dumps(policy["inline"]) if policy.get("inline") else "",
            proxy_version=int(upstream.get("proxyProtocolVersion") or 0),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{path} has an AgentEndpoint that can't be read", hint=f"at {error}") from None


def _kind(document: Any) -> Any:
    return document.get("kind") if isinstance(document, dict) else None


app = typer.Typer(add_completion=False)
app.command("agent")(command)
