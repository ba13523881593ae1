"""The bootstrap of an Envoy: its node id, and the address of the xDS server."""

from __future__ import annotations

from typing import Any

from seamark_edge.dataplane.model import MOST_PATTERN
from seamark_runtime.api.meta import Key

KEEPALIVE = "30s"
TYPE = "type.googleapis.com/envoy.extensions."
LIMITS = {"re2.max_program_size.error_level": MOST_PATTERN}  # by default 100, which is less than `/[a-z0-9]{1,63}` has


def bootstrap(gateway: Key | None, upstream: dict[str, Any]) -> dict[str, Any]:
    """`upstream` is how the xDS server is reached: fields of its cluster. The gateway is not part of it: it is given
    by flags."""
    source = {"resource_api_version": "V3", "ads": {}}
    http2 = {
        "@type": TYPE + "upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {
            "http2_protocol_options": {"connection_keepalive": {"interval": KEEPALIVE, "timeout": "5s"}}
        },
        # a stream that was ended is tried again over a new connection, which shows the certificate of that moment
        "common_http_protocol_options": {"max_requests_per_connection": 1},
    }
    options = {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2}
    cluster = {"name": "xds", "connect_timeout": "1s", "typed_extension_protocol_options": options, **upstream}
    return {
        **({"node": {"id": str(gateway), "cluster": "seamark"}} if gateway is not None else {}),
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "grpc_services": [{"envoy_grpc": {"cluster_name": "xds"}}],
                "set_node_on_first_message_only": True,
            },
            "cds_config": source,
            "lds_config": source,
        },
        "static_resources": {"clusters": [cluster]},
        "layered_runtime": {"layers": [{"name": "limits", "static_layer": LIMITS}]},
    }


def reconnecting_soon(config: dict[str, Any]) -> dict[str, Any]:
    """The bootstrap of an Envoy on the machine of its xDS server, which it then finds again within a second or two."""
    for service in config["dynamic_resources"]["ads_config"]["grpc_services"]:
        pauses = {"base_interval": "0.2s", "max_interval": "1s"}
        service["envoy_grpc"]["retry_policy"] = {"retry_back_off": pauses}
    return config


def by_socket(path: str) -> dict[str, Any]:
    """On the same machine."""
    return {"type": "STATIC", "load_assignment": _to({"pipe": {"path": path}})}


def by_tls(host: str, port: int, folder: str) -> dict[str, Any]:
    """Over a network: both sides show certificates. `folder` is where Envoy finds the files of `tls_files`."""
    context = {
        "@type": TYPE + "transport_sockets.tls.v3.UpstreamTlsContext",
        "sni": host,
        "common_tls_context": {
            "tls_certificate_sds_secret_configs": [_from_file("client", folder)],
            "combined_validation_context": {
                "default_validation_context": {
                    "match_typed_subject_alt_names": [{"san_type": "DNS", "matcher": {"exact": host}}]
                },
                "validation_context_sds_secret_config": _from_file("authority", folder),
            },
        },
    }
    return {
        "type": "STRICT_DNS",
        "load_assignment": _to({"socket_address": {"address": host, "port_value": port}}),
        "transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": context},
    }


def tls_files(certificates: str) -> dict[str, dict[str, Any]]:
    """Files by name that tell Envoy where its tls.crt, tls.key and ca.crt are.

    They are secrets of their own, and not a part of the bootstrap, because Envoy reads only such again when the files
    in their directory change: a renewed certificate is used without a restart.
    """
    watched = {"watched_directory": {"path": certificates}}
    pair = {
        "certificate_chain": {"filename": f"{certificates}/tls.crt"},
        "private_key": {"filename": f"{certificates}/tls.key"},
    }
    trusted = {"trusted_ca": {"filename": f"{certificates}/ca.crt"}}
    contents = {"client": {"tls_certificate": pair | watched}, "authority": {"validation_context": trusted | watched}}
    kind = TYPE + "transport_sockets.tls.v3.Secret"
    return {
        f"{name}.json": {"resources": [{"@type": kind, "name": name, **content}]} for name, content in contents.items()
    }


def _from_file(name: str, folder: str) -> dict[str, Any]:
    source = {"path_config_source": {"path": f"{folder}/{name}.json"}, "resource_api_version": "V3"}
    return {"name": name, "sds_config": source}


def _to(address: dict[str, Any]) -> dict[str, Any]:
    return {"cluster_name": "xds", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]}
