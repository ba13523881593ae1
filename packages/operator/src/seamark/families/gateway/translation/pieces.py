"""What each object brings into a gateway's configuration, and the configuration with other pieces in their place. Pure.

The pieces of an object are everything by which it could make the data plane refuse a configuration: a route, a
TrafficPolicy, a BackendTLSPolicy, a Secret with a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from seamark.families.gateway.model.gateways import GatewayView, ListenerView
from seamark.families.gateway.model.routes import AttachedRoute
from seamark.families.gateway.translation.state import TranslationInput
from seamark.families.gateway.translation.trafficpolicies import merge_traffic_policies
from seamark_edge.dataplane.model import Origin, Secret, Snapshot
from seamark_edge.dataplane.protocol import Rejected
from seamark_runtime.api.meta import Key

POLICY, TLS_POLICY, SECRET = "TrafficPolicy", "BackendTLSPolicy", "Secret"
POLICIES = (POLICY, TLS_POLICY)  # without the routes that they apply to, the data plane gets nothing of them
STREAMS = ("TLSRoute", "TCPRoute")  # parts of a listener; the other routes are in tables

KINDS = ("secrets", "clusters", "tables", "listeners")
ANY = ""

Pieces = dict[Origin, Any]


@dataclass(frozen=True)
class Absent:
    """In place of a piece: the object is taken out, for this reason."""

    problem: str
    good: Any = None  # its last good piece


def pieces_of(given: TranslationInput) -> Pieces:
    """By object. Policies come after the routes that they apply to: they are decided when the routes are."""
    found: Pieces = {}
    for secret in secrets_of(given.gateway):
        found[secret_origin(secret.name)] = secret
    for backend, key in given.tls_sources.items():
        found.setdefault(Origin(TLS_POLICY, *key), {})[backend] = given.tls.get(backend)
    for route in given.attached:
        found[route.route.origin] = route
    for policy in given.table:
        found[Origin(POLICY, *policy.key)] = policy
    return found


def secrets_of(gateway: GatewayView) -> list[Secret]:
    found = {secret.name: secret for listener in gateway.listeners for secret in listener.tls.certificates}
    if gateway.backend_certificate is not None:
        found[gateway.backend_certificate.name] = gateway.backend_certificate
    return list(found.values())


def secret_origin(name: str) -> Origin:
    namespace, _, name = name.partition("/")
    return Origin(SECRET, namespace, name)


def cause_of(given: TranslationInput, pieces: Mapping[Origin, Any], origin: Origin) -> object:
    """What an object's refusal depends on: the object; of a route, also its gateway, and the policies that apply."""
    piece = pieces.get(origin)
    if not isinstance(piece, AttachedRoute):
        return piece
    applied = tuple(
        given.policies.get((origin, number, listener))
        for listener, _ in piece.through
        for number in range(len(piece.route.rules))
    )
    return piece, applied, given.gateway


def kinds_of(rejected: Rejected, snapshot: Snapshot) -> tuple[str, ...]:
    """The kinds of the refused resources, by the fields of a snapshot; `ANY` where that is not known."""
    found = [kind for kind in KINDS if any(name in getattr(snapshot, kind) for name in rejected.resources)]
    return tuple(found) or (ANY,)


def may_cause(kind: str, origin: Origin) -> bool:
    """Whether resources of this kind can have anything of an object in them."""
    match kind:
        case "secrets":
            return origin.kind == SECRET
        case "clusters":
            return origin.kind == TLS_POLICY
        case "listeners":
            return origin.kind in (*STREAMS, POLICY)  # policies bring filters that use services
        case "tables":
            return origin.kind not in (*STREAMS, SECRET, TLS_POLICY)
    return True


def with_pieces(given: TranslationInput, others: Mapping[Origin, Any]) -> TranslationInput:
    """With other pieces in place of those of these objects: earlier ones, or `Absent`."""
    if not others:
        return given
    attached = tuple(
        piece for route in given.attached if isinstance(piece := others.get(route.route.origin, route), AttachedRoute)
    )
    replaced = {}
    for policy in given.table:
        other = others.get(Origin(POLICY, *policy.key), policy)
        replaced[policy.key] = policy.unusable(other.problem, other.good) if isinstance(other, Absent) else other
    table = given.table.replacing(replaced)
    gateway = with_secrets(given.gateway, others)
    tls = dict(given.tls)
    for backend, key in given.tls_sources.items():
        other = others.get(Origin(TLS_POLICY, *key))
        if other is not None:  # without good settings no connection is made
            tls[backend] = ((other.good or {}) if isinstance(other, Absent) else other).get(backend)
    policies, _ = merge_traffic_policies(gateway, attached, table)
    return replace(given, gateway=gateway, attached=attached, tls=tls, table=table, policies=policies)


def with_secrets(gateway: GatewayView, others: Mapping[Origin, Any]) -> GatewayView:
    """A listener that has lost its last certificate is not served."""
    if not any(origin.kind == SECRET for origin in others):
        return gateway

    def other(secret: Secret) -> Secret | None:
        found = others.get(secret_origin(secret.name), secret)
        good: Secret | None = found.good if isinstance(found, Absent) else found
        return good

    def changed(listener: ListenerView) -> ListenerView:
        certificates = tuple(filter(None, map(other, listener.tls.certificates)))
        if certificates == listener.tls.certificates:
            return listener
        refusal = listener.refusal if certificates else "Invalid"
        return replace(listener, tls=replace(listener.tls, certificates=certificates), refusal=refusal)

    own = gateway.backend_certificate
    return replace(
        gateway,
        listeners=tuple(map(changed, gateway.listeners)),
        backend_certificate=other(own) if own is not None else None,
    )


def key_of(origin: Origin) -> Key:
    return Key(origin.namespace, origin.name)
