"""What a route's references lead to: Services' ports, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seamark.families.gateway.references import invalid
from seamark.families.gateway.shapes import Backend
from seamark_runtime.api.core import Service, ServicePort
from seamark_runtime.api.gateway import GROUP
from seamark_runtime.api.gatewayroutes import BackendObjectReference
from seamark_runtime.api.meta import Key
from seamark_runtime.grants import Asker, granted
from seamark_runtime.view import View

PROTOCOLS = {"kubernetes.io/h2c": "http2", "kubernetes.io/ws": "http1", "grpc": "http2"}


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a reference leads nowhere."""

    reason: str
    message: str


class Resolver:
    """Answers, for one route, what its references lead to; remembers every trouble."""

    def __init__(self, view: View, kind: str, namespace: str, unusable: Callable[[Key], str]) -> None:
        self._view = view
        self.unusable = unusable  # a policy that is named as an extension: why it can't be used; "" if it can
        self._asker = Asker(GROUP, kind, namespace)
        self.backends: dict[str, Backend] = {}
        self.troubles: list[Trouble] = []
        self.rule = "spec.rules[0]"  # whose references are looked at

    def cluster(self, field: str, ref: BackendObjectReference, protocol: str = "") -> str:
        """The name of the cluster for the reference in this field; empty when it leads nowhere."""
        words = invalid(f"{self.rule}.{field}", ref.name, ref.namespace)
        found = Trouble("BackendNotFound", words) if words else self._find(ref, protocol)
        if isinstance(found, Trouble):
            self.troubles.append(found)
            return ""
        self.backends[found.cluster] = found
        return found.cluster

    def _find(self, ref: BackendObjectReference, protocol: str) -> Backend | Trouble:
        kind = ref.kind or "Service"
        if ref.group or kind != "Service":
            return Trouble("InvalidKind", f"{kind} can't be a backend; use a Service")
        key = Key(ref.namespace or self._asker.namespace, ref.name)
        if not granted(self._view, self._asker, "", "Service", key):
            words = (
                f"No ReferenceGrant in namespace {key.namespace} lets {self._asker.kind}s use the Service {key.name}"
            )
            return Trouble("RefNotPermitted", words)
        service = self._view.intent(Service, key)
        if service is None or service.spec is None:
            return Trouble("BackendNotFound", f"Service {key} does not exist")
        if service.spec.type == "ExternalName":
            return Trouble("BackendNotFound", f"Service {key} is an ExternalName, which is not served")
        port = next((one for one in service.spec.ports or () if one.port == ref.port), None)
        if port is None:
            return Trouble("BackendNotFound", f"Service {key} has no port {ref.port}")
        return Backend(key, port.port, port.name, protocol or spoken(port))


def spoken(port: ServicePort) -> str:
    return PROTOCOLS.get(port.app_protocol, "http1")
