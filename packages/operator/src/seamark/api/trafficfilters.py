"""gateway.kgateway.dev: the fields of a TrafficPolicy that are a filter of the data plane each."""

from __future__ import annotations

from seamark.api.gatewayextensions import ProcessingMode, RequestBody
from seamark.api.strict import Empty, Strict


class StringMatcher(Strict, frozen=True, kw_only=True):
    """A text as it has to be: exactly one of the five."""

    exact: str | None = None
    prefix: str | None = None
    suffix: str | None = None
    contains: str | None = None
    safe_regex: str | None = None
    ignore_case: bool = False


class Csrf(Strict, frozen=True, kw_only=True):
    """Requests that change something have to come from the same origin, or from one of the additional origins."""

    percentage_enabled: int | None = None
    percentage_shadowed: int | None = None
    additional_origins: tuple[StringMatcher, ...] | None = None


class Buffer(Strict, frozen=True, kw_only=True):
    """Requests are passed on whole; a larger one is answered with 413."""

    max_request_size: str | int | None = None
    disable: Empty | None = None


class FaultDelay(Strict, frozen=True, kw_only=True):
    fixed_delay: str
    percentage: int = 100


class FaultAbort(Strict, frozen=True, kw_only=True):
    http_status: int | None = None
    grpc_status: int | None = None
    percentage: int = 100


class FaultRate(Strict, frozen=True, kw_only=True):
    kbits_per_second: int
    percentage: int = 100


class FaultInjection(Strict, frozen=True, kw_only=True):
    """A share of the requests is delayed or aborted, a share of the responses slowed down."""

    delay: FaultDelay | None = None
    abort: FaultAbort | None = None
    response_rate_limit: FaultRate | None = None
    max_active_faults: int | None = None
    disable: Empty | None = None


class MatchExpressions(Strict, frozen=True, kw_only=True):
    match_expressions: tuple[str, ...] | None = None


class Rbac(Strict, frozen=True, kw_only=True):
    """Conditions in CEL over a request: one that is true lets it in, or keeps it out; all others are the opposite."""

    action: str = "Allow"
    policy: MatchExpressions | None = None


class AclRule(Strict, frozen=True, kw_only=True):
    action: str
    cidrs: tuple[str, ...]
    name: str = ""


class Acl(Strict, frozen=True, kw_only=True):
    """Ranges of clients' addresses that are let in or kept out; the longest range that has an address decides."""

    default_action: str
    rules: tuple[AclRule, ...] | None = None


class SecretReference(Strict, frozen=True, kw_only=True):
    name: str
    namespace: str | None = None
    key: str | None = None


class BasicAuth(Strict, frozen=True, kw_only=True):
    """Users with the hashes of their passwords, in the form of htpasswd with {SHA}."""

    users: tuple[str, ...] | None = None
    secret_ref: SecretReference | None = None
    disable: Empty | None = None


class KeySource(Strict, frozen=True, kw_only=True):
    header: str | None = None
    query: str | None = None
    cookie: str | None = None


class ApiKeyAuth(Strict, frozen=True, kw_only=True):
    """Keys of clients, by the client's name in a Secret."""

    secret_ref: SecretReference | None = None
    key_sources: tuple[KeySource, ...] | None = None
    forward_credential: bool = False
    client_id_header: str | None = None
    disable: Empty | None = None


class ExtensionReference(Strict, frozen=True, kw_only=True):
    name: str
    namespace: str | None = None


class ExtAuth(Strict, frozen=True, kw_only=True):
    """A server, which a GatewayExtension describes, decides on every request."""

    extension_ref: ExtensionReference | None = None
    with_request_body: RequestBody | None = None
    context_extensions: dict[str, str] | None = None
    disable: Empty | None = None


class ExtProc(Strict, frozen=True, kw_only=True):
    """A server, which a GatewayExtension describes, sees requests and responses, and changes them."""

    extension_ref: ExtensionReference | None = None
    processing_mode: ProcessingMode | None = None
    disable: Empty | None = None


class JwtAuth(Strict, frozen=True, kw_only=True):
    """Requests need a token that is valid for a GatewayExtension."""

    extension_ref: ExtensionReference | None = None
    disable: Empty | None = None


class GenericEntry(Strict, frozen=True, kw_only=True):
    key: str
    value: str


class DescriptorEntry(Strict, frozen=True, kw_only=True):
    type: str
    generic: GenericEntry | None = None
    header: str | None = None


class Descriptor(Strict, frozen=True, kw_only=True):
    entries: tuple[DescriptorEntry, ...]


class GlobalRateLimit(Strict, frozen=True, kw_only=True):
    """Requests are counted by a server, which a GatewayExtension describes, by these descriptors."""

    extension_ref: ExtensionReference
    descriptors: tuple[Descriptor, ...]


class CompressionDirection(Strict, frozen=True, kw_only=True):
    libraries: tuple[str, ...] | None = None
    disable: Empty | None = None


class Compression(Strict, frozen=True, kw_only=True):
    """Responses are compressed, requests decompressed: Gzip, Brotli or Zstd."""

    response_compression: CompressionDirection | None = None
    request_decompression: CompressionDirection | None = None


class PathRegex(Strict, frozen=True, kw_only=True):
    pattern: str
    substitution: str


class UrlRewrite(Strict, frozen=True, kw_only=True):
    """What of the path matches the pattern is replaced on the way to the backend."""

    path_regex: PathRegex | None = None
