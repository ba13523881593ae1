"""Two tenants: one who tries everything, and one who must not notice. Each has a namespace and a user with its rights.

The canary's Secrets hold markers that may be seen nowhere else; its objects have names that no case mentions.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from seamark_cluster.real.pki import Pki
from tests.hostile.known_names import CANARY, CANARY_HOST, CANARY_TLS, CANARY_WORDS, HOSTILE, ZONE

Json = dict[str, Any]
GATEWAY_API = "gateway.networking.k8s.io"
GROUPS = {
    "": ("services", "secrets", "configmaps", "pods", "persistentvolumeclaims", "events", "serviceaccounts"),
    "apps": ("deployments", "statefulsets"),
    "discovery.k8s.io": ("endpointslices",),
    "networking.k8s.io": ("ingresses",),
    "events.k8s.io": ("events",),
    GATEWAY_API: ("*",),
    "gateway.kgateway.dev": ("*",),
    "sample.seamark.dev": ("*",),
    "externaldns.k8s.io": ("*",),
    "ngrok.k8s.ngrok.com": ("*",),
    "ingress.k8s.ngrok.com": ("*",),
    "bindings.k8s.ngrok.com": ("*",),
    "score.dev": ("*",),
}


@dataclass(frozen=True)
class Markers:
    """What only the canary tenant may see."""

    word: str = field(default_factory=lambda: f"marker{secrets.token_hex(12)}")
    private: str = field(default_factory=lambda: f"private{secrets.token_hex(6)}")  # in names that no case mentions
    key: str = ""  # a line of the canary's private key
    fingerprints: frozenset[bytes] = frozenset()

    @property
    def texts(self) -> tuple[bytes, ...]:
        """What to look for in bytes: the words as they are, and inside of any base64."""
        plain = [text.encode() for text in (self.word, self.private, self.key) if text]
        return (*plain, *(form for text in plain for form in encodings(text)))


def encodings(text: bytes) -> list[bytes]:
    """The base64 of a text at each of the three offsets it can have inside of another, without the ragged ends."""
    found = []
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + text)
        first = -(-offset * 8 // 6) + (1 if offset else 0)
        found.append(whole[first : len(whole) - 4])
    return found


@dataclass(frozen=True)
class Tls:
    certificate: str
    key: str
    authority: str

    @property
    def fingerprint(self) -> bytes:
        return x509.load_pem_x509_certificate(self.certificate.encode()).fingerprint(hashes.SHA256())


def tls(folder: Path, *hosts: str) -> Tls:
    pki = Pki(folder)
    certificate, key = pki.server("server", hosts)
    return Tls(certificate.read_text(), key.read_text(), pki.ca_cert.read_text())


def markers(canary: Tls) -> Markers:
    return Markers(key=canary.key.splitlines()[1], fingerprints=frozenset((canary.fingerprint,)))


def rights(namespace: str) -> list[Json]:
    """All a tenant may do in its namespace: everything with our kinds, and what an editor has."""
    rules = [{"apiGroups": [group], "resources": list(kinds), "verbs": ["*"]} for group, kinds in GROUPS.items()]
    subject = {"kind": "User", "name": namespace, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "Role", "name": "tenant", "apiGroup": "rbac.authorization.k8s.io"}
    meta = {"name": "tenant", "namespace": namespace}
    api = "rbac.authorization.k8s.io/v1"
    return [
        {"apiVersion": api, "kind": "Role", "metadata": meta, "rules": rules},
        {"apiVersion": api, "kind": "RoleBinding", "metadata": meta, "roleRef": role, "subjects": [subject]},
    ]


def made(kind: str, name: str, api: str = "v1", labels: Json | None = None, **parts: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": labels or {}}, **parts}


CLUSTER_IPS = {HOSTILE: "10.96.7.1", CANARY: "10.96.7.2"}  # of the Services `web`


def backend(namespace: str, address: str, port: int) -> list[Json]:
    """A Service that leads to a server on this machine, which listens at the Service's own address, too."""
    ports = [{"name": "web", "port": 80, "targetPort": port}]
    slice_ = made(
        "EndpointSlice",
        "web",
        "discovery.k8s.io/v1",
        {"kubernetes.io/service-name": "web"},
        addressType="IPv4",
        endpoints=[{"addresses": [address], "conditions": {"ready": True}}],
        ports=[{"name": "web", "port": port, "protocol": "TCP"}],
    )
    return [made("Service", "web", spec={"ports": ports, "clusterIP": CLUSTER_IPS[namespace]}), slice_]


