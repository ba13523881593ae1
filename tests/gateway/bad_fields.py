"""Policies and routes with fields at and beyond what the data plane takes: each is refused by its own check, or served.

Every case is a pair of a name and a piece of a spec. They are generated: every field, times every value of its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamark.families.gateway.rules.httprules import MOST_RETRIES

Json = dict[str, Any]

LONG, MOST = "9" * 400, 2**63
BAD_NAMES = (
    *("", " ", "a b", "a\n", "a\r\nb: c", ":path", ":authority", ":x", "x:", "Host", "host", "HOST", "hÖst", "a\x00"),
    *("a,b", "(a)", '"a"', "a/b", "[a]", "a=b", "{a}", "@", "\t", "a" * 20_000),
)
BAD_VALUES = (
    *("a\nb", "a\rb", "a\x00b", "a\r\nset-cookie: x", "\x7f", "\x01", "x" * 16_385, "%" * 16_384, "ü" * 16_384),
    *("\n", "\r", "\x00", "x\x0b", "x\x0c", "x\x1b[0m", "%" * 8_193),
)
LARGEST_VALUES = ("x" * 16_384, "%" * 8_192, "ü" * 8_192)
BAD_DURATIONS = (
    *("", " ", "0", "1", "-1s", "1.5s", "1d", "s", "1 s", "1s ", "\n", "1s\n", "soon", "1e3s", "0x1s", "1us", "1ns"),
    *(f"{LONG}s", f"{LONG}h", "99999999999h", "infinity", "NaN", "٣s", "1h-1m", "999999h"),
)
TOO_SHORT = ("0s", "0ms", "0h", "0h0m0s0ms")
BAD_NUMBERS = (-1, -(2**31), -MOST, 2**32, 2**33, MOST, MOST_RETRIES + 1)
BAD_CODES = (-1, 0, 99, 600, 1000, 2**32, MOST)
BAD_CAUSES = ("", " ", "5xx,reset", "5XX", "all", "5xx\n", "reset ", "gateway_error", "x" * 5_000)
BAD_ORIGINS = ("https://a b", "a\n", "https://ü.example.com", "x" * 5_000, "https://a\r\nset-cookie: x", "\x00")
BAD_TOKENS = ("", "a b", "a\r\nset-cookie: x", "a,b", "ü", "\x00", "GET\n")


def policies() -> Iterator[tuple[str, Json]]:
    """Bad specs of TrafficPolicies, without targets."""
    for side in ("request", "response"):
        yield from _headers(side)
    for number, text in enumerate(BAD_DURATIONS):
        for name, spec in _durations(text):
            yield f"{name}-{number}", spec
    for number, text in enumerate(TOO_SHORT):
        yield f"backoff-zero-{number}", {"retry": {"retryOn": ["5xx"], "backoffBaseInterval": text}}
        yield f"fill-zero-{number}", _bucket(fillInterval=text)
    yield from _numbers()
    for number, cause in enumerate(BAD_CAUSES):
        yield f"cause-{number}", {"retry": {"retryOn": [cause]}}
    yield from _cors()


def _headers(side: str) -> Iterator[tuple[str, Json]]:
    for number, name in enumerate(BAD_NAMES):
        for verb in ("set", "add"):
            yield f"{side}-{verb}-name-{number}", _modify(side, verb, [{"name": name, "value": "x"}])
        yield f"{side}-remove-{number}", _modify(side, "remove", [name])
    for number, value in enumerate(BAD_VALUES):
        for verb in ("set", "add"):
            yield f"{side}-{verb}-value-{number}", _modify(side, verb, [{"name": "x-a", "value": value}])


def _numbers() -> Iterator[tuple[str, Json]]:
    for number, count in enumerate(BAD_NUMBERS):
        yield f"attempts-{number}", {"retry": {"retryOn": ["5xx"], "attempts": count}}
        if count != MOST_RETRIES + 1:
            yield f"tokens-{number}", _bucket(maxTokens=count)
            yield f"fill-{number}", _bucket(tokensPerFill=count)
    for number, code in enumerate(BAD_CODES):
        yield f"code-{number}", {"retry": {"statusCodes": [code]}}


def _cors() -> Iterator[tuple[str, Json]]:
    for number, origin in enumerate(BAD_ORIGINS):
        yield f"origin-{number}", {"cors": {"allowOrigins": [origin]}}
    for field in ("allowMethods", "allowHeaders", "exposeHeaders"):
        for number, token in enumerate(BAD_TOKENS):
            yield f"{field.lower()}-{number}", {"cors": {"allowOrigins": ["*"], field: [token]}}
    for number, age in enumerate((-2, -(2**31), 2**31, 2**32, MOST)):
        yield f"age-{number}", {"cors": {"allowOrigins": ["*"], "maxAge": age}}


def _modify(side: str, verb: str, changes: list[Any]) -> Json:
    return {"headerModifiers": {side: {verb: changes}}}


def _durations(text: str) -> Iterator[tuple[str, Json]]:
    yield "request", {"timeouts": {"request": text}}
    yield "idle", {"timeouts": {"streamIdle": text}}
    yield "pertry", {"retry": {"retryOn": ["5xx"], "perTryTimeout": text}}
    yield "backoff", {"retry": {"retryOn": ["5xx"], "backoffBaseInterval": text}}
    yield "interval", _bucket(fillInterval=text)


def _bucket(**fields: Any) -> Json:
    return {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 1, "fillInterval": "1s", **fields}}}}


# ---- at the limits


def edges() -> Iterator[Json]:
    """Specs of TrafficPolicies with values at the limits of what is taken: Envoy must take every one."""
    for value in ("", " ", "\t", "%", "%%", "%REQ(x)%", "100%", "ü", "{}", "\\", *LARGEST_VALUES):
        yield _modify("request", "set", [{"name": "x-a", "value": value}])
        yield _modify("response", "add", [{"name": "x-a", "value": value}])
    for name in ("x", "X-A", "x" * 256, "!#$%&'*+.^_`|~-", "content-length", "connection", "te", "upgrade", "cookie"):
        for side in ("request", "response"):
            yield _modify(side, "set", [{"name": name, "value": "x"}])
            yield _modify(side, "add", [{"name": name, "value": "x"}, {"name": name, "value": "y"}])
            yield _modify(side, "remove", [name, name])
    for text in ("0s", "1ms", "99999h", "0ms", "1h59m59s999ms"):
        yield {"timeouts": {"request": text}}
        yield {"timeouts": {"streamIdle": text}}
        yield {"retry": {"retryOn": ["5xx"], "perTryTimeout": text}}
    for text in ("1ms", "25ms", "99999h"):
        yield {"retry": {"retryOn": ["5xx"], "backoffBaseInterval": text}}
    for text in ("50ms", "51ms", "99999h"):
        yield _bucket(fillInterval=text)
    for count in (1, 2**32 - 1):
        yield _bucket(maxTokens=count, tokensPerFill=count)
    for attempts in (0, 1, 1000):
        yield {"retry": {"retryOn": ["5xx", "reset"], "attempts": attempts}}
    for codes in ([100], [599], [503, 503], list(range(500, 564))):
        yield {"retry": {"statusCodes": codes}}
    for origin in (
        "*",
        "https://*.example.com",
        "https://a.example.com:8443",
        "null",
        "*" * 4_096,
        "(" * 4_096,
        "[",
        "\\",
        "",
    ):
        yield {"cors": {"allowOrigins": [origin]}}
    for token in ("*", "GET", "x-a", "!#$%&'*+.^_`|~"):
        yield {
            "cors": {"allowOrigins": ["*"], "allowMethods": [token], "allowHeaders": [token], "exposeHeaders": [token]}
        }
    for age in (-1, 0, 2**31 - 1):
        yield {"cors": {"allowOrigins": ["*"], "maxAge": age, "allowCredentials": True}}


EXPRESSIONS = (
    *(
        "/[a-z0-9]{1,63}",
        r"/\pL+",
        r"/x\z",
        "(?i)/ADMIN",
        "/(?P<user>[^/]+)/x",
        r"/\Q.*\E",
        "/([[:alpha:]]|[[:^digit:]])*",
    ),
    *(
        r"/\d{4}-\d{2}-\d{2}",
        "/" + "[a-z0-9-]{1,63}/" * 10,
        "(?s).*",
        "/(?U)a+",
        r"/\x{FF}",
        "/ü",
        "/" + "a" * 3_000,
        "/|",
    ),
)
PATHS = (
    "/",
    "//",
    "/a/",
    "/a//",
    "/%2F",
    "/a;b",
    "/*",
    "/[",
    "/\\",
    "/a'b",
    "/" + "a" * 4_095,
    "/a%",
    "/{x}",
    "/..",
    "/a=b&c",
)


def rules() -> Iterator[Json]:
    """Rules of HTTPRoutes with values at the limits of what is taken."""
    for expression in EXPRESSIONS:
        yield {"matches": [{"path": {"type": "RegularExpression", "value": expression}}]}
        for kind in ("headers", "queryParams"):
            matched = {"type": "RegularExpression", "name": "x-a", "value": expression}
            yield {"matches": [{"path": {"value": "/"}, kind: [matched]}]}
    for path in PATHS:
        for kind in ("Exact", "PathPrefix"):
            yield {"matches": [{"path": {"type": kind, "value": path}}]}
        for verb, field in (("ReplaceFullPath", "replaceFullPath"), ("ReplacePrefixMatch", "replacePrefixMatch")):
            change = {"path": {"type": verb, field: path}}
            matches = [{"path": {"type": "PathPrefix", "value": path}}]
            yield {"matches": matches, "filters": [{"type": "URLRewrite", "urlRewrite": change}]}
            yield {"matches": matches, "filters": [{"type": "RequestRedirect", "requestRedirect": change}]}
    for text in ("0s", "1ms", "99999h"):
        yield {"timeouts": {"request": text, "backendRequest": text}}
        yield {"timeouts": {"backendRequest": text}, "retry": {"attempts": 1}}
    for weight in (0, 1, 1_000_000):
        yield {"backendRefs": [{"name": "web", "port": 80, "weight": weight}, {"name": "web", "port": 80}]}
    for name in ("x-a", "X" * 256, "!#$%&'*+.^_`|~-"):
        yield {"matches": [{"headers": [{"name": name, "value": "x" * 4_096}]}]}
