"""What a route's references lead to: Services' ports, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable

from seamark.families.gateway.model.routes import Backend
from seamark.families.gateway.rules.directresponses import direct_response
from seamark.gatewayapi.references import UnresolvedReference, invalid_reference, not_permitted
from seamark_edge.dataplane import model
from seamark_runtime.api.core import Service, ServicePort
from seamark_runtime.api.gateway import GROUP
from seamark_runtime.api.gatewayroutes import BackendObjectReference
from seamark_runtime.api.meta import Key
from seamark_runtime.grants import Referrer, granted
from seamark_runtime.view import View

PROTOCOLS = {"kubernetes.io/h2c": "http2", "kubernetes.io/ws": "http1", "grpc": "http2"}


class Resolver:
    """Resolves the references of one route; collects its backends, and what can't be resolved."""

    def __init__(
        self, view: View, kind: str, namespace: str, unusable: Callable[[Key], str], *, group: str = GROUP
    ) -> None:
        self._view = view
        self.unusable = unusable  # a policy that is named as an extension: why it can't be used; "" if it can
        self._referrer = Referrer(group, kind, namespace)
        self.backends: dict[str, Backend] = {}
        self.unresolved: list[UnresolvedReference] = []
        self.rule = "spec.rules[0]"  # whose references are resolved

    def direct_response(self, key: Key) -> model.Respond:
        return direct_response(self._view, key)

    def cluster(self, field: str, ref: BackendObjectReference, protocol: str = "") -> str:
        """The name of the cluster for the reference in this field; empty when it leads nowhere."""
        invalid = invalid_reference(f"{self.rule}.{field}", ref.name, ref.namespace)
        found = UnresolvedReference("BackendNotFound", invalid) if invalid else self._find(ref, protocol)
        if isinstance(found, UnresolvedReference):
            self.unresolved.append(found)
            return ""
        self.backends[found.cluster] = found
        return found.cluster

    def _find(self, ref: BackendObjectReference, protocol: str) -> Backend | UnresolvedReference:
        kind = ref.kind or "Service"
        if ref.group or kind != "Service":
            return UnresolvedReference("InvalidKind", f"{kind} can't be a backend; use a Service")
        key = Key(ref.namespace or self._referrer.namespace, ref.name)
        if not granted(self._view, self._referrer, "", "Service", key):
            return not_permitted(self._referrer, "Service", key)
        service = self._view.intent(Service, key)
        if service is None or service.spec is None:
            return UnresolvedReference("BackendNotFound", f"Service {key} does not exist")
        if service.spec.type == "ExternalName":
            return UnresolvedReference("BackendNotFound", f"Service {key} is an ExternalName, which is not served")
        port = next((each for each in service.spec.ports or () if each.port == ref.port), None)
        if port is None:
            return UnresolvedReference("BackendNotFound", f"Service {key} has no port {ref.port}")
        return Backend(key, port.port, port.name, protocol or port_protocol(port))


def port_protocol(port: ServicePort) -> str:
    return PROTOCOLS.get(port.app_protocol, "http1")
