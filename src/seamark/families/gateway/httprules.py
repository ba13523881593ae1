"""Rules of HTTPRoutes and GRPCRoutes as entries for the data plane. Pure, but for what the resolver reads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from seamark.api.gatewayroutes import (
    CORSFilter,
    GRPCRoute,
    GRPCRouteMatch,
    GRPCRouteRule,
    HeaderChange,
    HTTPRoute,
    HTTPRouteRule,
    PathModifier,
    RequestMirror,
    RequestRedirect,
    RouteFilter,
    RouteMatch,
    URLRewrite,
    ValueMatch,
)
from seamark.api.meta import Key
from seamark.families.gateway.backends import Resolver, Trouble
from seamark.families.gateway.durations import seconds
from seamark.families.gateway.shapes import Rule
from seamark.providers.dataplane import model

POLICY_GROUP, POLICY_KIND = "gateway.kgateway.dev", "TrafficPolicy"
RANKS = {"exact": 0, "regex": 1, "prefix": 2}
ALL_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")


class Unsupported(Exception):
    """A rule says something that can't be served; the words are for its user."""


@dataclass
class Compiled:
    """What the rules of a route come to: those that can be served, and what is wrong with the others."""

    rules: list[Rule] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # what is wrong with rules that are not served


@dataclass
class _Parts:
    """What the filters of a rule, or of one backend, come to."""

    request: model.Headers = model.NO_HEADERS
    response: model.Headers = model.NO_HEADERS
    redirect: RequestRedirect | None = None
    rewrite: model.Rewrite | None = None
    mirrors: list[model.Mirror] = field(default_factory=list)
    cors: model.Cors | None = None
    extensions: list[Key] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def compiled(route: HTTPRoute | GRPCRoute, resolver: Resolver) -> Compiled:
    result = Compiled()
    rules: tuple[HTTPRouteRule | GRPCRouteRule, ...] = route.spec.rules
    for index, rule in enumerate(rules):
        where = f"rule {rule.name or index}"
        try:
            result.rules.append(_rule(route, rule, resolver))
        except Unsupported as error:
            result.broken.append(f"{where}: {error}")
    return result


def _rule(route: HTTPRoute | GRPCRoute, rule: HTTPRouteRule | GRPCRouteRule, resolver: Resolver) -> Rule:
    grpc = isinstance(rule, GRPCRouteRule)
    if rule.session_persistence is not None:
        raise Unsupported("sessionPersistence is not supported")
    protocol = "http2" if grpc else ""
    parts = filters(rule.filters or (), resolver, route.metadata.namespace, protocol)
    action = _action(rule, parts, resolver, protocol)
    matches = [_grpc_match(one) if isinstance(one, GRPCRouteMatch) else _match(one) for one in rule.matches or ()]
    if not matches:
        matches = [model.Match()]
    for match in matches:
        _check_expressions(match)
    origin = model.Origin(route.RESOURCE.kind, route.metadata.namespace, route.metadata.name)
    entries = tuple(
        model.Entry(
            match=match,
            action=action,
            origin=origin,
            name=rule.name or "",
            request=parts.request,
            response=parts.response,
            extras=model.Extras(cors=parts.cors),
        )
        for match in matches
    )
    order = tuple(map(precedence, matches))
    return Rule(rule.name or "", entries, order, frozenset(parts.names), tuple(parts.extensions))


def precedence(match: model.Match) -> tuple[object, ...]:
    """Sorts first what goes first: exact paths, longer prefixes, a method, more headers, more parameters."""
    longest = -len(match.path.rstrip("/"))
    return (RANKS[match.kind], longest, not match.method, -len(match.headers), -len(match.params))


# ---- matches


def _match(one: RouteMatch) -> model.Match:
    kinds = {"Exact": "exact", "PathPrefix": "prefix", "RegularExpression": "regex"}
    path = one.path
    return model.Match(
        path=path.value if path is not None else "/",
        kind=kinds[path.type] if path is not None else "prefix",
        method=one.method or "",
        headers=_texts(one.headers),
        params=_texts(one.query_params, fold=False),
    )


def _grpc_match(one: GRPCRouteMatch) -> model.Match:
    path, kind = "/", "prefix"
    if one.method is not None and (one.method.service or one.method.method):
        service, method = one.method.service, one.method.method
        if one.method.type == "RegularExpression":
            path, kind = f"/{service or '[^/]+'}/{method or '[^/]+'}", "regex"
        elif service and method:
            path, kind = f"/{service}/{method}", "exact"
        elif service:
            path = f"/{service}/"
        else:
            path, kind = f"/[^/]+/{re.escape(method or '')}", "regex"
    return model.Match(path=path, kind=kind, headers=_texts(one.headers))


def _texts(given: tuple[ValueMatch, ...] | None, *, fold: bool = True) -> tuple[model.Text, ...]:
    """Of several with one name only the first counts."""
    found: dict[str, model.Text] = {}
    for one in given or ():
        name = one.name.lower() if fold else one.name
        found.setdefault(name, model.Text(name, one.value, one.type == "RegularExpression"))
    return tuple(found.values())