def furniture(own: Tls, address: str, port: int) -> list[Json]:
    """What the hostile tenant's cases refer to, all of it its own."""
    listeners = [
        {"name": "http", "port": 80, "protocol": "HTTP"},
        {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "own-tls"}]}},
        {"name": "tls", "port": 8443, "protocol": "TLS", "tls": {"mode": "Passthrough"}},
        {"name": "tcp", "port": 9000, "protocol": "TCP"},
    ]
    policy = {"on_tcp_connect": [{"actions": [{"type": "restrict-ips", "config": {"allow": ["0.0.0.0/0"]}}]}]}
    pair = {"tls.crt": own.certificate, "tls.key": own.key}
    gateway = {
        "gatewayClassName": "kgateway",
        "listeners": listeners,
        "allowedListeners": {"namespaces": {"from": "Same"}},
    }
    return [
        made("Secret", "own-tls", type="kubernetes.io/tls", stringData=pair),
        made("Secret", "own-words", stringData={"word": "own"}),
        made("ConfigMap", "own-ca", data={"ca.crt": own.authority}),
        made("Secret", "own-ca", stringData={"ca.crt": own.authority}),
        made("ConfigMap", "own-config", data={"text": "own"}),
        *backend(HOSTILE, address, port),
        made("NgrokTrafficPolicy", "steady", "ngrok.k8s.ngrok.com/v1alpha1", spec={"policy": policy}),
        made("Gateway", "front", f"{GATEWAY_API}/v1", spec=gateway),
    ]


def canary_secrets(secret: Tls, found: Markers) -> list[Json]:
    """Under names that can be guessed, and under one that can't."""
    pair = {"tls.crt": secret.certificate, "tls.key": secret.key}
    words = {"word": found.word, "username": found.word, "password": found.word}
    return [
        made("Secret", CANARY_TLS, type="kubernetes.io/tls", stringData=pair),
        made("Secret", f"tls-{found.private}", type="kubernetes.io/tls", stringData=pair),
        made("Secret", CANARY_WORDS, stringData=words),
        made("ConfigMap", f"config-{found.private}", data={"text": found.word}),
    ]


def canary_objects(found: Markers, address: str, port: int) -> list[Json]:
    """One of each family that lives all the time; their names are private."""
    name = found.private
    route = {
        "parentRefs": [{"name": f"front-{name}", "sectionName": "http"}],
        "hostnames": [CANARY_HOST],
        "rules": [{"backendRefs": [{"name": "web", "port": 80, "weight": 1}]}],
    }
    listeners = [
        {"name": "http", "port": 80, "protocol": "HTTP"},
        {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": f"tls-{name}"}]}},
    ]
    records = [{"dnsName": f"shop.{ZONE}", "recordType": "A", "targets": ["192.0.2.200"], "recordTTL": 60}]
    main = {"image": "seamark.dev/echo:v1", "variables": {"NUMBER": "0"}}
    target = {"group": GATEWAY_API, "kind": "HTTPRoute", "name": f"route-{name}"}
    ngrok = "ngrok.k8s.ngrok.com/v1alpha1"
    agent: Json = {"url": f"tls://{CANARY_HOST}", "upstream": {"url": "tcp://web:80"}, "description": "0"}
    agent["tlsTermination"] = {"serverCertificateRef": {"name": f"tls-{name}"}}
    cloud: Json = {"url": f"tcp://{CANARY}.internal:7000", "description": "0", "poolingEnabled": True}
    cloud["trafficPolicy"] = {"inline": {"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}}
    gateway = {"gatewayClassName": "kgateway", "listeners": listeners, "infrastructure": {"labels": {"n": "0"}}}
    return [
        *backend(CANARY, address, port),
        made("Greeting", f"greeting-{name}", "sample.seamark.dev/v1alpha1", spec={"text": "0", "board": "canary"}),
        made("DNSEndpoint", f"records-{name}", "externaldns.k8s.io/v1alpha1", spec={"endpoints": records}),
        made("AgentEndpoint", f"agent-{name}", ngrok, spec=agent),
        made("CloudEndpoint", f"cloud-{name}", ngrok, spec=cloud),
        made("Workload", f"work-{name}", "score.dev/v1b1", spec={"containers": {"main": main}}),
        made("Gateway", f"front-{name}", f"{GATEWAY_API}/v1", spec=gateway),
        made("HTTPRoute", f"route-{name}", f"{GATEWAY_API}/v1", spec=route),
        made(
            "TrafficPolicy",
            f"policy-{name}",
            "gateway.kgateway.dev/v1alpha1",
            spec={"targetRefs": [target], "timeouts": {"request": "10s"}},
        ),
    ]


NAMESPACES = (HOSTILE, CANARY)
