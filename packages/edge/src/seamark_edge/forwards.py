"""Which internal endpoints a policy forwards to, and whether an object may. Operator and agents decide by it. Pure.

- An internal endpoint belongs to the namespace that has its place (`claims`). Another namespace forwards to it by a
  ReferenceGrant there, or where the installation allows it. A place without an owner has no endpoint, and may be named.
- A URL that the edge completes for each connection may lead anywhere: it is not allowed, either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from seamark_edge.claims import CREATED, KUBERNETES, OF_SERVICE, Claim, Endpoint
from seamark_edge.urls import readable
from seamark_runtime.api.meta import Key
from seamark_runtime.grants import Referrer
from seamark_runtime.upstreams import SETTING

NOT_ALLOWED = "ForwardNotAllowed"  # the reason of the condition by which the operator refuses a forward
FORWARD = "forward-internal"
TARGETS = ("AgentEndpoint", "CloudEndpoint")  # kinds to which a ReferenceGrant allows forwards

ClaimAt = Callable[[str], Claim | None]  # the claim that decides about a place
Granted = Callable[[Referrer, str, Key], bool]  # whether an object may refer to one of this kind and key


def forwarded_to(policy: Any) -> tuple[str, ...]:
    """The URLs that a policy forwards to, as they are written."""
    return tuple(dict.fromkeys(_forwards(policy)))


def _forwards(policy: Any) -> Iterator[str]:
    for rules in policy.values() if isinstance(policy, Mapping) else ():
        for rule in _items(rules):
            for action in _items(rule.get("actions")):
                config = action.get("config")
                if action.get("type") == FORWARD and isinstance(config, Mapping):
                    url = config.get("url")
                    yield from (url,) if isinstance(url, str) else ()


def _items(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def refusal(endpoint: Endpoint, policy: Any, claim_at: ClaimAt, granted: Granted) -> str:
    """Why an endpoint may not have this policy; "" if it may."""
    for url in forwarded_to(policy):
        if "${" in url:
            return f"the traffic policy forwards to a URL that the edge completes: {_takes(endpoint)}"
        for holder in _holders(url, claim_at):
            if not any(granted(referrer_of(endpoint), kind, holder) for kind in TARGETS):
                return (
                    "the traffic policy forwards to an internal endpoint of another namespace, or to one that was until"
                    f" lately and is kept for it ({url[:200]}): {_takes(endpoint)}"
                )
    return ""


def _takes(endpoint: Endpoint) -> str:
    kind = endpoint.RESOURCE.kind
    return (
        f"that takes a ReferenceGrant there, from {kind}s of this namespace to AgentEndpoints, or the setting {SETTING}"
        " of the installation; who comes from the Go operator needs one of them"
    )


def _holders(url: str, claim_at: ClaimAt) -> Iterator[Key]:
    """The namespaces that have what the edge finds at this URL, with the objects by which they have it."""
    named = readable(url)
    if named is None:
        return  # the edge refuses it
    if of_service := OF_SERVICE.fullmatch(named.host):
        yield Key(str(of_service[1]), "")
    for where in (named.owned, f"{KUBERNETES} {named.owned}"):
        if (claim := claim_at(where)) is not None:
            yield Key(claim.namespace, claim.name)


def refused(endpoint: Endpoint) -> bool:
    """Whether the operator has refused its forwards. That stands until the operator takes it back."""
    conditions = (endpoint.status.conditions if endpoint.status is not None else None) or ()
    return any(
        condition.type in CREATED and (condition.status, condition.reason) == ("False", NOT_ALLOWED)
        for condition in conditions
    )


def referrer_of(endpoint: Endpoint) -> Referrer:
    """Its kind in a ReferenceGrant."""
    resource = endpoint.RESOURCE
    return Referrer(resource.group, resource.kind, endpoint.metadata.namespace)
