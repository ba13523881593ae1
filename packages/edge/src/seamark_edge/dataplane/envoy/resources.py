"""Listeners, clusters, endpoints and secrets in Envoy's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import address_pb2, config_source_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.extensions.filters.http.cors.v3 import cors_pb2
from envoy.extensions.filters.http.local_ratelimit.v3 import local_rate_limit_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2 as manager_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, secret_pb2, tls_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2

from seamark_edge.dataplane.envoy import routes
from seamark_edge.dataplane.envoy.routes import CORS, NOWHERE, RATE, GatewayTable
from seamark_edge.dataplane.envoyfilters import presence
from seamark_edge.dataplane.envoyfilters.messages import packed, seconds
from seamark_edge.dataplane.envoyfilters.table import ACCESS, AFTER, BEFORE, Modules, in_chain, marks
from seamark_edge.dataplane.filters import Service
from seamark_edge.dataplane.model import Chain, ClientTls, Cluster, Endpoints, Listener, Secret, ServerTls, Snapshot

TYPE = "type.googleapis.com/"
CDS = TYPE + "envoy.config.cluster.v3.Cluster"
EDS = TYPE + "envoy.config.endpoint.v3.ClusterLoadAssignment"
LDS = TYPE + "envoy.config.listener.v3.Listener"
RDS = TYPE + "envoy.config.route.v3.RouteConfiguration"
SDS = TYPE + "envoy.extensions.transport_sockets.tls.v3.Secret"

TLS = "envoy.transport_sockets.tls"
PROTOCOL_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
SYSTEM_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
MANY = 1 << 20  # what Envoy refuses beyond its small defaults is for backends to refuse
SAN = common_pb2.SubjectAltNameMatcher
TLS_VERSIONS = {
    version: common_pb2.TlsParameters.TlsProtocol.Value(f"TLSv{version.replace('.', '_')}")
    for version in ("1.0", "1.1", "1.2", "1.3")
}


def by_ads() -> config_source_pb2.ConfigSource:
    return config_source_pb2.ConfigSource(ads={}, resource_api_version=config_source_pb2.V3)


def parts(snapshot: Snapshot) -> Mapping[str, tuple[Mapping[str, Any], Callable[[Any], Any]]]:
    """By the type's URL: the resources by name, and who puts them into Envoy's words."""
    return {
        CDS: (snapshot.clusters, cluster),
        EDS: (snapshot.endpoints, endpoints),
        SDS: (snapshot.secrets, secret),
        LDS: (snapshot.listeners, listener),
        RDS: ({name: GatewayTable(snapshot.uid, table) for name, table in snapshot.tables.items()}, routes.table),
    }


# ---- backends


def cluster(config: Cluster) -> cluster_pb2.Cluster:
    made = cluster_pb2.Cluster(
        name=config.name,
        type=cluster_pb2.Cluster.EDS,
        connect_timeout=seconds(5),
        eds_cluster_config=cluster_pb2.Cluster.EdsClusterConfig(eds_config=by_ads()),
    )
    limits = made.circuit_breakers.thresholds.add()
    for name in ("max_connections", "max_pending_requests", "max_requests", "max_retries"):
        getattr(limits, name).value = MANY
    if config.protocol == "http2":
        options = http_protocol_options_pb2.HttpProtocolOptions()
        options.explicit_http_config.http2_protocol_options.SetInParent()
        made.typed_extension_protocol_options[PROTOCOL_OPTIONS].CopyFrom(packed(options))
    if config.tls is not None:
        made.transport_socket.name = TLS
        made.transport_socket.typed_config.Pack(client_tls(config.tls, config.protocol))
    return made


def client_tls(tls: ClientTls, protocol: str) -> tls_pb2.UpstreamTlsContext:
    context = tls_pb2.UpstreamTlsContext(sni=tls.host)
    validation = context.common_tls_context.validation_context
    if tls.authorities is None:
        validation.trusted_ca.filename = SYSTEM_AUTHORITIES
    else:
        validation.trusted_ca.inline_bytes = tls.authorities
    for kind, value in tls.names or (("DNS", tls.host),):
        matcher = SAN(san_type=SAN.URI if kind == "URI" else SAN.DNS)
        if value.startswith("*."):
            matcher.matcher.suffix = value[1:]
        else:
            matcher.matcher.exact = value
        validation.match_typed_subject_alt_names.append(matcher)
    if protocol == "http2":
        context.common_tls_context.alpn_protocols.append("h2")
    if tls.certificate:
        by_secret(context.common_tls_context, tls.certificate)
    return context


def by_secret(context: tls_pb2.CommonTlsContext, name: str) -> None:
    context.tls_certificate_sds_secret_configs.add(name=name, sds_config=by_ads())


def endpoints(group: Endpoints) -> endpoint_pb2.ClusterLoadAssignment:
    assignment = endpoint_pb2.ClusterLoadAssignment(cluster_name=group.name)
    locality = assignment.endpoints.add()
    for host, port in group.addresses:
        endpoint = locality.lb_endpoints.add().endpoint
        endpoint.address.CopyFrom(address(host, port))
        endpoint.hostname = group.host
    return assignment


def address(host: str, port: int) -> address_pb2.Address:
    return address_pb2.Address(socket_address=address_pb2.SocketAddress(address=host, port_value=port))


def secret(pair: Secret) -> secret_pb2.Secret:
    made = secret_pb2.Secret(name=pair.name)
    made.tls_certificate.certificate_chain.inline_bytes = pair.chain
    made.tls_certificate.private_key.inline_bytes = pair.key
    return made


# ---- listeners


def listener(config: Listener) -> listener_pb2.Listener:
    made = listener_pb2.Listener(
        name=config.name,
        address=address(config.addresses[0], config.port),
        filter_chains=[chain(each) for each in config.chains],
    )
    for other in config.addresses[1:]:
        made.additional_addresses.add().address.CopyFrom(address(other, config.port))
    made.per_connection_buffer_limit_bytes.value = 1 << 20
    # Who listens at every address has a network of its own. At one address there could be the Envoy of another gateway:
    # with SO_REUSEPORT both would bind it, and the kernel would share the connections between them.
    made.enable_reuse_port.value = all(each in EVERYWHERE for each in config.addresses)
    if config.inspect:
        inspector = made.listener_filters.add(name="envoy.filters.listener.tls_inspector")
        inspector.typed_config.Pack(tls_inspector_pb2.TlsInspector())
    return made


def chain(config: Chain) -> listener_components_pb2.FilterChain:
    made = listener_components_pb2.FilterChain(name=config.name)
    if config.server_names:
        made.filter_chain_match.server_names.extend(config.server_names)
    if config.tls is not None:
        made.transport_socket.name = TLS
        made.transport_socket.typed_config.Pack(server_tls(config.tls))
    if config.table:
        made.filters.add(name="envoy.filters.network.http_connection_manager").typed_config.Pack(http_manager(config))
    else:
        made.filters.add(name="envoy.filters.network.tcp_proxy").typed_config.Pack(tcp_proxy(config))
    return made


def server_tls(tls: ServerTls) -> tls_pb2.DownstreamTlsContext:
    context = tls_pb2.DownstreamTlsContext()
    common = context.common_tls_context
    for name in tls.certificates:
        by_secret(common, name)
    oldest, newest = tls.versions
    if oldest:
        common.tls_params.tls_minimum_protocol_version = TLS_VERSIONS[oldest]
    if newest:
        common.tls_params.tls_maximum_protocol_version = TLS_VERSIONS[newest]
    if tls.http:
        common.alpn_protocols.extend(("h2", "http/1.1"))
    if tls.validation is not None:
        if tls.validation.authorities:  # without any, only who need not be valid is let in
            common.validation_context.trusted_ca.inline_bytes = tls.validation.authorities
        context.require_client_certificate.value = tls.validation.required
        if not tls.validation.required:
            common.validation_context.trust_chain_verification = (
                common_pb2.CertificateValidationContext.ACCEPT_UNTRUSTED
            )
    return context


def http_manager(filter_chain: Chain) -> manager_pb2.HttpConnectionManager:
    manager = manager_pb2.HttpConnectionManager(
        stat_prefix=filter_chain.name, rds=manager_pb2.Rds(config_source=by_ads(), route_config_name=filter_chain.table)
    )
    manager.use_remote_address.value = True
    manager.normalize_path.value = True
    manager.upgrade_configs.add(upgrade_type="websocket")
    limit = local_rate_limit_pb2.LocalRateLimit(stat_prefix="local_rate_limit")  # off, but for routes that say how
    add_disabled(manager, BEFORE, filter_chain.services)
    manager.http_filters.add(name=CORS).typed_config.Pack(cors_pb2.Cors())
    if (made := marks(filter_chain.services)) is not None:
        manager.http_filters.add(name=presence.MARKS).typed_config.Pack(made, deterministic=True)
    manager.http_filters.add(name=presence.GUARD, disabled=True).typed_config.Pack(presence.idle())
    add_disabled(manager, ACCESS, filter_chain.services)
    manager.http_filters.add(name=RATE).typed_config.Pack(limit)
    add_disabled(manager, AFTER, filter_chain.services)
    router = router_pb2.Router(suppress_envoy_headers=True)
    manager.http_filters.add(name="envoy.filters.http.router").typed_config.Pack(router)
    return manager


def add_disabled(manager: manager_pb2.HttpConnectionManager, modules: Modules, services: Iterable[Service]) -> None:
    """Filters that only a route's own configuration enables."""
    for name, config in in_chain(modules, services):
        manager.http_filters.add(name=name, disabled=True).typed_config.Pack(config, deterministic=True)


def tcp_proxy(config: Chain) -> tcp_proxy_pb2.TcpProxy:
    proxy = tcp_proxy_pb2.TcpProxy(stat_prefix=config.name)
    targets = [target for target in config.targets if target.weight]
    if len(targets) > 1:
        for target in targets:
            proxy.weighted_clusters.clusters.add(name=target.cluster or NOWHERE, weight=target.weight)
    else:
        proxy.cluster = (targets[0].cluster if targets else "") or NOWHERE
    return proxy
