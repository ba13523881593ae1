"""The settings of a TrafficPolicy, field by field, as parts for the data plane. Pure."""

from __future__ import annotations

from typing import Any

from seamark.api.kgateway import LocalRateLimit, Retries, TrafficPolicySpec
from seamark.families.gateway.rules.features import rewrite
from seamark.families.gateway.rules.features.references import NO_REFERENCES, References
from seamark.families.gateway.rules.features.table import filter_parts
from seamark.families.gateway.rules.features.values import percentage
from seamark.families.gateway.rules.httpfilters import cors, headers
from seamark.families.gateway.rules.httprules import LEAST_BACKOFF, MOST_RETRIES, codes
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported, duration
from seamark_edge.dataplane import model

LEAST_FILL = 0.05  # seconds
MOST_RETRY_ON = 16
RETRY_ON = (
    *("5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "envoy-ratelimited"),
    *("retriable-4xx", "refused-stream", "retriable-status-codes", "retriable-headers", "http3-post-connect-failure"),
    *("cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"),
)


def parts_of(spec: TrafficPolicySpec, references: References = NO_REFERENCES) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    request = None
    if spec.timeouts is not None:
        request = duration("timeouts.request", spec.timeouts.request)
        parts["timeouts"] = (request, duration("timeouts.streamIdle", spec.timeouts.stream_idle))
    if spec.retry is not None:
        parts["retry"] = retry(spec.retry, request)
    if spec.header_modifiers is not None:
        modifiers = {"request": spec.header_modifiers.request, "response": spec.header_modifiers.response}
        parts["header_modifiers"] = tuple(
            headers(f"headerModifiers.{name}", change) if change is not None else model.NO_HEADERS
            for name, change in modifiers.items()
        )
    if spec.rate_limit is not None:
        parts["rate_limit"] = rate(spec.rate_limit.local) if spec.rate_limit.local is not None else None
    if spec.cors is not None:
        parts["cors"] = cors("cors", spec.cors) if spec.cors.disable is None else None
    if spec.url_rewrite is not None:
        parts["url_rewrite"] = rewrite.read("urlRewrite", spec.url_rewrite)
    if spec.auto_host_rewrite is not None:
        parts["auto_host_rewrite"] = spec.auto_host_rewrite
    return parts | filter_parts(spec, references)


def retry(retries: Retries, request: float | None) -> model.Retry:
    per_try = duration("retry.perTryTimeout", retries.per_try_timeout)
    if per_try and request and per_try >= request:
        raise Unsupported("retry.perTryTimeout must be less than timeouts.request")
    limits.at_most("retry.retryOn", retries.retry_on, MOST_RETRY_ON)
    causes = [limits.one_of(f"retry.retryOn[{n}]", cause, RETRY_ON) for n, cause in enumerate(retries.retry_on or ())]
    return model.Retry(
        attempts=limits.integer("retry.attempts", retries.attempts, 0, MOST_RETRIES),
        codes=codes("retry.statusCodes", retries.status_codes),
        on=(*causes, *(("retriable-status-codes",) if retries.status_codes else ())),
        per_try=per_try,
        backoff=duration("retry.backoffBaseInterval", retries.backoff_base_interval, least=LEAST_BACKOFF),
    )


def rate(given: LocalRateLimit) -> model.RateLimit | None:
    bucket = given.token_bucket
    if bucket is None:
        if given.percent_enabled is not None or given.percent_enforced is not None:
            raise Unsupported("rateLimit.local.tokenBucket is required with a percentage")
        return None  # set explicitly: no limit here
    field = "rateLimit.local.tokenBucket"
    enabled = 100 if given.percent_enabled is None else given.percent_enabled
    enforced = 100 if given.percent_enforced is None else given.percent_enforced
    return model.RateLimit(
        limits.integer(f"{field}.maxTokens", bucket.max_tokens, 1, limits.MOST_COUNT),
        limits.integer(f"{field}.tokensPerFill", bucket.tokens_per_fill, 1, limits.MOST_COUNT),
        duration(f"{field}.fillInterval", bucket.fill_interval, least=LEAST_FILL) or 0.0,
        percentage("rateLimit.local.percentEnabled", enabled),
        percentage("rateLimit.local.percentEnforced", enforced),
    )
