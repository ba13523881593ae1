"""What the objects in an edge's answers look like. An answer of another shape is no answer.

- Only fields that are read are described; all others are left alone.
- Ids become parts of paths: they are letters, digits, dashes and underscores.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from seamark.providers.edge.calls import Kind
from seamark_edge.model import Fields

Id = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{1,128}\Z")]
Text = Annotated[str, Meta(max_length=256 * 1024)] | None
Generation = Annotated[int, Meta(ge=0, le=2**63 - 1)] | None


class MalformedResponse(ValueError):
    """An object in an answer is not what it must be. The message names the field."""


class Item(msgspec.Struct, kw_only=True):
    id: Id
    metadata: Text = None


class Ref(msgspec.Struct, kw_only=True):
    id: Id | None = None


class AddressItem(Item, kw_only=True):
    addr: str


class Value(msgspec.Struct, kw_only=True):
    value: Text = None


class Management(msgspec.Struct, kw_only=True):
    authority: Text = None
    private_key_type: Text = None


class Job(msgspec.Struct, kw_only=True):
    error_code: Text = None
    msg: Text = None
    message: Text = None
    started_at: Text = None
    retries_at: Text = None


class ManagementStatus(msgspec.Struct, kw_only=True):
    renews_at: Text = None
    provisioning_job: Job | None = None


class DomainItem(Item, kw_only=True):
    domain: str
    cname_target: Text = None
    resolves_to: list[Value] | None = None
    acme_challenge_cname_target: Text = None
    certificate: Ref | None = None
    certificate_management_policy: Management | None = None
    certificate_management_status: ManagementStatus | None = None


class EndpointItem(Item, kw_only=True):
    url: Text = None
    public_url: Text = None
    proto: Text = None
    uri: Text = None
    type: Text = None
    traffic_policy: Text = None
    bindings: list[str] | None = None
    pooling_enabled: bool | None = None
    description: Text = None
    tunnel_session: Ref | None = None
    upstream_url: Text = None
    name: Text = None
    generation: Generation = None


class BoundItem(Item, kw_only=True):
    public_url: str
    proto: str
    uri: Text = None


class UpstreamReport(msgspec.Struct, kw_only=True):
    reachable: bool | None
    detail: Annotated[str, Meta(max_length=1024)] | None = None
    agents: Annotated[int, Meta(ge=0, le=2**31)] = 0


class CheckedItem(msgspec.Struct, kw_only=True):
    id: Id
    seamark_upstream: UpstreamReport


class RefusedItem(msgspec.Struct, kw_only=True):
    name: str
    url: str
    generation: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    message: str
    code: str = ""


class SessionItem(Item, kw_only=True):
    refused_endpoints: list[RefusedItem] | None = None


class Certificate(msgspec.Struct, kw_only=True):
    cert: Text = None
    not_after: Text = None


class BindingItem(msgspec.Struct, kw_only=True):
    endpoint_selectors: list[str] | None = None
    cert: Certificate | None = None
    ingress_endpoint: Text = None


class OperatorItem(Item, kw_only=True):
    binding: BindingItem | None = None


SHAPES: dict[Kind, type[Item]] = {
    Kind.KEYS: Item,
    Kind.ADDRESSES: AddressItem,
    Kind.DOMAINS: DomainItem,
    Kind.ENDPOINTS: EndpointItem,
    Kind.OPERATORS: OperatorItem,
    Kind.SESSIONS: SessionItem,
}


def checked(item: Any, shape: type[msgspec.Struct]) -> Fields:
    """The object as it came, if it has this shape."""
    try:
        msgspec.convert(item, shape)
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedResponse(f"the edge's answer is not as it must be: {str(error)[:200]}") from None
    found: Fields = item
    return found
