"""Route tables in Envoy's words."""

from __future__ import annotations

from typing import Any, NamedTuple

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2 as components
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.cors.v3 import cors_pb2
from envoy.extensions.filters.http.local_ratelimit.v3 import local_rate_limit_pb2
from envoy.type.matcher.v3 import regex_pb2, string_pb2
from envoy.type.v3 import percent_pb2

from seamark_edge.dataplane.envoy.probe import ProbeToken
from seamark_edge.dataplane.envoyfilters.messages import packed, seconds, share
from seamark_edge.dataplane.envoyfilters.table import on_route
from seamark_edge.dataplane.model import (
    Cors,
    Entry,
    Forward,
    Headers,
    Match,
    RateLimit,
    Redirect,
    Respond,
    Retry,
    Rewrite,
    RouteTable,
    Target,
    Text,
    VirtualHost,
)
from seamark_runtime.untrusted.patterns import quote

NOWHERE = "nowhere"  # a cluster that is never there: what goes to it is answered with an error
CORS, RATE = "envoy.filters.http.cors", "envoy.filters.http.local_ratelimit"
MILLION = 1_000_000
STATUS = {
    301: "MOVED_PERMANENTLY",
    302: "FOUND",
    303: "SEE_OTHER",
    307: "TEMPORARY_REDIRECT",
    308: "PERMANENT_REDIRECT",
}
RETRIES = "reset,connect-failure,retriable-status-codes"


HOSTS = 0x12  # the tag of `virtual_hosts`: field 2, of known length


class GatewayTable(NamedTuple):
    """A table of the Gateway with that uid: one more host of it answers the probes of this Gateway and no other's."""

    uid: str
    table: RouteTable


def table(given: GatewayTable) -> bytes:
    """A RouteConfiguration as it goes on the wire: its hosts are encoded once each, and put together."""
    uid, config = given
    head = route_pb2.RouteConfiguration(name=config.name, ignore_port_in_host_matching=True)
    token = ProbeToken.of(uid, config.name)
    answer = components.Route(match=components.RouteMatch(prefix="/"))
    answer.direct_response.status = 200
    answer.direct_response.body.inline_string = token.text
    head.virtual_hosts.add(name=token.host, domains=[token.host], routes=[answer])
    first: bytes = head.SerializeToString()
    return b"".join((first, *(virtual_host(host) for host in config.hosts)))


_made: dict[int, tuple[VirtualHost, bytes]] = {}  # by identity, which is kept as long as this is
MOST_REMEMBERED = 50_000


def virtual_host(host: VirtualHost) -> bytes:
    """Built once for each: a translation returns the same host while nothing in it has changed."""
    known = _made.get(id(host))
    if known is not None:
        return known[1]
    if len(_made) > MOST_REMEMBERED:
        _made.clear()
    routes = [entry(config) for config in host.entries]
    message = components.VirtualHost(name=host.domains[0], domains=host.domains, routes=routes)
    content: bytes = message.SerializeToString(deterministic=True)
    made = bytes((HOSTS,)) + varint(len(content)) + content
    _made[id(host)] = (host, made)
    return made


