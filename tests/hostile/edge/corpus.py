"""What is put into a field, as JSON text: values that a JSON library would not write are in it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

MANY = 20_000
CANARY = "canary.edge.localhost"


def bomb(levels: int = 9) -> str:
    """YAML whose aliases stand for 9 to the power of `levels` values."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def policy(*expressions: str, action: str = '{"type":"deny"}') -> str:
    return f'{{"on_tcp_connect":[{{"expressions":{json.dumps(list(expressions))},"actions":[{action}]}}]}}'


TEXTS = {
    "empty": "",
    "nul": "a\0b",
    "control": "\x01\x1b[31m\x7f",
    "lines": "a\r\nSet-Cookie: b\r\n\r\nHTTP/1.1 200 OK",
    "traversal": "../../../api_keys",
    "template": "${" * MANY,
    "token": "eyJ" * MANY,
    "long": "x" * 100_000,
    "unicode": "\u202eevil\u202c \u0301\ufeff\U0001f600",
    "idn": "b\u00fccher.example",
    "digits": "9" * 5000,
    "spaces": " " * MANY,
    "dots": "." * MANY,
    "colons": ":" * MANY,
    "sql": "' OR 1=1; --",
    "format": "%s%n{0}{self}",
    "canary": CANARY,
    "canary url": f"https://{CANARY}",
    "metadata service": "http://169.254.169.254/latest",
    "port zero": "tcp://x.internal:0",
    "port beyond": "tcp://x.internal:99999999999",
    "internal": "https://x.internal.evil.example",
    "wildcard": "https://*.edge.localhost",
    "credentials": "tcp://u:p@x.internal:1",
    "bracket": "http://[::1",
    "ip": "tcp://[::ffff:127.0.0.1]:1",
    "ftp": "ftp://x.internal",
    "bomb": bomb(),
    "own alias": "a: &a [*a]",
    "yaml number": "a: " + "1:" * 5000 + "1",
    "yaml tag": "!!python/object/apply:os.system [id]",
    "loops": policy(".//\n".join(["[1,2,3].map(x, x)"] * 3)),
    "many expressions": policy(*["conn.client_port > 1"] * 500),
    "big list": policy("[" + ",".join(["1"] * 1000) + "].all(x, [" + ",".join(["1"] * 1000) + "].all(y, x == y))"),
    "pattern": policy('"' + "a" * 2000 + '".matches("(a+)+$")'),
    "forward": policy(action='{"type":"forward-internal","config":{"url":"tcp://p0.internal:1"}}'),
    "terminate": policy(action='{"type":"terminate-tls","config":{"server_certificate":"x","server_private_key":"y"}}'),
}
VALUES = {
    "null": "null",
    "true": "true",
    "minus one": "-1",
    "half": "0.5",
    "int64": str(2**63 - 1),
    "beyond int64": str(2**63),
    "thirty digits": "1" + "0" * 30,
    "digits": "9" * 400,
    "many digits": "9" * 5000,
    "exponent": "1e308",
    "infinite": "1e999",
    "list": '["a",null,1]',
    "object": '{"a":{"b":[null]}}',
    "long list": "[" + ",".join(["1"] * MANY) + "]",
    "many keys": "{" + ",".join(f'"k{n}":1' for n in range(5000)) + "}",
    "deep lists": "[" * 60 + "]" * 60,
    "deeper lists": "[" * 2000 + "]" * 2000,
    "deepest lists": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 2000 + "1" + "}" * 2000,
    "same key": '{"a":1,"a":2}',
    "surrogate": '"\\ud800"',
    "no json": "{nonsense",
    "bytes": '"\xff\xfe"',
    **{f"text {name}": json.dumps(text) for name, text in TEXTS.items()},
}


def values() -> Iterator[tuple[str, bytes]]:
    for name, text in VALUES.items():
        yield name, text.encode("latin-1") if name == "bytes" else text.encode()


def within(path: str, value: bytes, base: dict[str, object]) -> bytes:
    """A message with this value in one of its fields; `path` is a field, or a field of a field."""
    mark = "\u0001here\u0001"
    outer, _, inner = path.partition(".")
    if inner:
        held = base.get(outer)
        changed: object = {**(held if isinstance(held, dict) else {}), inner: mark}
    else:
        changed = mark
    return json.dumps({**base, outer: changed}).encode().replace(json.dumps(mark).encode(), value)
