"""Rules of HTTPRoutes and GRPCRoutes as entries for the data plane. Pure, but for what the resolver reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.families.gateway.model.routes import Rule
from seamark.families.gateway.rules.backends import Resolver
from seamark.families.gateway.rules.httpfilters import Parts, read_filters
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark.gatewayapi.references import UnresolvedReference
from seamark_edge.dataplane import model
from seamark_runtime.api.gatewayroutes import (
    GRPCRoute,
    GRPCRouteMatch,
    GRPCRouteRule,
    HTTPRoute,
    HTTPRouteRule,
    RouteMatch,
    ValueMatch,
)
from seamark_runtime.untrusted.patterns import Budget, quote

RANKS = {"exact": 0, "regex": 1, "prefix": 2}
PATHS = {"Exact": "exact", "PathPrefix": "prefix", "RegularExpression": "regex"}
VALUES = ("Exact", "RegularExpression")
MOST_CODES, MOST_RETRIES = 64, 1000
LEAST_BACKOFF = 0.001  # seconds


@dataclass
class Compiled:
    """The rules of a route: those that can be served, and what is wrong with the others."""

    rules: list[Rule] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # what is wrong with rules that are not served


def compiled(route: HTTPRoute | GRPCRoute, resolver: Resolver) -> Compiled:
    result, patterns = Compiled(), Budget()
    rules: tuple[HTTPRouteRule | GRPCRouteRule, ...] = route.spec.rules
    for index, rule in enumerate(rules):
        where = f"rule {rule.name or index}"
        resolver.rule = f"spec.rules[{index}]"
        try:
            result.rules.append(_rule(route, rule, resolver, patterns))
        except Unsupported as error:
            result.broken.append(f"{where}: {error}")
    return result


def _rule(
    route: HTTPRoute | GRPCRoute, rule: HTTPRouteRule | GRPCRouteRule, resolver: Resolver, patterns: Budget
) -> Rule:
    grpc = isinstance(rule, GRPCRouteRule)
    if rule.session_persistence is not None:
        raise Unsupported("sessionPersistence is not supported")
    protocol = "http2" if grpc else ""
    parts = read_filters("filters", rule.filters or (), resolver, route.metadata.namespace, protocol)
    action = _action(rule, parts, resolver, route.metadata.namespace, protocol)
    before = patterns.spent
    matches = _matches(rule, patterns) or [model.Match()]
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
    cost = patterns.spent - before
    return Rule(rule.name or "", entries, order, frozenset(parts.names), tuple(parts.extensions), cost)


def precedence(match: model.Match) -> tuple[object, ...]:
    """Sorts what precedes first: exact paths, longer prefixes, a method, more headers, more parameters."""
    longest = -len(match.path.rstrip("/"))
    return (RANKS[match.kind], longest, not match.method, -len(match.headers), -len(match.params))


# ---- matches


def _matches(rule: HTTPRouteRule | GRPCRouteRule, patterns: Budget) -> list[model.Match]:
    if isinstance(rule, GRPCRouteRule):
        return [_grpc_match(f"matches[{number}]", match, patterns) for number, match in enumerate(rule.matches or ())]
    return [_match(f"matches[{number}]", match, patterns) for number, match in enumerate(rule.matches or ())]


def _match(field: str, match: RouteMatch, patterns: Budget) -> model.Match:
    path, kind = "/", "prefix"
    if match.path is not None:
        limits.one_of(f"{field}.path.type", match.path.type, PATHS)
        path, kind = match.path.value, PATHS[match.path.type]
        _path(f"{field}.path.value", kind, path, patterns)
    return model.Match(
        path=path,
        kind=kind,
        method=limits.header_name(f"{field}.method", match.method) if match.method else "",
        headers=_texts(f"{field}.headers", match.headers, patterns),
        params=_texts(f"{field}.queryParams", match.query_params, patterns, header=False),
    )


def _path(field: str, kind: str, path: str, patterns: Budget) -> None:
    if kind == "regex":
        limits.pattern(field, path, patterns)
    else:
        limits.matched_path(field, path)


def _grpc_match(field: str, match: GRPCRouteMatch, patterns: Budget) -> model.Match:
    path, kind = "/", "prefix"
    if match.method is not None and (match.method.service or match.method.method):
        service, method = match.method.service or "", match.method.method or ""
        limits.one_of(f"{field}.method.type", match.method.type, VALUES)
        if match.method.type == "RegularExpression":
            elements = {"service": service, "method": method}
            path = "".join("/" + _element(f"{field}.method.{name}", text, patterns) for name, text in elements.items())
            kind = "regex"
        elif service and method:
            path, kind = f"/{service}/{method}", "exact"
        elif service:
            path = f"/{service}/"
        else:
            path, kind = f"/[^/]+/{quote(method)}", "regex"
        _path(f"{field}.method", kind, path, patterns)
    return model.Match(path=path, kind=kind, headers=_texts(f"{field}.headers", match.headers, patterns))


def _element(field: str, expression: str, patterns: Budget) -> str:
    """A regular expression for one element of a path: on its own, so that an alternative in it ends with it."""
    if not expression:
        return "[^/]+"
    limits.pattern(field, expression, patterns)
    return f"(?:{expression})"


def _texts(
    field: str, given: tuple[ValueMatch, ...] | None, patterns: Budget, *, header: bool = True
) -> tuple[model.Text, ...]:
    """Of several with the same name only the first counts."""
    found: dict[str, model.Text] = {}
    for number, match in enumerate(given or ()):
        where = f"{field}[{number}]"
        name = limits.header_name(f"{where}.name", match.name).lower() if header else match.name
        regex = limits.one_of(f"{where}.type", match.type, VALUES) == "RegularExpression"
        if regex:
            limits.pattern(f"{where}.value", match.value, patterns)
        found.setdefault(name, model.Text(name, match.value, regex))
    return tuple(found.values())


# ---- actions


def _action(
    rule: HTTPRouteRule | GRPCRouteRule, parts: Parts, resolver: Resolver, namespace: str, protocol: str
) -> model.Action:
    if parts.redirect is not None and parts.respond is not None:
        raise Unsupported("a redirect and a DirectResponse exclude each other")
    if (answer := parts.redirect or parts.respond) is not None:
        return model.Respond(500) if parts.unresolved else answer
    targets = []
    for number, ref in enumerate(rule.backend_refs):
        field = f"backendRefs[{number}]"
        own = read_filters(f"{field}.filters", ref.filters or (), resolver, namespace, protocol)
        if own.redirect or own.respond or own.rewrite or own.cors is not None:
            raise Unsupported("a backend's own filters can change headers only")
        if own.extensions and not own.unresolved:
            message = (
                f"{resolver.rule}.{field}.filters: a backend can't have an extension; name it in the rule's filters"
            )
            resolver.unresolved.append(UnresolvedReference("InvalidExtensionRef", message))
        parts.unresolved = parts.unresolved or own.unresolved or bool(own.extensions)
        parts.mirrors += own.mirrors
        weight = limits.integer(f"{field}.weight", ref.weight, 0, limits.MOST_WEIGHT)
        targets.append(model.Target(resolver.cluster(field, ref, protocol), weight, own.request, own.response))
    served = tuple(target for target in targets if target.weight)
    if parts.unresolved or not any(target.cluster for target in served):
        return model.Respond(500)
    timeout, retry = _limits(rule) if isinstance(rule, HTTPRouteRule) else (None, None)
    mirrors = tuple(mirror for mirror in parts.mirrors if mirror.cluster)
    return model.Forward(served, parts.rewrite, mirrors, timeout=timeout, retry=retry)


def _limits(rule: HTTPRouteRule) -> tuple[float | None, model.Retry | None]:
    timeouts = rule.timeouts
    request = limits.duration("timeouts.request", timeouts.request) if timeouts is not None else None
    backend = limits.duration("timeouts.backendRequest", timeouts.backend_request) if timeouts is not None else None
    if rule.retry is None:
        both = [each for each in (request, backend) if each]
        return (min(both) if both else None), None
    attempts = rule.retry.attempts if rule.retry.attempts is not None else 1
    retry = model.Retry(
        attempts=limits.integer("retry.attempts", attempts, 0, MOST_RETRIES),
        codes=codes("retry.codes", rule.retry.codes),
        per_try=backend or None,
        backoff=limits.duration("retry.backoff", rule.retry.backoff, least=LEAST_BACKOFF),
    )
    return request, retry


def codes(field: str, given: tuple[int, ...] | None) -> tuple[int, ...]:
    limits.at_most(field, given, MOST_CODES)
    return tuple(limits.integer(f"{field}[{number}]", code, 100, 599) for number, code in enumerate(given or ()))
