"""What an AgentEndpoint wants of an agent, from the objects that it names. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from seamark_edge.agent.model import Pair, Termination, Tunnel
from seamark_edge.api.ngrok import AgentEndpoint, NgrokTrafficPolicy
from seamark_edge.forwards import referrer_of
from seamark_edge.model import Owner
from seamark_edge.urls import BadUrl, upstream
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.grants import Referrer
from seamark_runtime.upstreams import BadHost, Destination, UpstreamRules, destination, refusal

CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"


class Unusable(Exception):
    """The endpoint can't be held as it is; the message is for its owner."""


class NotAllowed(Unusable):
    """The endpoint may not be held, neither as it is now nor as it was before."""


class NotKnownYet(Exception):
    """Something that it names was not answered yet: nothing follows from that."""


class Objects:
    """What endpoints may name. A lookup gives None for what does not exist, and raises `NotKnownYet` or `Unusable`."""

    def __init__(
        self,
        policy: Callable[[Key], NgrokTrafficPolicy | None],
        secret: Callable[[Key], Secret | None],
        granted: Callable[[Referrer, Key], bool] = lambda _referrer, _service: False,
    ) -> None:
        self._policy = policy
        self._secret = secret
        self._granted = granted

    def policy(self, namespace: str, name: str) -> dict[str, Any]:
        found = self._policy(Key(namespace, name))
        if found is None:
            raise Unusable(f"the NgrokTrafficPolicy {name} does not exist")
        return found.spec.policy or {}

    def data(self, namespace: str, name: str, *fields: str) -> list[bytes]:
        """The fields of a Secret, all of them there."""
        found = self._secret(Key(namespace, name))
        if found is None:
            raise Unusable(f"the Secret {name} does not exist")
        data = found.data or {}
        if missing := [field for field in fields if not data.get(field)]:
            raise Unusable(f"the Secret {name} has no {' and no '.join(missing)}")
        return [data[field] for field in fields]

    def pair(self, namespace: str, name: str) -> Pair:
        """The certificate and the key of a Secret."""
        certificate, key = self.data(namespace, name, CERTIFICATE, KEY)
        return Pair(certificate, key, source=f"the Secret {name}")

    def destination(self, endpoint: AgentEndpoint, rules: UpstreamRules) -> Destination:
        """Where its upstream leads, if it may."""
        namespace, referrer = endpoint.metadata.namespace, referrer_of(endpoint)
        try:
            found = destination(upstream(endpoint.spec.upstream.url).host, namespace, rules.cluster_domain)
        except (BadUrl, BadHost) as error:
            raise Unusable(f"spec.upstream.url: {error}") from None
        if reason := refusal(found, namespace, rules, lambda other, name: self._granted(referrer, Key(other, name))):
            raise NotAllowed(f"spec.upstream.url: {reason}")
        return found


def tunnel_of(
    endpoint: AgentEndpoint, objects: Objects, cluster: str = "", rules: UpstreamRules | None = None
) -> Tunnel:
    """The tunnel for this endpoint. Replicas of an agent hold it together, so it is pooled.

    Without rules the upstream is not checked: the user of the agent wrote the endpoint into a file.
    """
    spec, namespace = endpoint.spec, endpoint.metadata.namespace
    reached = objects.destination(endpoint, rules) if rules is not None else None
    clients = tuple(objects.pair(namespace, ref.name) for ref in spec.client_certificate_refs or ())
    owner = Owner(cluster, namespace, endpoint.metadata.name, endpoint.uid)
    return Tunnel(
        spec.url,
        spec.upstream.url,
        pooling=True,
        metadata=_text(spec.metadata),
        description=spec.description,
        bindings=tuple(spec.bindings or ()),
        policy=_policy(endpoint, objects),
        proxy_version=int(spec.upstream.proxy_protocol_version or 0),
        protocol=spec.upstream.protocol or "",
        client_certificates=clients,
        termination=_termination(endpoint, objects),
        name=owner.key,
        generation=endpoint.metadata.generation,
        restricted=True,
        destination=reached,
        anywhere=rules is not None and rules.cross_namespace,
    )


def _text(metadata: Any) -> str:
    if metadata is None or isinstance(metadata, str):
        return metadata or ""
    return msgspec.json.encode(metadata).decode()


def policy_of(endpoint: AgentEndpoint, objects: Objects) -> Any:
    """The policy that it names, or has in itself."""
    given = endpoint.spec.traffic_policy
    if given is None:
        return {}
    if given.target_ref is not None:
        return objects.policy(endpoint.metadata.namespace, given.target_ref.name)
    return given.inline or {}


def _policy(endpoint: AgentEndpoint, objects: Objects) -> str:
    policy = policy_of(endpoint, objects)
    return msgspec.json.encode(policy).decode() if policy else ""


def _termination(endpoint: AgentEndpoint, objects: Objects) -> Termination | None:
    given, namespace = endpoint.spec.tls_termination, endpoint.metadata.namespace
    if given is None:
        return None
    if not endpoint.spec.url.startswith("tls://"):
        raise Unusable("tlsTermination is for tls:// URLs")
    server = objects.pair(namespace, given.server_certificate_ref.name)
    if given.mutual_tls is None:
        return Termination(server)
    name = given.mutual_tls.client_cas_ref.name
    (authorities,) = objects.data(namespace, name, CA)
    required = given.mutual_tls.mode == "require"
    return Termination(server, authorities, required=required, cas_source=f"the Secret {name}")
