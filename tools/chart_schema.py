"""The schema of the chart's values, from values.yaml itself: a default says the type, the comment above the meaning.

- What is not in values.yaml is refused, with its name.
- Settings of families are those that the code declares. What can't be derived from a default is in `MORE`.
"""

from __future__ import annotations

import re
import typing
from typing import Any

import msgspec
import yaml

from seamark.families.bindings.settings import BindingsSettings
from seamark.families.dns.settings import DnsSettings
from seamark.families.dns.sources.kinds import SOURCES
from seamark.families.gateway.settings import GatewaySettings
from seamark.families.loadbalancer.settings import LoadBalancerSettings
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.forwarder.settings import ForwarderSettings
from seamark_runtime.settings import Settings

Json = dict[str, Any]

FREE: Json = {"type": "object"}  # Kubernetes itself defines what is allowed
OBJECTS: Json = {"type": "array", "items": {"type": "object"}}
TEXTS: Json = {"type": "object", "additionalProperties": {"type": "string"}}
PORT: Json = {"minimum": 0, "maximum": 65535}
SETTINGS: dict[str, type[msgspec.Struct]] = {
    "controlPlane.settings": Settings,
    "families.dns.settings": DnsSettings,
    "families.loadbalancer.settings": LoadBalancerSettings,
    "families.bindings.settings": BindingsSettings,
    "families.gateway.settings": GatewaySettings,
    "edge.settings": EdgeSettings,
    "forwarder.settings": ForwarderSettings,
}
# What the chart itself sets, from values of its own: not to be set twice.
SET_HERE = frozenset(
    (
        *("kubeconfig", "context", "families", "namespace", "lease", "leader_election", "health_address", "log_level"),
        "evidence",
        *("dns_sources", "dns_tsig_secret", "dns_txt_encrypt_key", "score_namespace"),
        *("gateway_data_plane", "gateway_namespace", "gateway_workload", "gateway_service_type", "gateway_image"),
        *("gateway_load_balancer_class", "gateway_xds_listen", "gateway_xds_address", "gateway_xds_certificates"),
        *("gateway_xds_authority", "gateway_envoy", "gateway_addresses"),
        *("lb_class", "lb_provider", "lb_api_url", "lb_api_key", "lb_api_key_file", "lb_api_ca", "lb_cluster"),
        *("lb_namespace", "lb_drain", "lb_cross_namespace_upstreams", "lb_cross_namespace_bindings"),
        *("bindings_edge", "bindings_edge_url", "bindings_edge_key", "bindings_edge_key_file", "bindings_edge_ca"),
        *("bindings_namespace", "bindings_operator"),
        *(
            "state",
            "store",
            "store_password_file",
            "bind",
            "public_host",
            "domain",
            "agent_port",
            "api_port",
            "api_tls",
            "ops_port",
            "http_port",
        ),
        *("tls_port", "ingress_port", "tcp_ports", "agent_cert", "agent_key", "given"),
    )
)


def one_of(*values: str) -> Json:
    return {"enum": list(values)}


BY_NAME: dict[str, Json] = {
    **dict.fromkeys(("resources", "affinity", "securityContext"), FREE),
    **dict.fromkeys(("tolerations", "topologySpreadConstraints", "pullSecrets", "extraEnv", "from"), OBJECTS),
    **dict.fromkeys(("nodeSelector", "annotations", "podAnnotations", "labels", "podLabels"), TEXTS),
    "replicas": {"minimum": 0},
    "pullPolicy": one_of("Always", "IfNotPresent", "Never"),
    "logLevel": one_of("debug", "info", "warning", "error"),
    "digest": {"pattern": "^(sha256:[0-9a-f]{64})?$"},
}
MORE: dict[str, Json] = {
    "controlPlane.replicas": {"minimum": 1},
    "families.dns.sources": {"items": one_of("crd", *SOURCES), "minItems": 1, "uniqueItems": True},
    "families.gateway.workload": one_of("Deployment", "DaemonSet"),
    "families.gateway.serviceType": one_of("LoadBalancer", "NodePort", "ClusterIP"),
    "families.bindings.endpointSelectors": {"minItems": 1},
    "families.score.config": FREE,
    "edge.service.type": one_of("LoadBalancer", "NodePort", "ClusterIP"),
    "externalEdge.provider": one_of("seamark", "ngrok"),
    "edge.httpPort": PORT,
    "edge.tlsPort": PORT,
    "edge.tcpPorts.first": PORT,
    "edge.tcpPorts.count": {"minimum": 0, "maximum": 100},
    "edge.persistence.size": {"pattern": r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$"},
    "uninstall.policy": one_of("Delete", "Retain"),
    "uninstall.within": {"minimum": 1, "maximum": 3600},
}


def schema(text: str) -> Json:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    made = _object(root, "", text.splitlines())
    return {"$schema": "https://json-schema.org/draft-07/schema#", "title": "Values of the chart seamark", **made}


def _object(node: yaml.MappingNode, path: str, lines: list[str]) -> Json:
    properties = {}
    for key, value in node.value:
        name = f"{path}.{key.value}".lstrip(".")
        found = _value(key.value, value, name, lines)
        if meaning := _comment(lines, key.start_mark.line):
            found = {"description": meaning, **found}
        properties[key.value] = found
    if not path:
        properties["global"] = {"description": "Helm's own, for charts that include this one.", **FREE}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _value(key: str, node: yaml.Node, path: str, lines: list[str]) -> Json:
    if path in SETTINGS:
        return settings(SETTINGS[path])
    more = {**BY_NAME.get(key, {}), **MORE.get(path, {})}
    if more.get("type") in ("object", "array"):
        return more
    if isinstance(node, yaml.MappingNode):
        return _object(node, path, lines) | more
    if isinstance(node, yaml.SequenceNode):
        return {"type": "array", "items": {"type": "string"}} | more
    kind = {"bool": "boolean", "int": "integer", "float": "number", "str": "string"}[node.tag.rsplit(":", 1)[1]]
    return {"type": kind, **more}


def settings(shape: type[msgspec.Struct]) -> Json:
    """A map with the settings of a program by their names, each of its declared type."""
    hints = typing.get_type_hints(shape)
    types = {bool: "boolean", int: "integer", float: "number", str: "string"}
    properties = {}
    for field in msgspec.structs.fields(shape):
        if field.name in SET_HERE:
            continue
        kind = types.get(hints[field.name])
        properties[field.name] = {"type": kind} if kind else {"type": "array", "items": {"type": "string"}}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _comment(lines: list[str], at: int) -> str:
    """The comment behind a value, or the block of comment right above it."""
    behind = re.search(r"\s#\s(.*)$", lines[at])
    if behind:
        return behind[1]
    found: list[str] = []
    while at > 0 and lines[at - 1].strip().startswith("#"):
        at -= 1
        found.insert(0, lines[at].strip().lstrip("#").strip())
    return " ".join(found)
