"""Fields that are filters with values at the limits of what is taken: Envoy must take every one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def filter_edges() -> Iterator[Json]:
    for percentage in (0, 1, 100):
        yield {"csrf": {"percentageEnabled": percentage}}
        yield {"csrf": {"percentageShadowed": percentage}}
        yield {"faultInjection": {"abort": {"httpStatus": 200, "percentage": percentage}}}
        yield {"faultInjection": {"delay": {"fixedDelay": "1ms", "percentage": percentage}}}
        yield {"faultInjection": {"responseRateLimit": {"kbitsPerSecond": 1, "percentage": percentage}}}
    for rule in ({"exact": ""}, {"prefix": "x" * 1024}, {"suffix": "ü"}, {"contains": "%"}, {"safeRegex": r"\pL+"}):
        yield {"csrf": {"additionalOrigins": [rule] * 16}}
    for amount in (1, "1", "1Ki", 2**32 - 1, "4294967295"):
        yield {"buffer": {"maxRequestSize": amount}}
    for status in (0, 16):
        yield {"faultInjection": {"abort": {"grpcStatus": status}, "maxActiveFaults": 2**32 - 1}}
    yield {"faultInjection": {"delay": {"fixedDelay": "1h"}, "maxActiveFaults": 0, "abort": {"httpStatus": 599}}}
    yield {"faultInjection": {"responseRateLimit": {"kbitsPerSecond": 2**32 - 1}}}
    every = {"libraries": ["Gzip", "Brotli", "Zstd"]}
    yield {"compression": {"responseCompression": every, "requestDecompression": every}}
    yield {"autoHostRewrite": True}
    for pattern, substitution in (
        ("^/(a)(b)", "/\\2\\1"),
        ("a", "\\0"),
        ("^/", "/\\\\"),
        (r"\pL", ""),
        ("/", "/%20?x"),
    ):
        yield {"urlRewrite": {"pathRegex": {"pattern": pattern, "substitution": substitution}}}
    for action, other in (("allow", "deny"), ("deny", "allow")):
        yield {"acl": {"defaultAction": action}}
        ranges = [f"10.{number}.0.0/16" for number in range(128)] + [f"{number}::/16" for number in range(100, 120)]
        both = [{"cidrs": ["0.0.0.0/0", "10.0.0.0/8"], "action": action}, {"cidrs": ranges, "action": other}]
        yield {"acl": {"defaultAction": action, "rules": both}}
    for text in EXPRESSIONS:
        for action in ("Allow", "Deny"):
            yield {"rbac": {"action": action, "policy": {"matchExpressions": [text]}}}
    yield {"rbac": {"policy": {"matchExpressions": list(EXPRESSIONS)}}}
    user = "{SHA}" + "A" * 27 + "="
    yield {"basicAuth": {"users": [f"{name}:{user}" for name in ("a", "!#$%&'()*+,-./;<=>?@[]^_`{|}~", "x" * 255)]}}
    yield {"basicAuth": {"users": [f"{number}:{user}" for number in range(256)]}}


EXPRESSIONS = (
    *("true", "null == null", "request.method == 'GET'", "1u < 2u", "1.5 > request.size / 2.0", "b'a' == b'a'"),
    *("-9223372036854775808 < 9223372036854775807", "{} == {}", "[] == []", "{'a': [1, 2.0, null]}['a'][0] == 1"),
    *("request.headers['a'] in ['b', 'c']", "has(request.headers.a) ? true : false", "!!true", "-(-1) == 1"),
    *(" && ".join(["true"] * 30), " || ".join(f"request.path == '/{number}'" for number in range(100))),
    *("source.address.startsWith('10.')", "connection.mtls", "metadata.filter_metadata['a']['b'] == 'c'"),
    *("'ü' == request.path", "'a\\nb' == 'x'", "size(request.path) % 2 == 0", "request.path.matches('a{90}')"),
    *("destination.port == 80", "request.path.contains('/') && 'a' + 'b' == 'ab'", "!(!(!(!(!(!(true))))))"),
)
