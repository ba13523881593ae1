"""`basicAuth`: users with the hashes of their passwords, in the policy or in a Secret. No message shows a line."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.trafficfilters import BasicAuth, SecretReference
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import most
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters
from seamark_runtime.untrusted.patterns import Pattern

MOST_USERS, MOST_LINE, MOST_FILE = 256, 512, 128 * 1024
DEFAULT_KEY = ".htpasswd"
LINE = Pattern(r"([!-9;-~]{1,255}):\{SHA\}([A-Za-z0-9+/]{27}=)")


def read(field: str, given: BasicAuth, references: References) -> filters.BasicAuth:
    if (given.users is None) == (given.secret_ref is None):
        raise Unsupported(f"{field}: exactly one of users, secretRef and disable is required")
    if given.secret_ref is not None:
        return _from_secret(f"{field}.secretRef", given.secret_ref, references)
    lines = most(f"{field}.users", given.users, MOST_USERS)
    return _users(f"{field}.users", ((f"{field}.users[{number}]", line) for number, line in enumerate(lines)))


def _from_secret(field: str, ref: SecretReference, references: References) -> filters.BasicAuth:
    key = DEFAULT_KEY if ref.key is None else ref.key
    content = references.secret(field, ref).get(key)
    if content is None:
        raise Unsupported(f"{field}: Secret {ref.name} has no entry {key[:60]!a}")
    if len(content) > MOST_FILE:
        raise Unsupported(f"{field}: the entry of Secret {ref.name} has more than {MOST_FILE} bytes")
    lines = enumerate(content.decode(errors="replace").splitlines(), 1)
    given = [(number, line.strip()) for number, line in lines if line.strip() and not line.startswith("#")]
    most(field, tuple(given), MOST_USERS)
    return _users(field, ((f"{field}: line {number} of Secret {ref.name}", line) for number, line in given))


def _users(field: str, lines: Iterable[tuple[str, str]]) -> filters.BasicAuth:
    users: dict[str, str] = {}
    for where, line in lines:
        found = LINE.fullmatch(line) if len(line) <= MOST_LINE else None
        if found is None:
            raise Unsupported(f"{where}: must be user:{{SHA}} and the SHA-1 of the password in Base64 (htpasswd -s)")
        if found[1] in users:
            raise Unsupported(f"{where}: the user is named twice")
        users[found[1]] = found[2]
    if not users:
        raise Unsupported(f"{field}: there is no user")
    return filters.BasicAuth(tuple(users.items()))
