"""Fields of TrafficPolicies with the request that shows their effect: `test_policy_fields` tries every one.

A case has a policy of its route, and one of the route's rule, which takes precedence: with both the answer is `over`,
with the route's alone `under`, and without any the backend's.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
EVIL = {"Origin": "http://evil.example.com"}


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    route: Json  # the spec of the route's policy
    rule: Json  # the spec of the rule's policy
    under: int | tuple[int, str]  # the status, or the status and a header of the response
    over: int | tuple[int, str]
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    shown: str = ""  # the header of the response that the answer has


def sha(password: str) -> str:
    return "{SHA}" + base64.b64encode(hashlib.sha1(password.encode()).digest()).decode()


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


SECRETS = {
    "users": {".htpasswd": f"# comment\nada:{sha('lovelace')}\n\n", "others": f"grace:{sha('hopper')}\n"},
    "keys": {"shop": "k-123", "bank": "k-456\n"},
    "other-keys": {"shop": "k-789"},
}

ACCESS = (
    Case(
        "basic",
        {"basicAuth": {"users": [f"grace:{sha('hopper')}"]}},
        {"basicAuth": {"secretRef": {"name": "users"}}},
        under=401,
        over=200,
        headers=basic("ada", "lovelace"),
    ),
    Case(
        "basic-key",
        {"basicAuth": {"secretRef": {"name": "users", "key": "others"}}},
        {"basicAuth": {"disable": {}}},
        under=401,
        over=200,
        headers=basic("grace", "wrong"),
    ),
    Case(
        "keys",
        {"apiKeyAuth": {"secretRef": {"name": "other-keys"}}},
        {"apiKeyAuth": {"secretRef": {"name": "keys"}, "clientIdHeader": "x-client"}},
        under=401,
        over=200,
        headers={"api-key": "k-456"},
    ),
    Case(
        "keys-sources",
        {"apiKeyAuth": {"secretRef": {"name": "keys"}, "keySources": [{"header": "x-key"}]}},
        {"apiKeyAuth": {"secretRef": {"name": "keys"}, "keySources": [{"header": "x-key"}, {"cookie": "key"}]}},
        under=401,
        over=200,
        headers={"Cookie": "key=k-123"},
    ),
    Case(
        "rbac",
        {"rbac": {"policy": {"matchExpressions": ["request.headers['x-role'] == 'admin'"]}}},
        {
            "rbac": {
                "policy": {
                    "matchExpressions": [
                        "request.headers['x-missing'] == 'a'",
                        "has(request.headers.nothing) && size(request.headers['x-role']) in [3, 4, -1]"
                        " && !(request.method in ['POST', 'PUT'])"
                        " && request.path.matches('^/r[a-z]{3}$') && (request.size < 5 ? true : false)"
                        " && request.headers['x-role'].startsWith('u')",
                        "size(request.headers['x-role']) in [3, 4, -1] && !(request.method in ['POST', 'PUT'])"
                        " && request.path.matches('^/rb[a-z]{2}$') && (request.size < 5 ? true : false)"
                        " && request.headers['x-role'].startsWith('u') && {'user': 1}['user'] == 1",
                    ]
                }
            }
        },
        under=403,
        over=200,
        headers={"x-role": "user"},
    ),
    Case(
        "acl",
        {"acl": {"defaultAction": "deny"}},
        {"acl": {"defaultAction": "deny", "rules": [{"name": "here", "cidrs": ["127.0.0.0/8"], "action": "allow"}]}},
        under=403,
        over=200,
    ),
    Case(
        "acl-longest",
        {"acl": {"defaultAction": "allow", "rules": [{"cidrs": ["127.0.0.0/16", "::/0"], "action": "deny"}]}},
        {"acl": {"defaultAction": "allow", "rules": [{"cidrs": ["127.0.0.1", "10.0.0.0/8"], "action": "allow"}]}},
        under=403,
        over=200,
    ),
    Case(
        "acl-merged",
        {"acl": {"defaultAction": "allow", "rules": [{"cidrs": ["127.0.0.0/16"], "action": "deny"}]}},
        {"acl": {"defaultAction": "allow", "rules": [{"cidrs": ["127.0.0.0/8"], "action": "allow"}]}},
        under=403,
        over=403,
    ),
    Case(
        "rbac-deny",
        {"rbac": {"action": "Deny", "policy": {"matchExpressions": ["request.url_path.contains('deny')"]}}},
        {"rbac": {"action": "Deny", "policy": {"matchExpressions": ["request.url_path.endsWith('other')"]}}},
        under=403,
        over=200,
    ),
)

CASES = (
    *ACCESS,
    Case(
        "csrf",
        {"csrf": {}},
        {"csrf": {"percentageEnabled": 100, "additionalOrigins": [{"suffix": "evil.example.com"}]}},
        under=403,
        over=200,
        method="POST",
        headers=EVIL,
    ),
    Case(
        "csrf-shadowed",
        {"csrf": {"percentageEnabled": 100}},
        {"csrf": {"percentageShadowed": 100}},
        under=403,
        over=200,
        method="POST",
        headers=EVIL,
    ),
    Case(
        "buffer",
        {"buffer": {"maxRequestSize": "1Ki"}},
        {"buffer": {"maxRequestSize": 2049}},
        under=413,
        over=200,
        method="POST",
        body=b"x" * 2049,
    ),
    Case(
        "buffer-off",
        {"buffer": {"maxRequestSize": "1Ki"}},
        {"buffer": {"disable": {}}},
        under=413,
        over=200,
        method="POST",
        body=b"x" * 2049,
    ),
    Case(
        "fault",
        {"faultInjection": {"abort": {"httpStatus": 418}}},
        {"faultInjection": {"abort": {"httpStatus": 503, "percentage": 100}, "delay": {"fixedDelay": "1ms"}}},
        under=418,
        over=503,
    ),
    Case(
        "fault-off",
        {"faultInjection": {"abort": {"grpcStatus": 7}}},
        {"faultInjection": {"disable": {}}},
        under=(200, "7"),
        over=(200, ""),
        headers={"Content-Type": "application/grpc"},
        shown="grpc-status",
    ),
    Case(
        "limit-not-enforced",
        {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 1, "fillInterval": "1h"}}}},
        {
            "rateLimit": {
                "local": {"tokenBucket": {"maxTokens": 1, "fillInterval": "1h"}, "percentEnforced": 0},
            }
        },
        under=429,
        over=200,
    ),
)
