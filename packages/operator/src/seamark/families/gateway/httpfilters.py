"""Filters of HTTPRoutes and GRPCRoutes, and what policies have in common with them, as parts of entries. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark.api.kgateway import Cors as PolicyCors
from seamark.api.kgateway import PolicyHeader, PolicyHeaderChange
from seamark.families.gateway import limits
from seamark.families.gateway.backends import Resolver, Trouble
from seamark.families.gateway.limits import Unsupported
from seamark.families.gateway.references import invalid
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

POLICY_GROUP, POLICY_KIND = "gateway.kgateway.dev", "TrafficPolicy"
MOST_HEADERS, MOST_CORS, MOST_FRACTION = 16, 64, 1_000_000
REDIRECTS = {"301", "302", "303", "307", "308"}


@dataclass
class Parts:
    """What the filters of a rule, or of one backend, come to."""

    request: model.Headers = model.NO_HEADERS
    response: model.Headers = model.NO_HEADERS
    redirect: model.Redirect | None = None
    rewrite: model.Rewrite | None = None
    mirrors: list[model.Mirror] = field(default_factory=list)
    cors: model.Cors | None = None
    extensions: list[Key] = field(default_factory=list)
    unresolved: bool = False  # an extension can't be used: requests are answered with an error, never served without it
    names: set[str] = field(default_factory=set)


def read_filters(field: str, given: Iterable[RouteFilter], resolver: Resolver, namespace: str, protocol: str) -> Parts:
    parts = Parts()
    for number, one in enumerate(given):
        where = f"{field}[{number}]"
        match one.type:
            case "RequestHeaderModifier" if one.request_header_modifier is not None:
                parts.request = headers(f"{where}.requestHeaderModifier", one.request_header_modifier)
            case "ResponseHeaderModifier" if one.response_header_modifier is not None:
                parts.response = headers(f"{where}.responseHeaderModifier", one.response_header_modifier)
            case "RequestRedirect" if one.request_redirect is not None:
                parts.redirect = _redirect(f"{where}.requestRedirect", one.request_redirect)
            case "URLRewrite" if one.url_rewrite is not None:
                parts.rewrite = _rewrite(f"{where}.urlRewrite", one.url_rewrite)
            case "RequestMirror" if one.request_mirror is not None:
                parts.mirrors.append(_mirror(f"{where}.requestMirror", one.request_mirror, resolver, protocol))
            case "CORS" if one.cors is not None:
                parts.cors = cors(f"{where}.cors", one.cors)
                parts.names.add("cors")
            case "ExtensionRef" if one.extension_ref is not None:
                _extension(f"{where}.extensionRef", one.extension_ref, parts, resolver, namespace)
            case other:
                raise Unsupported(f"the filter {other} is not supported")
    return parts


def _extension(field: str, ref: LocalObjectReference, parts: Parts, resolver: Resolver, namespace: str) -> None:
    where, key = f"{resolver.rule}.{field}", Key(namespace, ref.name)
    if (ref.group, ref.kind) != (POLICY_GROUP, POLICY_KIND):
        kind = limits.shown(ref.kind)
        trouble = Trouble("InvalidKind", f"{where}: {kind} can't be an extension; use a {POLICY_KIND}.{POLICY_GROUP}")
    elif words := invalid(where, ref.name):
        trouble = Trouble("InvalidExtensionRef", words)
    else:
        parts.extensions.append(key)
        if not (words := resolver.unusable(key)):
            return
        trouble = Trouble("InvalidExtensionRef", f"{where}: {words}")
    resolver.troubles.append(trouble)
    parts.unresolved = True


def headers(field: str, one: HeaderChange | PolicyHeaderChange) -> model.Headers:
    for name, values in (("set", one.set), ("add", one.add), ("remove", one.remove)):
        limits.at_most(f"{field}.{name}", values, MOST_HEADERS)
    return model.Headers(
        set=_changes(f"{field}.set", one.set or ()),
        add=_changes(f"{field}.add", one.add or ()),
        remove=tuple(
            limits.changed_header(f"{field}.remove[{number}]", name) for number, name in enumerate(one.remove or ())
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


def _rewrite(field: str, one: URLRewrite) -> model.Rewrite:
    path, prefix = _path(f"{field}.path", one.path)
    host = limits.hostname(f"{field}.hostname", one.hostname) if one.hostname else ""
    return model.Rewrite(host, path, prefix)


def _path(field: str, one: PathModifier | None) -> tuple[str | None, str | None]:
    if one is None:
        return None, None
    if limits.one_of(f"{field}.type", one.type, ("ReplaceFullPath", "ReplacePrefixMatch")) == "ReplaceFullPath":
        return limits.path(f"{field}.replaceFullPath", one.replace_full_path or ""), None
    return None, limits.path(f"{field}.replacePrefixMatch", one.replace_prefix_match or "")


def _redirect(field: str, one: RequestRedirect) -> model.Redirect:
    limits.one_of(f"{field}.statusCode", str(one.status_code), REDIRECTS)
    path, prefix = _path(f"{field}.path", one.path)
    known = {"http": 80, "https": 443}
    scheme = limits.one_of(f"{field}.scheme", one.scheme, known) if one.scheme else ""
    host = limits.hostname(f"{field}.hostname", one.hostname) if one.hostname else ""
    port = limits.integer(f"{field}.port", one.port, 1, 65535) if one.port else known.get(scheme, 0)
    return model.Redirect(one.status_code, scheme, host, port, path, prefix)


def _mirror(field: str, one: RequestMirror, resolver: Resolver, protocol: str) -> model.Mirror:
    cluster = resolver.cluster(f"{field}.backendRef", one.backend_ref, protocol)
    if one.fraction is not None:
        whole = limits.integer(f"{field}.fraction.denominator", one.fraction.denominator, 1, MOST_FRACTION)
        part = limits.integer(f"{field}.fraction.numerator", one.fraction.numerator, 0, whole)
        return model.Mirror(cluster, part, whole)
    percent = 100 if one.percent is None else limits.integer(f"{field}.percent", one.percent, 0, 100)
    return model.Mirror(cluster, percent, 100)


def cors(field: str, one: CORSFilter | PolicyCors) -> model.Cors:
    lists = {"allowMethods": one.allow_methods, "allowHeaders": one.allow_headers, "exposeHeaders": one.expose_headers}
    for name, values in (("allowOrigins", one.allow_origins), *lists.items()):
        limits.at_most(f"{field}.{name}", values, MOST_CORS)
    for name, values in lists.items():
        for number, value in enumerate(values or ()):
            limits.header_name(f"{field}.{name}[{number}]", value)
    for number, value in enumerate(one.allow_origins or ()):
        limits.path(f"{field}.allowOrigins[{number}]", value)
    return model.Cors(
        origins=one.allow_origins or (),
        methods=one.allow_methods or (),
        headers=one.allow_headers or (),
        expose=one.expose_headers or (),
        credentials=bool(one.allow_credentials),
        max_age=limits.integer(f"{field}.maxAge", one.max_age, -1, limits.MOST_AGE),
    )
