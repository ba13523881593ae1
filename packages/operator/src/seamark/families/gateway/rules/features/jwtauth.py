"""`jwtAuth`: requests need a token that is valid for a GatewayExtension."""

from __future__ import annotations

import msgspec

from seamark.api.gatewayextensions import KeySet, TokenProvider, TokenProviders, TokenSource
from seamark.api.trafficfilters import JwtAuth
from seamark.families.gateway.rules.features.extensions import LEAST_TIMEOUT, service
from seamark.families.gateway.rules.features.references import Extension, References
from seamark.families.gateway.rules.features.values import most, required
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json
from seamark_runtime.untrusted.patterns import Pattern

MOST_PROVIDERS, MOST_AUDIENCES, MOST_CLAIMS, MOST_KEYS = 32, 32, 32, 64
FETCH_TIMEOUT = 5.0  # seconds
MODES = ("Strict", "AllowMissing")
ENTRY = "jwks"  # of a ConfigMap
NAME = Pattern(r"[!-~]{1,253}")
URL = Pattern(r"https?://[-.:\[\]0-9A-Za-z]{1,253}(?:/[!-~]{0,900})?")


class Keys(msgspec.Struct):
    """As far as it is read here: Envoy reads the keys themselves."""

    keys: list[dict[str, object]]


def read(field: str, given: JwtAuth, references: References) -> filters.Jwt:
    return filters.Jwt(service(field, given.extension_ref, references, "jwt", lambda spec: spec.jwt, _service))


def _service(extension: Extension, given: TokenProviders) -> filters.TokenService:
    mode = limits.one_of("jwt.validationMode", given.validation_mode, MODES)
    providers = most("jwt.providers", given.providers, MOST_PROVIDERS)
    if not providers:
        raise Unsupported("jwt.providers: at least one is required")
    found = tuple(_provider(f"jwt.providers[{n}]", extension, provider) for n, provider in enumerate(providers))
    if len({provider.name for provider in found}) < len(found):
        raise Unsupported("jwt.providers: two have the same name")
    return filters.TokenService(extension.name, found, optional=mode == "AllowMissing")


def _provider(field: str, extension: Extension, given: TokenProvider) -> filters.TokenProvider:
    if NAME.fullmatch(given.name) is None:
        raise Unsupported(f"{field}.name: must have from 1 to 253 printable ASCII characters without spaces")
    header, parameter = _source(f"{field}.tokenSource", given.token_source)
    audiences = most(f"{field}.audiences", given.audiences, MOST_AUDIENCES)
    claims = most(f"{field}.claimsToHeaders", given.claims_to_headers, MOST_CLAIMS)
    return filters.TokenProvider(
        name=given.name,
        keys=_keys(f"{field}.jwks", extension, given.jwks),
        issuer=limits.header_value(f"{field}.issuer", given.issuer),
        audiences=tuple(limits.header_value(f"{field}.audiences[{n}]", text) for n, text in enumerate(audiences)),
        header=header,
        parameter=parameter,
        claims=tuple(
            (
                required_text(f"{field}.claimsToHeaders[{n}].name", claim.name),
                limits.changed_header(f"{field}.claimsToHeaders[{n}].header", claim.header),
            )
            for n, claim in enumerate(claims)
        ),
        forward=given.forward_token,
    )


def required_text(field: str, text: str) -> str:
    if not limits.header_value(field, text):
        raise Unsupported(f"{field}: must not be empty")
    return text


def _source(field: str, given: TokenSource | None) -> tuple[tuple[str, str] | None, str]:
    if given is None:
        return None, ""
    if (given.header is None) == (given.query_parameter is None):
        raise Unsupported(f"{field}: exactly one of header and queryParameter is required")
    if given.header is None:
        return None, required_text(f"{field}.queryParameter", given.query_parameter or "")
    prefix = limits.header_value(f"{field}.header.prefix", given.header.prefix)
    return (limits.header_name(f"{field}.header.header", given.header.header), prefix), ""


def _keys(field: str, extension: Extension, given: KeySet) -> str | filters.RemoteKeys:
    if (given.local is None) == (given.remote is None):
        raise Unsupported(f"{field}: exactly one of local and remote is required")
    if given.remote is not None:
        if URL.fullmatch(given.remote.url) is None:
            raise Unsupported(f"{field}.remote.url: {limits.shown(given.remote.url)} is no URL of http or https")
        cluster = extension.cluster(f"{field}.remote.backendRef", given.remote.backend_ref, "")
        lifetime = limits.duration(f"{field}.remote.cacheDuration", given.remote.cache_duration, least=LEAST_TIMEOUT)
        remote = filters.Remote(cluster, timeout=FETCH_TIMEOUT)
        return filters.RemoteKeys(given.remote.url, remote, required(f"{field}.remote.cacheDuration", lifetime))
    local = required(f"{field}.local", given.local)
    if (local.inline is None) == (local.config_map_ref is None):
        raise Unsupported(f"{field}.local: exactly one of inline and configMapRef is required")
    if local.config_map_ref is None:
        return key_set(f"{field}.local.inline", local.inline or "")
    where = f"{field}.local.configMapRef"
    content = extension.config_map(where, local.config_map_ref.name).get(ENTRY)
    if content is None:
        raise Unsupported(f"{where}: ConfigMap {local.config_map_ref.name} has no entry {ENTRY}")
    return key_set(where, content)


def key_set(field: str, text: str) -> str:
    try:
        found = decode_json(text.encode(errors="replace"), Keys, Limits(size=256 * 1024, depth=8, nodes=5_000))
    except Malformed:
        raise Unsupported(f"{field}: is no JSON Web Key Set: JSON with a list called keys") from None
    if not found.keys or len(found.keys) > MOST_KEYS or not all(isinstance(key.get("kty"), str) for key in found.keys):
        raise Unsupported(f"{field}: must have from 1 to {MOST_KEYS} keys, each with its kty")
    return text
