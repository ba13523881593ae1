"""Filters of HTTPRoutes and GRPCRoutes, and what policies have in common with them, as parts of entries. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark.api.kgateway import Cors as PolicyCors
from seamark.api.kgateway import PolicyHeader, PolicyHeaderChange
from seamark.families.gateway.rules.backends import Resolver
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark.gatewayapi.references import UnresolvedReference, invalid_reference
from seamark_edge.dataplane import model
from seamark_runtime.api.gatewayroutes import (
    CORSFilter,
    Header,
    HeaderChange,
    PathModifier,
    RequestMirror,
    RequestRedirect,
    RouteFilter,
    URLRewrite,
)
from seamark_runtime.api.gatewayshared import LocalObjectReference
from seamark_runtime.api.meta import Key

POLICY_GROUP, POLICY_KIND, RESPONSE_KIND = "gateway.kgateway.dev", "TrafficPolicy", "DirectResponse"
MOST_HEADERS, MOST_CORS, MOST_FRACTION = 16, 64, 1_000_000
REDIRECTS = {"301", "302", "303", "307", "308"}


@dataclass
class Parts:
    """The result of the filters of a rule, or of one backend."""

    request: model.Headers = model.NO_HEADERS
    response: model.Headers = model.NO_HEADERS
    redirect: model.Redirect | None = None
    respond: model.Respond | None = None
    rewrite: model.Rewrite | None = None
    mirrors: list[model.Mirror] = field(default_factory=list)
    cors: model.Cors | None = None
    extensions: list[Key] = field(default_factory=list)
    unresolved: bool = False  # an extension can't be used: requests are answered with an error, never served without it
    names: set[str] = field(default_factory=set)


def read_filters(field: str, given: Iterable[RouteFilter], resolver: Resolver, namespace: str, protocol: str) -> Parts:
    parts = Parts()
    for number, route_filter in enumerate(given):
        where = f"{field}[{number}]"
        match route_filter.type:
            case "RequestHeaderModifier" if route_filter.request_header_modifier is not None:
                parts.request = headers(f"{where}.requestHeaderModifier", route_filter.request_header_modifier)
            case "ResponseHeaderModifier" if route_filter.response_header_modifier is not None:
                parts.response = headers(f"{where}.responseHeaderModifier", route_filter.response_header_modifier)
            case "RequestRedirect" if route_filter.request_redirect is not None:
                parts.redirect = _redirect(f"{where}.requestRedirect", route_filter.request_redirect)
            case "URLRewrite" if route_filter.url_rewrite is not None:
                parts.rewrite = _rewrite(f"{where}.urlRewrite", route_filter.url_rewrite)
            case "RequestMirror" if route_filter.request_mirror is not None:
                parts.mirrors.append(_mirror(f"{where}.requestMirror", route_filter.request_mirror, resolver, protocol))
            case "CORS" if route_filter.cors is not None:
                parts.cors = cors(f"{where}.cors", route_filter.cors)
                parts.names.add("cors")
            case "ExtensionRef" if route_filter.extension_ref is not None:
                _extension(f"{where}.extensionRef", route_filter.extension_ref, parts, resolver, namespace)
            case other:
                raise Unsupported(f"the filter {other} is not supported")
    return parts


def _extension(field: str, ref: LocalObjectReference, parts: Parts, resolver: Resolver, namespace: str) -> None:
    where, key = f"{resolver.rule}.{field}", Key(namespace, ref.name)
    if ref.group != POLICY_GROUP or ref.kind not in (POLICY_KIND, RESPONSE_KIND):
        kind = limits.shown(ref.kind)
        message = f"{where}: {kind} can't be an extension; use a {POLICY_KIND} or {RESPONSE_KIND} of {POLICY_GROUP}"
        unresolved = UnresolvedReference("InvalidKind", message)
    elif invalid := invalid_reference(where, ref.name):
        unresolved = UnresolvedReference("InvalidExtensionRef", invalid)
    elif ref.kind == RESPONSE_KIND:
        try:
            parts.respond = resolver.direct_response(key)
        except Unsupported as error:
            unresolved = UnresolvedReference("InvalidExtensionRef", f"{where}: {error}")
        else:
            return
    else:
        parts.extensions.append(key)
        if not (problem := resolver.unusable(key)):
            return
        unresolved = UnresolvedReference("InvalidExtensionRef", f"{where}: {problem}")
    resolver.unresolved.append(unresolved)
    parts.unresolved = True


def headers(field: str, change: HeaderChange | PolicyHeaderChange) -> model.Headers:
    for name, values in (("set", change.set), ("add", change.add), ("remove", change.remove)):
        limits.at_most(f"{field}.{name}", values, MOST_HEADERS)
    return model.Headers(
        set=_changes(f"{field}.set", change.set or ()),
        add=_changes(f"{field}.add", change.add or ()),
        remove=tuple(
            limits.changed_header(f"{field}.remove[{number}]", name) for number, name in enumerate(change.remove or ())
        ),
    )


def _changes(field: str, given: Iterable[Header | PolicyHeader]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (
            limits.changed_header(f"{field}[{number}].name", header.name),
            limits.header_value(f"{field}[{number}].value", header.value),
        )
        for number, header in enumerate(given)
    )


def _rewrite(field: str, rewrite: URLRewrite) -> model.Rewrite:
    path, prefix = _path(f"{field}.path", rewrite.path)
    host = limits.hostname(f"{field}.hostname", rewrite.hostname) if rewrite.hostname else ""
    return model.Rewrite(host, path, prefix)


def _path(field: str, modifier: PathModifier | None) -> tuple[str | None, str | None]:
    if modifier is None:
        return None, None
    if limits.one_of(f"{field}.type", modifier.type, ("ReplaceFullPath", "ReplacePrefixMatch")) == "ReplaceFullPath":
        return limits.path(f"{field}.replaceFullPath", modifier.replace_full_path or ""), None
    return None, limits.path(f"{field}.replacePrefixMatch", modifier.replace_prefix_match or "")


def _redirect(field: str, redirect: RequestRedirect) -> model.Redirect:
    limits.one_of(f"{field}.statusCode", str(redirect.status_code), REDIRECTS)
    path, prefix = _path(f"{field}.path", redirect.path)
    known = {"http": 80, "https": 443}
    scheme = limits.one_of(f"{field}.scheme", redirect.scheme, known) if redirect.scheme else ""
    host = limits.hostname(f"{field}.hostname", redirect.hostname) if redirect.hostname else ""
    port = limits.integer(f"{field}.port", redirect.port, 1, 65535) if redirect.port else known.get(scheme, 0)
    return model.Redirect(redirect.status_code, scheme, host, port, path, prefix)


def _mirror(field: str, mirror: RequestMirror, resolver: Resolver, protocol: str) -> model.Mirror:
    cluster = resolver.cluster(f"{field}.backendRef", mirror.backend_ref, protocol)
    if mirror.fraction is not None:
        whole = limits.integer(f"{field}.fraction.denominator", mirror.fraction.denominator, 1, MOST_FRACTION)
        part = limits.integer(f"{field}.fraction.numerator", mirror.fraction.numerator, 0, whole)
        return model.Mirror(cluster, part, whole)
    percent = 100 if mirror.percent is None else limits.integer(f"{field}.percent", mirror.percent, 0, 100)
    return model.Mirror(cluster, percent, 100)


def cors(field: str, settings: CORSFilter | PolicyCors) -> model.Cors:
    lists = {
        "allowMethods": settings.allow_methods,
        "allowHeaders": settings.allow_headers,
        "exposeHeaders": settings.expose_headers,
    }
    for name, values in (("allowOrigins", settings.allow_origins), *lists.items()):
        limits.at_most(f"{field}.{name}", values, MOST_CORS)
    for name, values in lists.items():
        for number, value in enumerate(values or ()):
            limits.header_name(f"{field}.{name}[{number}]", value)
    for number, value in enumerate(settings.allow_origins or ()):
        limits.path(f"{field}.allowOrigins[{number}]", value)
    return model.Cors(
        origins=settings.allow_origins or (),
        methods=settings.allow_methods or (),
        headers=settings.allow_headers or (),
        expose=settings.expose_headers or (),
        credentials=bool(settings.allow_credentials),
        max_age=limits.integer(f"{field}.maxAge", settings.max_age, -1, limits.MOST_AGE),
    )
