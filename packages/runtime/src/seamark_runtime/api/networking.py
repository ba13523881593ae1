"""networking.k8s.io, as far as Seamark reads it."""

from __future__ import annotations

from typing import ClassVar

from seamark_runtime.api.core import LoadBalancerStatus
from seamark_runtime.api.meta import Object, Resource, Wire


class IngressServiceBackend(Wire, frozen=True, kw_only=True):
    name: str = ""


class IngressBackend(Wire, frozen=True, kw_only=True):
    service: IngressServiceBackend | None = None


class IngressPath(Wire, frozen=True, kw_only=True):
    path: str = ""
    backend: IngressBackend = IngressBackend()


class IngressPaths(Wire, frozen=True, kw_only=True):
    paths: tuple[IngressPath, ...] = ()


class IngressRule(Wire, frozen=True, kw_only=True):
    host: str = ""
    http: IngressPaths | None = None


class IngressTLS(Wire, frozen=True, kw_only=True):
    hosts: tuple[str, ...] | None = None


class IngressSpec(Wire, frozen=True, kw_only=True):
    default_backend: IngressBackend | None = None
    rules: tuple[IngressRule, ...] | None = None
    tls: tuple[IngressTLS, ...] | None = None


class IngressStatus(Wire, frozen=True, kw_only=True):
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Ingress(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("networking.k8s.io", "v1", "Ingress", "ingresses")

    spec: IngressSpec = IngressSpec()
    status: IngressStatus | None = None