def varint(number: int) -> bytes:
    """A number as protocol buffers write it."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(0x80 | (number & 0x7F))
        number >>= 7
    parts.append(number)
    return bytes(parts)


def entry(config: Entry) -> components.Route:
    route = components.Route(name=config.name, match=match(config.match))
    match config.action:
        case Forward() as forward:
            route.route.CopyFrom(forwarding(forward, config.match))
        case Redirect() as redirect:
            route.redirect.CopyFrom(redirecting(redirect, config.match))
        case Respond(status=status, body=body):
            route.direct_response.status = status
            if body:
                route.direct_response.body.inline_string = body
    change_headers(route, config.request, config.response)
    change_headers(route, config.extras.request, config.extras.response)
    if config.extras.cors is not None:
        route.typed_per_filter_config[CORS].CopyFrom(packed(cors(config.extras.cors)))
    if config.extras.rate is not None:
        route.typed_per_filter_config[RATE].CopyFrom(packed(rate_limit(config.extras.rate)))
    for name, made in on_route(config.extras.filters).items():
        route.typed_per_filter_config[name].CopyFrom(packed(made))
    return route


# ---- matching


def match(criteria: Match) -> components.RouteMatch:
    found = components.RouteMatch()
    if criteria.kind == "exact":
        found.path = criteria.path
    elif criteria.kind == "regex":
        found.safe_regex.regex = criteria.path
    elif prefix := criteria.path.rstrip("/"):
        found.path_separated_prefix = prefix
    else:
        found.prefix = "/"
    if criteria.method:
        found.headers.append(header(Text(":method", criteria.method)))
    found.headers.extend(header(text) for text in criteria.headers)
    found.query_parameters.extend(
        components.QueryParameterMatcher(name=text.name, string_match=string(text)) for text in criteria.params
    )
    return found


def header(text: Text) -> components.HeaderMatcher:
    return components.HeaderMatcher(name=text.name, string_match=string(text))


def string(text: Text) -> string_pb2.StringMatcher:
    if text.regex:
        return string_pb2.StringMatcher(safe_regex=regex_pb2.RegexMatcher(regex=text.value))
    return string_pb2.StringMatcher(exact=text.value)


# ---- acting


def forwarding(forward: Forward, matched: Match) -> components.RouteAction:
    action = components.RouteAction(
        cluster_not_found_response_code=components.RouteAction.INTERNAL_SERVER_ERROR,
        timeout=seconds(forward.timeout or 0.0),
    )
    weigh(action, forward.targets)
    if forward.idle is not None:
        action.idle_timeout.CopyFrom(seconds(forward.idle))
    if forward.rewrite is not None:
        rewriting(action, forward.rewrite, matched)
    if forward.backend_host and not action.host_rewrite_literal:
        action.auto_host_rewrite.value = True
    if forward.retry is not None:
        action.retry_policy.CopyFrom(retrying(forward.retry))
    for mirror in forward.mirrors:
        policy = action.request_mirror_policies.add(
            cluster=mirror.cluster or NOWHERE, disable_shadow_host_suffix_append=True
        )
        policy.runtime_fraction.default_value.CopyFrom(
            percent_pb2.FractionalPercent(
                numerator=round(mirror.numerator * MILLION / mirror.denominator),
                denominator=percent_pb2.FractionalPercent.MILLION,
            )
        )
    return action


def weigh(action: components.RouteAction, targets: tuple[Target, ...]) -> None:
    if len(targets) == 1 and not targets[0].request and not targets[0].response:
        action.cluster = targets[0].cluster or NOWHERE
        return
    for target in targets:
        if target.weight:
            weighted = action.weighted_clusters.clusters.add(name=target.cluster or NOWHERE)
            weighted.weight.value = target.weight
            change_headers(weighted, target.request, target.response)


def rewriting(action: components.RouteAction, rewrite: Rewrite, matched: Match) -> None:
    if rewrite.host:
        action.host_rewrite_literal = rewrite.host
    if rewrite.regex is not None:
        action.regex_rewrite.pattern.regex, action.regex_rewrite.substitution = rewrite.regex
    change_path(action, rewrite.path, rewrite.prefix, matched)


def change_path(action: Any, path: str | None, prefix: str | None, matched: Match) -> None:
    if path is not None:
        action.regex_rewrite.pattern.regex = "^/[^?]*"
        action.regex_rewrite.substitution = (path or "/").replace("\\", "\\\\")
    elif prefix is not None:
        old, new = matched.path.rstrip("/"), prefix.rstrip("/")
        if new and old:
            action.prefix_rewrite = new
        elif new:
            action.prefix_rewrite = new + "/"
        else:
            action.regex_rewrite.pattern.regex = f"^{quote(old)}/*"
            action.regex_rewrite.substitution = "/"


def retrying(retry: Retry) -> components.RetryPolicy:
    policy = components.RetryPolicy(retry_on=",".join(retry.on) or RETRIES, retriable_status_codes=retry.codes)
    policy.num_retries.value = retry.attempts
    if retry.per_try is not None:
        policy.per_try_timeout.CopyFrom(seconds(retry.per_try))
    if retry.backoff is not None:
        policy.retry_back_off.base_interval.CopyFrom(seconds(retry.backoff))
        policy.retry_back_off.max_interval.CopyFrom(seconds(retry.backoff * 10))
    return policy


def redirecting(redirect: Redirect, matched: Match) -> components.RedirectAction:
    code = components.RedirectAction.RedirectResponseCode.Value(STATUS[redirect.status])
    action = components.RedirectAction(response_code=code, host_redirect=redirect.host)
    if redirect.scheme:
        action.scheme_redirect = redirect.scheme
    if redirect.port:
        action.port_redirect = redirect.port
    if redirect.path is not None:
        action.path_redirect = redirect.path or "/"
    else:
        change_path(action, None, redirect.prefix, matched)
    return action


# ---- headers and policies


def change_headers(part: Any, request: Headers, response: Headers) -> None:
    part.request_headers_to_add.extend(options(request))
    part.request_headers_to_remove.extend(request.remove)
    part.response_headers_to_add.extend(options(response))
    part.response_headers_to_remove.extend(response.remove)


def options(headers: Headers) -> list[base_pb2.HeaderValueOption]:
    kinds = base_pb2.HeaderValueOption
    changes = [(pair, kinds.OVERWRITE_IF_EXISTS_OR_ADD) for pair in headers.set]
    changes += [(pair, kinds.APPEND_IF_EXISTS_OR_ADD) for pair in headers.add]
    return [
        base_pb2.HeaderValueOption(
            header=base_pb2.HeaderValue(key=name, value=value.replace("%", "%%")),
            append_action=action,
            keep_empty_value=True,
        )
        for (name, value), action in changes
    ]


def cors(config: Cors) -> cors_pb2.CorsPolicy:
    policy = cors_pb2.CorsPolicy(
        allow_origin_string_match=[origin(text) for text in config.origins],
        allow_methods=", ".join(config.methods),
        allow_headers=", ".join(config.headers),
        expose_headers=", ".join(config.expose),
        max_age=str(config.max_age),
    )
    policy.allow_credentials.value = config.credentials
    policy.forward_not_matching_preflights.value = False
    return policy


def origin(text: str) -> string_pb2.StringMatcher:
    if "*" not in text:
        return string_pb2.StringMatcher(exact=text)
    pattern = ".*".join(quote(part) for part in text.split("*"))
    return string_pb2.StringMatcher(safe_regex=regex_pb2.RegexMatcher(regex=pattern))


def rate_limit(rate: RateLimit) -> local_rate_limit_pb2.LocalRateLimit:
    limit = local_rate_limit_pb2.LocalRateLimit(stat_prefix="local_rate_limit")
    limit.token_bucket.max_tokens = rate.tokens
    limit.token_bucket.tokens_per_fill.value = rate.fill
    limit.token_bucket.fill_interval.CopyFrom(seconds(rate.interval))
    limit.filter_enabled.CopyFrom(share(rate.enabled))
    limit.filter_enforced.CopyFrom(share(rate.enforced))
    return limit
