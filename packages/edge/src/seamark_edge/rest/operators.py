"""Clusters that bind endpoints: their certificates, and which endpoints their selectors choose."""

from __future__ import annotations

from typing import Any

import msgspec
from cryptography.hazmat.primitives import hashes, serialization

from seamark_edge.edge.errors import invalid
from seamark_edge.edge.expressions import Selectors, check_selectors, selecting
from seamark_edge.edge.ids import new_id
from seamark_edge.edge.registry import Entry, kubernetes_place
from seamark_edge.edge.urls import EndpointUrl
from seamark_edge.rest.base import Body, Office, Resource, now, read, set_fields, sliced
from seamark_edge.rest.endpoints import endpoint_view
from seamark_edge.store.record import Record
from seamark_runtime.cel import Meter
from seamark_runtime.clock import timestamp

OPERATOR = "kubernetes_operator"
MAX_SELECTORS = 32  # each is asked of every endpoint
FEATURES = ("ingress", "gateway", "bindings")


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    version: str = ""


class Binding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    endpoint_selectors: list[str] | None = None
    csr: str | None = None


class OperatorBody(Body, frozen=True, kw_only=True):
    enabled_features: list[str] | None = None
    region: str | None = None
    deployment: Deployment | None = None
    binding: Binding | None = None


class KubernetesOperators(Resource):
    """Operators of clusters. A CSR is answered with a signed client certificate; only the newest one is valid."""

    path, key, kind, prefix, what = "/kubernetes_operators", "operators", OPERATOR, "k8sop", "Kubernetes operator"

    async def create(self, raw: Any) -> dict[str, Any]:
        record = Record(OPERATOR, new_id(self.prefix), {"region": "global", "enabled_features": []}, now())
        await self.store.put(self._changed(record, raw))
        return self.view(record.id)

    async def update(self, ident: str, raw: Any) -> dict[str, Any]:
        await self.store.put(self._changed(self.record(ident), raw))
        return self.view(ident)

    async def bound(self, ident: str) -> list[dict[str, Any]]:
        """The endpoints that this operator's selectors choose, newest first."""
        operator = self.record(ident)
        entries = sorted(self.office.registry.entries.values(), key=lambda entry: entry.id, reverse=True)
        selectors = selectors_of(operator)
        chosen = [entry async for entry in sliced(entries) if selected(self.office, selectors, entry)]
        return [endpoint_view(self.office, entry) async for entry in sliced(chosen)]

    def show(self, record: Record) -> dict[str, Any]:
        binding = record.body.get("binding")
        if binding is not None:
            binding = {**binding, "ingress_endpoint": self.office.settings.ingress_endpoint}
        return {"deployment": None, **record.body, "uri": f"{self.path}/{record.id}", "binding": binding}

    def _changed(self, record: Record, raw: Any) -> Record:
        body = read(raw, OperatorBody)
        for feature in body.enabled_features or ():
            if feature.lower() not in FEATURES:
                raise invalid(f"{feature[:50]!r} is no feature: {', '.join(FEATURES)} are")
        fields = set_fields(body)
        name = record.name
        if body.binding is not None:
            before = record.body.get("binding") or {"endpoint_selectors": []}
            fields["binding"], name = self._binding(record.id, body.binding, before, name)
        changed = record.changed(**fields)
        return Record(changed.kind, changed.id, changed.body, changed.created, name)

    def _binding(
        self, ident: str, binding: Binding, before: dict[str, Any], name: str | None
    ) -> tuple[dict[str, Any], str | None]:
        after = dict(before)
        if binding.endpoint_selectors is not None:
            if len(binding.endpoint_selectors) > MAX_SELECTORS:
                raise invalid(f"binding.endpoint_selectors has more than {MAX_SELECTORS} entries")
            check_selectors(binding.endpoint_selectors, "binding.endpoint_selectors")
            after["endpoint_selectors"] = binding.endpoint_selectors
        if binding.csr:
            certificate = self.office.authority.sign(binding.csr, ident)
            after["cert"] = {
                "cert": certificate.public_bytes(serialization.Encoding.PEM).decode(),
                "not_before": timestamp(certificate.not_valid_before_utc),
                "not_after": timestamp(certificate.not_valid_after_utc),
            }
            name = certificate.fingerprint(hashes.SHA256()).hex()
        return after, name


def selectors_of(operator: Record) -> Selectors:
    return Selectors((operator.body.get("binding") or {}).get("endpoint_selectors") or ())


def selected(office: Office, selectors: Selectors, entry: Entry, meter: Meter | None = None) -> bool:
    """Whether the endpoint has the kubernetes binding and one of the selectors chooses it."""
    return entry.binding == "kubernetes" and selectors.choose(endpoint_view(office, entry), meter)


def endpoint_for(office: Office, operator: Record, url: EndpointUrl) -> str:
    """The id of an endpoint at this place that the operator may reach, or ""."""
    group = office.registry.find(kubernetes_place(url))
    if group is None:
        return ""
    selectors, meter = selectors_of(operator), selecting()  # one budget for all endpoints of the place
    return next((entry.id for entry in group.entries if selected(office, selectors, entry, meter)), "")
