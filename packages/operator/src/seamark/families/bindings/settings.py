"""How the bindings family runs: `SEAMARK_BINDINGS_…`, or a file that `SEAMARK_BINDINGS_SETTINGS` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from seamark.families.bindings.model.options import Options
from seamark.providers.edge.memory import memory_edge
from seamark.providers.edge.ngrok import ngrok_cloud
from seamark.providers.edge.protocol import EdgeProvider
from seamark.providers.edge.seamark import seamark_edge
from seamark_runtime.errors import UserError
from seamark_runtime.settings import load
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

Many = tuple[str, ...]
THERE_ARE = (
    "choose one with SEAMARK_BINDINGS_EDGE: seamark (a self-hosted edge), ngrok (the cloud), "
    "or memory (no edge at all, for trying it out)"
)


class BindingsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which edge's endpoints are bound, and where."""

    bindings_edge: Annotated[
        str,
        Meta(
            description="seamark, ngrok or memory (which binds nothing); there is no default",
            pattern="^(seamark|ngrok|memory|)$",
        ),
    ] = ""
    bindings_edge_url: Annotated[str, Meta(description="The address of the edge's API")] = "http://127.0.0.1:4040"
    bindings_edge_key: Annotated[str, Meta(description="The key to it; better in a file")] = ""
    bindings_edge_key_file: Annotated[str, Meta(description="A file that holds the key")] = ""
    bindings_edge_ca: Annotated[
        str, Meta(description="A file of certificates by which the edge is trusted; empty for the system's")
    ] = ""
    bindings_namespace: Annotated[
        str, Meta(description="Where the KubernetesOperator, BoundEndpoints and upstream Services are")
    ] = "seamark-system"
    bindings_operator: Annotated[str, Meta(description="The KubernetesOperator that is this installation")] = "seamark"
    bindings_cluster_domain: Annotated[str, Meta(description="The domain of the cluster's names")] = "cluster.local"
    bindings_allowed_namespaces: Annotated[
        Many, Meta(description="Namespaces in which targets may be; all if none is named")
    ] = ()
    bindings_ports: Annotated[str, Meta(description="The range of ports on which forwarders listen")] = "10000-65535"
    bindings_poll: Annotated[float, Meta(description="Seconds between two looks at the edge's list", gt=0)] = 10.0
    bindings_probe_every: Annotated[
        float, Meta(description="Seconds between two probes of a binding that is reachable", gt=0)
    ] = 5.0
    bindings_probe_limit: Annotated[float, Meta(description="Seconds that a probe may take", gt=0)] = 5.0
    bindings_shelf_life: Annotated[
        float, Meta(description="Seconds after which a connection counts as unverified", gt=0)
    ] = 15.0
    bindings_gone_grace: Annotated[
        float,
        Meta(
            description="Seconds that a BoundEndpoint stays, not Ready, when its last endpoint has left; 0: none", ge=0
        ),
    ] = 60.0
    bindings_sweep: Annotated[
        float,
        Meta(
            description="Seconds after which a registration at the edge is removed whose KubernetesOperator is gone; 0 "
            "for never",
            ge=0,
        ),
    ] = 600.0


def loaded() -> BindingsSettings:
    file = os.environ.get("SEAMARK_BINDINGS_SETTINGS", "")
    return load(BindingsSettings, file=file, environment=os.environ, flags={})


def options_of(given: BindingsSettings) -> Options:
    low, high = port_range(given.bindings_ports)
    return Options(
        namespace=given.bindings_namespace,
        operator=given.bindings_operator,
        cluster_domain=given.bindings_cluster_domain,
        allowed_namespaces=given.bindings_allowed_namespaces,
        first_port=low,
        last_port=high,
        poll=given.bindings_poll,
        probe_every=given.bindings_probe_every,
        probe_limit=given.bindings_probe_limit,
        shelf_life=given.bindings_shelf_life,
        gone_grace=given.bindings_gone_grace,
        sweep=given.bindings_sweep,
        edge_ca=_read(given.bindings_edge_ca, "bindings_edge_ca"),
    )


def port_range(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    try:
        first = integer(low, 1, 65535)
        return first, integer(high, first, 65535)
    except InvalidNumber:
        raise UserError(f"bindings_ports is {text!r}", hint="write a range like 10000-65535") from None


def edge_of(given: BindingsSettings) -> EdgeProvider:
    if not given.bindings_edge:
        raise UserError("no edge is chosen (bindings_edge is empty)", hint=THERE_ARE)
    if given.bindings_edge == "memory":
        return memory_edge()
    key = _read(given.bindings_edge_key_file, "bindings_edge_key_file").strip() or given.bindings_edge_key
    if not key:
        raise UserError("there is no key to the edge", hint="name a file with SEAMARK_BINDINGS_EDGE_KEY_FILE")
    if given.bindings_edge == "ngrok":
        return ngrok_cloud(key)
    return seamark_edge(given.bindings_edge_url, key, given.bindings_edge_ca)


def _read(file: str, name: str) -> str:
    try:
        return Path(file).read_text() if file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{name}: {file} can't be read ({error})") from None