def _check_expressions(match: model.Match) -> None:
    """What no engine would take is told at once; what only the data plane refuses, it tells itself."""
    paths = [match.path] if match.kind == "regex" else []
    for pattern in [*paths, *(text.value for text in (*match.headers, *match.params) if text.regex)]:
        try:
            re.compile(pattern)
        except re.error as error:
            raise Unsupported(f"the regular expression {pattern[:100]!r} is not valid: {error}") from None


# ---- filters


def filters(given: tuple[RouteFilter, ...], resolver: Resolver, namespace: str, protocol: str) -> _Parts:
    parts = _Parts()
    for one in given:
        match one.type:
            case "RequestHeaderModifier" if one.request_header_modifier is not None:
                parts.request = headers(one.request_header_modifier)
            case "ResponseHeaderModifier" if one.response_header_modifier is not None:
                parts.response = headers(one.response_header_modifier)
            case "RequestRedirect" if one.request_redirect is not None:
                parts.redirect = one.request_redirect
            case "URLRewrite" if one.url_rewrite is not None:
                parts.rewrite = _rewrite(one.url_rewrite)
            case "RequestMirror" if one.request_mirror is not None:
                parts.mirrors.append(_mirror(one.request_mirror, resolver, protocol))
            case "CORS" if one.cors is not None:
                parts.cors = cors(one.cors)
                parts.names.add("cors")
            case "ExtensionRef" if one.extension_ref is not None:
                _extension(one, parts, resolver, namespace)
            case other:
                raise Unsupported(f"the filter {other} is not supported")
    return parts


def _extension(one: RouteFilter, parts: _Parts, resolver: Resolver, namespace: str) -> None:
    ref = one.extension_ref
    assert ref is not None
    if (ref.group, ref.kind) != (POLICY_GROUP, POLICY_KIND):
        resolver.troubles.append(Trouble("InvalidKind", f"{ref.kind} can't be an extension; use a {POLICY_KIND}"))
        raise Unsupported(f"the extension {ref.kind} {ref.name} is not supported")
    parts.extensions.append(Key(namespace, ref.name))


def headers(one: HeaderChange) -> model.Headers:
    return model.Headers(
        set=tuple((header.name, header.value) for header in one.set or ()),
        add=tuple((header.name, header.value) for header in one.add or ()),
        remove=one.remove or (),
    )


def _rewrite(one: URLRewrite) -> model.Rewrite:
    path, prefix = _path(one.path)
    return model.Rewrite(one.hostname or "", path, prefix)


def _path(one: PathModifier | None) -> tuple[str | None, str | None]:
    if one is None:
        return None, None
    return (one.replace_full_path, None) if one.type == "ReplaceFullPath" else (None, one.replace_prefix_match or "")


def _mirror(one: RequestMirror, resolver: Resolver, protocol: str) -> model.Mirror:
    cluster = resolver.cluster(one.backend_ref, protocol)
    if one.fraction is not None:
        return model.Mirror(cluster, one.fraction.numerator, one.fraction.denominator)
    return model.Mirror(cluster, 100 if one.percent is None else one.percent, 100)


def cors(one: CORSFilter) -> model.Cors:
    return model.Cors(
        origins=one.allow_origins or (),
        methods=one.allow_methods or (),
        headers=one.allow_headers or (),
        expose=one.expose_headers or (),
        credentials=bool(one.allow_credentials),
        max_age=one.max_age,
    )


# ---- actions


def _action(rule: HTTPRouteRule | GRPCRouteRule, parts: _Parts, resolver: Resolver, protocol: str) -> model.Action:
    if parts.redirect is not None:
        return _redirect(parts.redirect)
    targets = []
    for ref in rule.backend_refs:
        own = filters(ref.filters or (), resolver, "", protocol)
        if own.redirect is not None or own.rewrite is not None or own.cors is not None or own.extensions:
            raise Unsupported("a backend's own filters can change headers only")
        parts.mirrors += own.mirrors
        targets.append(model.Target(resolver.cluster(ref, protocol), ref.weight, own.request, own.response))
    served = tuple(target for target in targets if target.weight)
    if not any(target.cluster for target in served):
        return model.Respond(500)
    limits = _limits(rule) if isinstance(rule, HTTPRouteRule) else (None, None)
    mirrors = tuple(mirror for mirror in parts.mirrors if mirror.cluster)
    return model.Forward(served, parts.rewrite, mirrors, timeout=limits[0], retry=limits[1])


def _redirect(one: RequestRedirect) -> model.Redirect:
    path, prefix = _path(one.path)
    known = {"http": 80, "https": 443}
    port = one.port or (known.get(one.scheme, 0) if one.scheme else 0)
    return model.Redirect(one.status_code, one.scheme or "", one.hostname or "", port, path, prefix)


def _limits(rule: HTTPRouteRule) -> tuple[float | None, model.Retry | None]:
    request = seconds(rule.timeouts.request) if rule.timeouts is not None else None
    backend = seconds(rule.timeouts.backend_request) if rule.timeouts is not None else None
    if rule.retry is None:
        both = [each for each in (request, backend) if each]
        return (min(both) if both else None), None
    retry = model.Retry(
        attempts=rule.retry.attempts if rule.retry.attempts is not None else 1,
        codes=rule.retry.codes or (),
        per_try=backend or None,
        backoff=seconds(rule.retry.backoff),
    )
    return request, retry
