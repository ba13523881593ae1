"""What an Envoy knows from the start: who it is, and where to ask for everything else."""

from __future__ import annotations

from typing import Any

from seamark.api.meta import Key

TYPE = "type.googleapis.com/envoy.extensions."


def bootstrap(gateway: Key | None, upstream: dict[str, Any]) -> dict[str, Any]:
    """`upstream` is how the xDS server is reached: fields of its cluster. No gateway: its flags say whose it is."""
    source = {"resource_api_version": "V3", "ads": {}}
    http2 = {
        "@type": TYPE + "upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {
            "http2_protocol_options": {"connection_keepalive": {"interval": "30s", "timeout": "5s"}}
        },
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
    }


def by_socket(path: str) -> dict[str, Any]:
    """On the same machine."""
    return {"type": "STATIC", "load_assignment": _to({"pipe": {"path": path}})}


def by_tls(host: str, port: int, certificates: str) -> dict[str, Any]:
    """Over a network: both sides show certificates, those of this directory."""
    files = {"filename": f"{certificates}/tls.crt"}, {"filename": f"{certificates}/tls.key"}
    context = {
        "@type": TYPE + "transport_sockets.tls.v3.UpstreamTlsContext",
        "sni": host,
        "common_tls_context": {
            "tls_certificates": [{"certificate_chain": files[0], "private_key": files[1]}],
            "validation_context": {
                "trusted_ca": {"filename": f"{certificates}/ca.crt"},
                "match_typed_subject_alt_names": [{"san_type": "DNS", "matcher": {"exact": host}}],
            },
        },
    }
    return {
        "type": "STRICT_DNS",
        "load_assignment": _to({"socket_address": {"address": host, "port_value": port}}),
        "transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": context},
    }


def _to(address: dict[str, Any]) -> dict[str, Any]:
    return {"cluster_name": "xds", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]}
