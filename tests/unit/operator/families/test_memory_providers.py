"""A provider in memory serves nobody: none is the default, and where one is chosen no summary is True over it.

The families are built from settings, as `seamark run` builds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Any

import pytest

from seamark.families.bindings import settings as bindings_settings
from seamark.families.bindings.family import BINDINGS
from seamark.families.bindings.family import CRDS as BINDINGS_KINDS
from seamark.families.bindings.family import controllers as bindings
from seamark.families.gateway import settings as gateway_settings
from seamark.families.gateway.family import TRAFFIC_POLICY
from seamark.families.gateway.family import controllers as gateway
from seamark.families.loadbalancer import settings as loadbalancer_settings
from seamark.families.loadbalancer.family import CRDS as LOADBALANCER_KINDS
from seamark.families.loadbalancer.family import controllers as loadbalancer
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration
from seamark_runtime.errors import UserError
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.simulation.gateway import KINDS
from tests.virtual_time import CLOCK, run

Json = dict[str, Any]
SETTINGS = Settings(leader_election=False, health_address="", watch_idle=1e6, watch_lifetime=1e6, workers=4)
SETTLED = 60.0  # seconds, of virtual time
GATEWAY_KINDS = (*(CRD(kind=kind) for kind in KINDS), TRAFFIC_POLICY)


def after_a_minute(declared: Callable[[], tuple[Declaration, ...]], kinds: Iterable[CRD], *objects: Json) -> Store:
    """The objects as they are when an operator has worked on them for a minute."""

    async def story() -> Store:
        store = Store(clock=CLOCK, chance=Random(1))
        for kind in kinds:
            store.create(kind.manifest())
        for item in objects:
            store.create(item)
        operator = Operator(World(EmbeddedTransport(store), CLOCK, Random(1), "operator"), declared(), SETTINGS)
        running = asyncio.ensure_future(operator.run())
        await asyncio.sleep(SETTLED)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return store

    return run(story())


def manifest(version: str, kind: str, name: str, namespace: str = "default", **fields: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": {**metadata, **fields.pop("metadata", {})}, **fields}


def told(conditions: Any, type_: str) -> str:
    (found,) = [one for one in conditions if one["type"] == type_]
    return f"{found['status']} {found['reason']}"


def status(store: Store, resource: str, namespace: str, name: str) -> Json:
    found: Json = (store.get(resource, namespace, name) or {})["status"]
    return found


def test_bindings_without_an_edge_are_an_error_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEAMARK_BINDINGS_EDGE", raising=False)
    with pytest.raises(UserError, match="no edge is chosen"):
        BINDINGS.require()
    assert BINDINGS.controllers()  # what they are allowed and write can be shown without one
    monkeypatch.setenv("SEAMARK_BINDINGS_EDGE", "memory")
    BINDINGS.require()


def test_an_installation_at_an_edge_in_memory_is_not_ready() -> None:
    given = bindings_settings.BindingsSettings(bindings_edge="memory", bindings_namespace="default")
    declared = partial(bindings, bindings_settings.options_of(given), bindings_settings.edge_of(given), clock=CLOCK)
    binding = {"endpointSelectors": ["true"], "tlsSecretName": "tls"}
    installation = manifest(
        "ngrok.k8s.ngrok.com/v1alpha1",
        "KubernetesOperator",
        "seamark",
        spec={"enabledFeatures": ["bindings"], "binding": binding},
    )
    store = after_a_minute(declared, BINDINGS_KINDS, installation)
    found = status(store, "kubernetesoperators.ngrok.k8s.ngrok.com", "default", "seamark")
    assert told(found["conditions"], "Ready") == "Unknown NoEdge"


def test_endpoints_and_domains_at_an_edge_in_memory_are_not_ready() -> None:
    given = loadbalancer_settings.LoadBalancerSettings(lb_provider="memory")
    provider = loadbalancer_settings.provider_of(given)
    declared = partial(loadbalancer, loadbalancer_settings.options_of(given), provider, clock=CLOCK)
    policy = {"on_tcp_connect": [{"actions": [{"type": "forward-internal", "config": {"url": "tls://a.internal"}}]}]}
    endpoint = manifest(
        "ngrok.k8s.ngrok.com/v1alpha1",
        "CloudEndpoint",
        "web",
        spec={"url": "tls://web.edge.localhost", "trafficPolicy": {"policy": policy}},
    )
    domain = manifest("ingress.k8s.ngrok.com/v1alpha1", "Domain", "shop", spec={"domain": "shop.edge.localhost"})
    store = after_a_minute(declared, LOADBALANCER_KINDS, endpoint, domain)
    web = status(store, "cloudendpoints.ngrok.k8s.ngrok.com", "default", "web")
    assert told(web["conditions"], "CloudEndpointCreated") == "True CloudEndpointCreated"
    assert told(web["conditions"], "UpstreamReachable") == "Unknown NotReported"
    assert told(web["conditions"], "Ready").startswith("Unknown")
    shop = status(store, "domains.ingress.k8s.ngrok.com", "default", "shop")
    assert told(shop["conditions"], "Ready") == "Unknown NoEdge"


def test_a_gateway_on_a_data_plane_in_memory_is_not_programmed() -> None:
    given = gateway_settings.GatewaySettings(gateway_data_plane="memory")
    declared = partial(gateway, gateway_settings.options_of(given), gateway_settings.data_plane(given), clock=CLOCK)
    group = "gateway.networking.k8s.io/v1"
    listener = {"name": "http", "port": 8080, "protocol": "HTTP"}
    objects = (
        manifest(group, "GatewayClass", "kgateway", "", spec={"controllerName": "kgateway.dev/kgateway"}),
        manifest(group, "Gateway", "web", spec={"gatewayClassName": "kgateway", "listeners": [listener]}),
        manifest(
            group,
            "HTTPRoute",
            "web",
            spec={"parentRefs": [{"name": "web"}], "rules": [{"backendRefs": [{"name": "web", "port": 80}]}]},
        ),
        manifest("v1", "Service", "web", spec={"ports": [{"port": 80}]}),
        manifest(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            "web",
            metadata={"labels": {"kubernetes.io/service-name": "web"}},
            addressType="IPv4",
            endpoints=[{"addresses": ["127.0.0.1"]}],
            ports=[{"port": 80}],
        ),
    )
    store = after_a_minute(declared, GATEWAY_KINDS, *objects)
    web = status(store, "gateways.gateway.networking.k8s.io", "default", "web")
    assert told(web["conditions"], "Programmed") == "Unknown NoDataPlane"
    (listening,) = web["listeners"]
    assert told(listening["conditions"], "Programmed") == "Unknown NoDataPlane"
    (parent,) = status(store, "httproutes.gateway.networking.k8s.io", "default", "web")["parents"]
    assert told(parent["conditions"], "Accepted") == "True Accepted"
    assert told(parent["conditions"], "seamark.dev/BackendsReady") == "Unknown NoDataPlane"
