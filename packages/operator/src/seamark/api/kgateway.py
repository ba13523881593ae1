"""gateway.kgateway.dev: TrafficPolicy. What it says is read as it stands, so that what is not served can be named."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from seamark.api.strict import Strict
from seamark.api.trafficfilters import (
    Acl,
    ApiKeyAuth,
    BasicAuth,
    Buffer,
    Compression,
    Csrf,
    ExtAuth,
    ExtProc,
    FaultInjection,
    GlobalRateLimit,
    JwtAuth,
    Rbac,
    UrlRewrite,
)
from seamark_runtime.api.gatewayshared import PolicyStatus
from seamark_runtime.api.meta import Object, Resource, Wire

GROUP = "gateway.kgateway.dev"


class TrafficPolicy(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1alpha1", "TrafficPolicy", "trafficpolicies")

    spec: dict[str, Any] | None = None
    status: PolicyStatus | None = None


class PolicyTarget(Strict, frozen=True, kw_only=True):
    kind: str
    name: str
    group: str = ""
    section_name: str | None = None


class PolicySelector(Strict, frozen=True, kw_only=True):
    kind: str
    match_labels: dict[str, str]
    group: str = ""
    section_name: str | None = None


class Timeouts(Strict, frozen=True, kw_only=True):
    request: str | None = None
    stream_idle: str | None = None


class Retries(Strict, frozen=True, kw_only=True):
    retry_on: tuple[str, ...] | None = None
    attempts: int = 1
    per_try_timeout: str | None = None
    status_codes: tuple[int, ...] | None = None
    backoff_base_interval: str | None = None


class PolicyHeader(Strict, frozen=True, kw_only=True):
    name: str
    value: str = ""


class PolicyHeaderChange(Strict, frozen=True, kw_only=True):
    set: tuple[PolicyHeader, ...] | None = None
    add: tuple[PolicyHeader, ...] | None = None
    remove: tuple[str, ...] | None = None


class HeaderModifiers(Strict, frozen=True, kw_only=True):
    request: PolicyHeaderChange | None = None
    response: PolicyHeaderChange | None = None


class TokenBucket(Strict, frozen=True, kw_only=True):
    max_tokens: int
    fill_interval: str
    tokens_per_fill: int = 1


class LocalRateLimit(Strict, frozen=True, kw_only=True):
    token_bucket: TokenBucket | None = None
    percent_enabled: int | None = None
    percent_enforced: int | None = None


class RateLimits(Strict, frozen=True, kw_only=True):
    local: LocalRateLimit | None = None
    global_: GlobalRateLimit | None = msgspec.field(default=None, name="global")


class Cors(Strict, frozen=True, kw_only=True):
    allow_origins: tuple[str, ...] | None = None
    allow_credentials: bool | None = None
    allow_methods: tuple[str, ...] | None = None
    allow_headers: tuple[str, ...] | None = None
    expose_headers: tuple[str, ...] | None = None
    max_age: int = 5
    disable: dict[str, Any] | None = None


class TrafficPolicySpec(Strict, frozen=True, kw_only=True):
    """What of a TrafficPolicy is served."""

    target_refs: tuple[PolicyTarget, ...] | None = None
    target_selectors: tuple[PolicySelector, ...] | None = None
    timeouts: Timeouts | None = None
    retry: Retries | None = None
    header_modifiers: HeaderModifiers | None = None
    rate_limit: RateLimits | None = None
    cors: Cors | None = None
    csrf: Csrf | None = None
    buffer: Buffer | None = None
    fault_injection: FaultInjection | None = None
    rbac: Rbac | None = None
    acl: Acl | None = None
    basic_auth: BasicAuth | None = None
    api_key_auth: ApiKeyAuth | None = None
    ext_auth: ExtAuth | None = None
    jwt_auth: JwtAuth | None = None
    ext_proc: ExtProc | None = None
    compression: Compression | None = None
    url_rewrite: UrlRewrite | None = None
    auto_host_rewrite: bool | None = None


class Targets(Wire, frozen=True, kw_only=True):
    """Only the targets of a policy: they are read even if the rest can't be served."""

    target_refs: tuple[PolicyTarget, ...] | None = None
    target_selectors: tuple[PolicySelector, ...] | None = None


def served(spec: dict[str, Any]) -> TrafficPolicySpec:
    """The policy, or a `msgspec.ValidationError` that names the first field which is not served."""
    return msgspec.convert(spec, TrafficPolicySpec)
