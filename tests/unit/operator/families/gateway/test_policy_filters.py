"""Fields of TrafficPolicies that are filters: what can't be served is refused with its path."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api import gatewayextensions
from seamark.api.kgateway import served
from seamark.families.gateway.rules.features.references import NoReferences
from seamark.families.gateway.rules.features.table import FEATURES
from seamark.families.gateway.rules.policyparts import parts_of
from seamark.families.gateway.rules.trafficpolicies import guards, plain
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane.envoyfilters.table import MODULES, on_route

Json = dict[str, Any]
LONG = "9" * 5_000

BAD: list[tuple[Json, str]] = [
    ({"csrf": {"percentageEnabled": 101}}, "csrf.percentageEnabled: must be from 0 to 100"),
    ({"csrf": {"percentageShadowed": -1}}, "csrf.percentageShadowed: must be from 0 to 100"),
    ({"csrf": {"percentageEnabled": 1, "percentageShadowed": 1}}, "csrf: percentageEnabled and percentageShadowed"),
    ({"csrf": {"additionalOrigins": [{}]}}, "csrf.additionalOrigins[0]: exactly one of"),
    ({"csrf": {"additionalOrigins": [{"exact": "a", "prefix": "b"}]}}, "csrf.additionalOrigins[0]: exactly one of"),
    ({"csrf": {"additionalOrigins": [{"prefix": ""}]}}, "csrf.additionalOrigins[0].prefix: must have"),
    ({"csrf": {"additionalOrigins": [{"exact": "a\n"}]}}, "csrf.additionalOrigins[0].exact: "),
    ({"csrf": {"additionalOrigins": [{"contains": LONG}]}}, "csrf.additionalOrigins[0].contains: must have"),
    ({"csrf": {"additionalOrigins": [{"safeRegex": "("}]}}, "csrf.additionalOrigins[0].safeRegex: the regular"),
    (
        {"csrf": {"additionalOrigins": [{"safeRegex": "a", "ignoreCase": True}]}},
        "csrf.additionalOrigins[0].ignoreCase",
    ),
    ({"csrf": {"additionalOrigins": [{"exact": "a"}] * 17}}, "csrf.additionalOrigins: 17 entries"),
    ({"csrf": {"percentage": 1}}, "The field csrf.percentage is not supported"),
    ({"buffer": {}}, "buffer.maxRequestSize is required"),
    ({"buffer": {"maxRequestSize": 0}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": "4Gi"}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": "100m"}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": "much"}}, "buffer.maxRequestSize: 'much' is no size"),
    ({"buffer": {"maxRequestSize": LONG}}, "buffer.maxRequestSize: "),
    ({"buffer": {"maxRequestSize": 2**63}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": 1, "disable": {}}}, "buffer.disable: no other field"),
    ({"faultInjection": {}}, "faultInjection: one of delay, abort and responseRateLimit"),
    ({"faultInjection": {"abort": {}}}, "faultInjection.abort: exactly one of"),
    ({"faultInjection": {"abort": {"httpStatus": 200, "grpcStatus": 0}}}, "faultInjection.abort: exactly one of"),
    ({"faultInjection": {"abort": {"httpStatus": 199}}}, "faultInjection.abort.httpStatus: must be from 200 to 599"),
    ({"faultInjection": {"abort": {"grpcStatus": 17}}}, "faultInjection.abort.grpcStatus: must be from 0 to 16"),
    ({"faultInjection": {"abort": {"grpcStatus": 1, "percentage": 101}}}, "faultInjection.abort.percentage"),
    ({"faultInjection": {"delay": {"fixedDelay": "0s"}}}, "faultInjection.delay.fixedDelay must be 1ms or more"),
    ({"faultInjection": {"delay": {"fixedDelay": "61m"}}}, "faultInjection.delay.fixedDelay must be 1h or less"),
    ({"faultInjection": {"delay": {"fixedDelay": "soon"}}}, "faultInjection.delay.fixedDelay: 'soon'"),
    ({"faultInjection": {"responseRateLimit": {"kbitsPerSecond": 0}}}, "responseRateLimit.kbitsPerSecond: must be"),
    (
        {"faultInjection": {"delay": {"fixedDelay": "1s"}, "maxActiveFaults": 2**32}},
        "faultInjection.maxActiveFaults: must be",
    ),
    (
        {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 1, "fillInterval": "1s"}, "percentEnabled": 101}}},
        "rateLimit.local.percentEnabled: must be from 0 to 100",
    ),
    ({"rateLimit": {"local": {"percentEnforced": 1}}}, "rateLimit.local.tokenBucket is required"),
]


BAD += [
    ({"acl": {}}, "defaultAction"),
    ({"acl": {"defaultAction": "maybe"}}, "acl.defaultAction: 'maybe' is not supported"),
    ({"acl": {"defaultAction": "deny", "denyResponse": {}}}, "The field acl.denyResponse is not supported"),
    ({"acl": {"defaultAction": "deny", "rules": [{"cidrs": [], "action": "deny"}]}}, "acl.rules[0].cidrs: at least"),
    ({"acl": {"defaultAction": "deny", "rules": [{"cidrs": ["::/0"], "action": ""}]}}, "acl.rules[0].action: "),
    *(
        ({"acl": {"defaultAction": "deny", "rules": [{"cidrs": [bad], "action": "deny"}]}}, "acl.rules[0].cidrs[0]: ")
        for bad in ("10.0.0.1/8", "10.0.0.0/33", "fe80::1%eth0", "10.0.0", "x", "", LONG, "\u0661.0.0.0/8", "010.0.0.1")
    ),
    (
        {
            "acl": {
                "defaultAction": "deny",
                "rules": [{"cidrs": ["::/0"], "action": "deny"}, {"cidrs": ["0::/0"], "action": "allow"}],
            }
        },
        "acl.rules[1].cidrs[0]: ::/0 is allowed and denied",
    ),
    ({"compression": {}}, "compression: responseCompression or requestDecompression"),
    ({"compression": {"responseCompression": {"libraries": ["Lzma"]}}}, "compression.responseCompression.libraries[0]"),
    (
        {"compression": {"requestDecompression": {"libraries": ["Gzip"] * 4}}},
        "compression.requestDecompression.libraries: 4 entries",
    ),
    (
        {"compression": {"requestDecompression": {"libraries": ["Gzip"], "disable": {}}}},
        "compression.requestDecompression.disable: no other field",
    ),
    ({"urlRewrite": {}}, "urlRewrite.pathRegex is required"),
    ({"urlRewrite": {"pathRegex": {"pattern": "", "substitution": "/"}}}, "urlRewrite.pathRegex.pattern: must not"),
    ({"urlRewrite": {"pathRegex": {"pattern": "(", "substitution": "/"}}}, "urlRewrite.pathRegex.pattern: the regular"),
    ({"urlRewrite": {"pathRegex": {"pattern": "a", "substitution": "/ x"}}}, "urlRewrite.pathRegex.substitution: "),
    ({"urlRewrite": {"pathRegex": {"pattern": "(a)", "substitution": "/\\2"}}}, "urlRewrite.pathRegex.substitution: "),
    ({"urlRewrite": {"pathRegex": {"pattern": "a", "substitution": "/\\"}}}, "urlRewrite.pathRegex.substitution: "),
]
HASH = "x" * 27 + "="


class Secrets(NoReferences):
    """One Secret for every name."""

    def __init__(self, **entries: bytes) -> None:
        self._entries = {name.replace("htpasswd", ".htpasswd"): content for name, content in entries.items()}

    def secret(self, _field: str, _ref: Any) -> dict[str, bytes]:
        return self._entries


def rbac(*expressions: Any, **fields: Any) -> Json:
    return {"rbac": {"policy": {"matchExpressions": list(expressions)}, **fields}}


def keys(**fields: Any) -> Json:
    return {"apiKeyAuth": {"secretRef": {"name": "keys"}, **fields}}


EXPRESSION = "rbac.policy.matchExpressions[0]: "
BAD += [
    ({"rbac": {}}, "rbac.policy.matchExpressions is required"),
    ({"rbac": {"policy": {"matchExpressions": []}}}, "rbac.policy.matchExpressions is required"),
    (rbac("true", action="Maybe"), "rbac.action: 'Maybe' is not supported"),
    (rbac("request."), EXPRESSION),
    (rbac("nothing.at.all == 1"), EXPRESSION),
    (rbac("1 + 1"), EXPRESSION),
    (rbac("request.path.matches(request.host)"), EXPRESSION),
    (rbac("request.path.matches('(')"), EXPRESSION),
    (rbac("request.path.matches('[a-z]{900}')"), EXPRESSION),
    (rbac("request.path.lowerAscii() == 'a'"), EXPRESSION),
    (rbac("[1, 2].all(x, x > 0)"), EXPRESSION),
    (rbac("request.?path == 'a'"), EXPRESSION),
    (rbac("(" * 5_000), EXPRESSION),
    (rbac("!" * 4_000 + "true"), EXPRESSION),
    (rbac("true && " * 2_000 + "true"), EXPRESSION),
    (rbac("request.path == '\x00\n"), EXPRESSION),
    (rbac(LONG), EXPRESSION),
    (rbac(*["request.path == '" + "x" * 3_000 + "'"] * 6), "rbac.policy.matchExpressions: at most 16384 characters"),
    (rbac(*["true"] * 257), "rbac.policy.matchExpressions: 257 entries"),
    ({"basicAuth": {}}, "basicAuth: exactly one of"),
    ({"basicAuth": {"users": [], "secretRef": {"name": "x"}}}, "basicAuth: exactly one of"),
    ({"basicAuth": {"users": []}}, "basicAuth.users: there is no user"),
    ({"basicAuth": {"users": ["ada:secret-password"]}}, "basicAuth.users[0]: must be user:{SHA}"),
    ({"basicAuth": {"users": [f"a\nb:{{SHA}}{HASH}"]}}, "basicAuth.users[0]: must be user:{SHA}"),
    ({"basicAuth": {"users": [f"a:b:{{SHA}}{HASH}"]}}, "basicAuth.users[0]: must be user:{SHA}"),
    ({"basicAuth": {"users": [f"ada:{{SHA}}{HASH}"] * 2}}, "basicAuth.users[1]: the user is named twice"),
    ({"basicAuth": {"users": [f"{n}:{{SHA}}{HASH}" for n in range(257)]}}, "basicAuth.users: 257 entries"),
    ({"basicAuth": {"secretRef": {"name": "x"}}}, "basicAuth.secretRef: Secret x was not read"),
    ({"basicAuth": {"disable": {}, "users": ["x"]}}, "basicAuth.disable: no other field"),
    ({"apiKeyAuth": {}}, "apiKeyAuth.secretRef is required"),
    ({"apiKeyAuth": {"secretRef": {"name": "x", "key": "y"}}}, "apiKeyAuth.secretRef.key is not supported"),
    ({"apiKeyAuth": {"secretSelector": {}}}, "The field apiKeyAuth.secretSelector is not supported"),
]
WITH_SECRETS: list[tuple[Json, Secrets, str]] = [
    ({"basicAuth": {"secretRef": {"name": "s"}}}, Secrets(), "basicAuth.secretRef: Secret s has no entry '.htpasswd'"),
    ({"basicAuth": {"secretRef": {"name": "s", "key": "k"}}}, Secrets(), "basicAuth.secretRef: Secret s has no entry"),
    ({"basicAuth": {"secretRef": {"name": "s"}}}, Secrets(htpasswd=b"#\n"), "basicAuth.secretRef: there is no user"),
    ({"basicAuth": {"secretRef": {"name": "s"}}}, Secrets(htpasswd=b"\n\xff:hidden"), "line 2 of Secret s: must be"),
    ({"basicAuth": {"secretRef": {"name": "s"}}}, Secrets(htpasswd=b"x" * 200_000), "has more than 131072 bytes"),
    (keys(), Secrets(), "apiKeyAuth.secretRef: the Secret has no entry"),
    (keys(), Secrets(a=b"hidden 1"), "apiKeyAuth.secretRef: the entry 'a' is no key"),
    (keys(), Secrets(a=b""), "apiKeyAuth.secretRef: the entry 'a' is no key"),
    (keys(), Secrets(a=b"hidden", b=b"hidden"), "apiKeyAuth.secretRef: the entries 'a' and 'b' have the same key"),
    (keys(clientIdHeader="Host"), Secrets(a=b"hidden"), "apiKeyAuth.clientIdHeader: "),
    (keys(keySources=[{}]), Secrets(a=b"hidden"), "apiKeyAuth.keySources[0]: exactly one of"),
    (keys(keySources=[{"header": "a b"}]), Secrets(a=b"hidden"), "apiKeyAuth.keySources[0].header: "),
    (keys(keySources=[{"query": "a b"}]), Secrets(a=b"hidden"), "apiKeyAuth.keySources[0].query: "),
    (keys(keySources=[{"header": "a"}] * 17), Secrets(a=b"hidden"), "apiKeyAuth.keySources: 17 entries"),
]


@pytest.mark.parametrize(("spec", "secrets", "message"), WITH_SECRETS, ids=lambda each: str(each)[:60])
def test_a_secret_that_can_not_be_used_is_named_and_never_shown(spec: Json, secrets: Secrets, message: str) -> None:
    with pytest.raises(Unsupported) as refused:
        parts_of(served(spec), secrets)
    assert message in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_no_key_and_no_password_is_shown_with_the_value_that_has_it() -> None:
    for spec in ({"basicAuth": {"users": [f"ada:{{SHA}}{HASH}"]}}, keys()):
        assert HASH not in repr(parts_of(served(spec), Secrets(a=HASH.encode())))


class Extensions(NoReferences):
    """Every extension is this one, and every Service and ConfigMap is there."""

    def __init__(self, spec: Json) -> None:
        self.name = "default/ext"
        self.spec = gatewayextensions.served(spec)

    def extension(self, _field: str, _ref: Any) -> Extensions:
        return self

    def cluster(self, _field: str, ref: Any, protocol: str) -> str:
        return f"{ref.name} {protocol}".strip()

    def config_map(self, _field: str, _name: str) -> dict[str, str]:
        return {"jwks": "[]"}


GRPC = {"grpcService": {"backendRef": {"name": "grpc", "port": 80}}}
HTTP = {"backendRef": {"name": "http", "port": 80}}
KEYS = '{"keys": [{"kty": "EC"}]}'
REF = {"extensionRef": {"name": "ext"}}
DESCRIPTORS = {"descriptors": [{"entries": [{"type": "Path"}]}]}


def token(**provider: Any) -> Json:
    return {"jwt": {"providers": [{"name": "a", "jwks": {"local": {"inline": KEYS}}, **provider}]}}


def keys_of(**jwks: Any) -> Json:
    return token(jwks=jwks)


PROVIDER = "jwtAuth.extensionRef: GatewayExtension default/ext: jwt.providers[0]."
AUTH = "extAuth.extensionRef: GatewayExtension default/ext: extAuth"
WITH_EXTENSIONS: list[tuple[Json, Json, str]] = [
    ({"extAuth": {}}, {}, "extAuth.extensionRef is required"),
    ({"extAuth": REF}, {}, "extAuth.extensionRef: GatewayExtension default/ext has no extAuth"),
    ({"extAuth": {**REF, "disable": {}}}, {}, "extAuth.disable: no other field"),
    ({"extAuth": REF}, {"extAuth": {}}, f"{AUTH}: exactly one of grpcService and httpService"),
    ({"extAuth": REF}, {"extAuth": {**GRPC, "httpService": HTTP}}, f"{AUTH}: exactly one of"),
    ({"extAuth": REF}, {"extAuth": {**GRPC, "statusOnError": 200}}, f"{AUTH}.statusOnError: must be from 400"),
    ({"extAuth": REF}, {"extAuth": {**GRPC, "headersToForward": ["a b"]}}, f"{AUTH}.headersToForward[0]: "),
    ({"extAuth": REF}, {"extAuth": {**GRPC, "headersToForward": ["a"] * 65}}, f"{AUTH}.headersToForward: 65"),
    ({"extAuth": REF}, {"extAuth": {"httpService": {**HTTP, "pathPrefix": "x"}}}, f"{AUTH}.httpService.pathPrefix: "),
    ({"extAuth": REF}, {"extAuth": {"httpService": {**HTTP, "requestTimeout": "0s"}}}, "httpService.requestTimeout"),
    ({"extAuth": REF}, {"extAuth": {**GRPC, "withRequestBody": {"maxRequestBytes": 0}}}, "maxRequestBytes: must be"),
    ({"extAuth": {**REF, "withRequestBody": {"maxRequestBytes": 2**31}}}, {"extAuth": GRPC}, "maxRequestBytes: must"),
    ({"extAuth": {**REF, "contextExtensions": {"a": "\n"}}}, {"extAuth": GRPC}, "extAuth.contextExtensions: value 0"),
    ({"rateLimit": {"global": {**REF, "descriptors": []}}}, {}, "rateLimit.global.descriptors: at least one"),
    ({"rateLimit": {"global": {**REF, "descriptors": [{"entries": []}]}}}, {}, "descriptors[0].entries: at least one"),
    (
        {"rateLimit": {"global": {**REF, "descriptors": [{"entries": [{"type": "Cookie"}]}]}}},
        {},
        "rateLimit.global.descriptors[0].entries[0].type: 'Cookie' is not supported",
    ),
    (
        {"rateLimit": {"global": {**REF, "descriptors": [{"entries": [{"type": "Header"}]}]}}},
        {},
        "rateLimit.global.descriptors[0].entries[0]: generic is for",
    ),
    ({"rateLimit": {"global": {**REF, **DESCRIPTORS}}}, {}, "GatewayExtension default/ext has no rateLimit"),
    (
        {"rateLimit": {"global": {**REF, **DESCRIPTORS}}},
        {"rateLimit": {**GRPC, "domain": ""}},
        "rateLimit.domain: must have",
    ),
    (
        {"rateLimit": {"global": {**REF, **DESCRIPTORS}}},
        {"rateLimit": {**GRPC, "domain": "d", "timeout": "0s"}},
        "rateLimit.timeout must be 1ms or more",
    ),
    ({"extProc": {}}, {}, "extProc.extensionRef is required"),
    ({"extProc": REF}, {"extProc": {**GRPC, "messageTimeout": "0s"}}, "extProc.messageTimeout must be 1ms or more"),
    ({"extProc": REF}, {"extProc": {**GRPC, "processingMode": {"requestBodyMode": "ALL"}}}, "requestBodyMode: 'ALL'"),
    (
        {"extProc": {**REF, "processingMode": {"responseBodyMode": "FULL_DUPLEX_STREAMED"}}},
        {"extProc": GRPC},
        "extProc.processingMode.responseTrailerMode: must be SEND",
    ),
    ({"jwtAuth": {}}, {}, "jwtAuth.extensionRef is required"),
    ({"jwtAuth": REF}, {"jwt": {"providers": []}}, "jwt.providers: at least one"),
    ({"jwtAuth": REF}, token(name=""), f"{PROVIDER}name: must have"),
    ({"jwtAuth": REF}, token(issuer="\n"), f"{PROVIDER}issuer: "),
    ({"jwtAuth": REF}, token(tokenSource={}), f"{PROVIDER}tokenSource: exactly one of"),
    ({"jwtAuth": REF}, token(claimsToHeaders=[{"name": "", "header": "x"}]), f"{PROVIDER}claimsToHeaders[0].name"),
    (
        {"jwtAuth": REF},
        token(claimsToHeaders=[{"name": "a", "header": "host"}]),
        f"{PROVIDER}claimsToHeaders[0].header",
    ),
    ({"jwtAuth": REF}, keys_of(), f"{PROVIDER}jwks: exactly one of"),
    ({"jwtAuth": REF}, keys_of(local={}), f"{PROVIDER}jwks.local: exactly one of"),
    ({"jwtAuth": REF}, keys_of(local={"inline": "<html>"}), f"{PROVIDER}jwks.local.inline: is no JSON Web Key Set"),
    ({"jwtAuth": REF}, keys_of(local={"inline": "[" * 5_000}), f"{PROVIDER}jwks.local.inline: is no JSON Web Key Set"),
    ({"jwtAuth": REF}, keys_of(local={"inline": '{"keys": []}'}), f"{PROVIDER}jwks.local.inline: must have from 1"),
    ({"jwtAuth": REF}, keys_of(local={"configMapRef": {"name": "k"}}), f"{PROVIDER}jwks.local.configMapRef: is no"),
    ({"jwtAuth": REF}, keys_of(remote={"url": "ftp://a", "backendRef": {"name": "k"}}), f"{PROVIDER}jwks.remote.url"),
    (
        {"jwtAuth": REF},
        keys_of(remote={"url": "http://a/", "backendRef": {"name": "k"}, "cacheDuration": "soon"}),
        f"{PROVIDER}jwks.remote.cacheDuration: 'soon'",
    ),
]


@pytest.mark.parametrize(("spec", "extension", "message"), WITH_EXTENSIONS, ids=lambda each: str(each)[:60])
def test_an_extension_that_can_not_be_used_is_named_with_the_path_in_it(
    spec: Json, extension: Json, message: str
) -> None:
    with pytest.raises(Unsupported) as refused:
        parts_of(served(spec), Extensions(extension))
    assert message in str(refused.value)
    assert str(refused.value).isprintable()


def test_another_form_of_an_extension_is_another_filter() -> None:
    """A policy whose last good form is in effect is served by that form of its extension."""
    forms: list[Json] = [{"extAuth": GRPC}, {"extAuth": {**GRPC, "failOpen": True}}]
    names = [[*on_route(parts_of(served({"extAuth": REF}), Extensions(form)).values())] for form in forms]
    assert len({name for found in names for name in found}) == 3  # two filters, and the guard that both have


@pytest.mark.parametrize(("spec", "message"), BAD, ids=lambda each: str(each)[:60])
def test_a_bad_value_is_refused_with_its_path(spec: Json, message: str) -> None:
    with pytest.raises((msgspec.ValidationError, Unsupported)) as refused:
        parts_of(served(spec))
    found = plain(str(refused.value))
    assert message in found
    assert len(found) < 400
    assert found.isprintable()


@pytest.mark.parametrize(
    ("spec", "protecting"),
    [
        ({"csrf": {"percentageEnabled": 100}}, {"csrf"}),
        ({"csrf": {}}, {"csrf"}),
        ({"csrf": {"percentageEnabled": 0}}, set()),
        ({"buffer": {"maxRequestSize": 1}}, set()),
        ({"rateLimit": {"local": {}}}, set()),
    ],
)
def test_what_protects_is_known_by_its_field(spec: Json, protecting: set[str]) -> None:
    """Policies rule 2."""
    assert guards(spec) == protecting


def test_every_setting_has_a_filter_of_the_data_plane() -> None:
    """What a feature reads can be translated: its value is of a type that the data plane's table has."""
    made = {type(value) for spec in GOOD for value in parts_of(served(spec), Secrets(a=b"key")).values()}
    for field, extension in WITH_SERVICES:
        made |= {type(value) for value in parts_of(served(field), Extensions(extension)).values() if value}
    assert made == set(MODULES)
    tried = {field for spec in (*GOOD, {"extAuth": REF, "jwtAuth": REF, "extProc": REF}) for field in spec}
    assert tried == {feature.field for feature in FEATURES}


WITH_SERVICES: list[tuple[Json, Json]] = [
    ({"extAuth": REF}, {"extAuth": GRPC}),
    ({"jwtAuth": REF}, token()),
    ({"extProc": REF}, {"extProc": GRPC}),
    ({"rateLimit": {"global": {**REF, **DESCRIPTORS}}}, {"rateLimit": {**GRPC, "domain": "d"}}),
]
GOOD: list[Json] = [
    {"csrf": {}},
    {"buffer": {"maxRequestSize": "1Ki"}},
    {"faultInjection": {"abort": {"httpStatus": 503}}},
    {"basicAuth": {"users": [f"ada:{{SHA}}{HASH}"]}},
    keys(),
    rbac("request.method == 'GET'"),
    {"compression": {"responseCompression": {}}},
    {"acl": {"defaultAction": "deny"}},
]
